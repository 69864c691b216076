/**
 * What a connection may have to ask a person. The port is owned here; the panel or a terminal prompt
 * answers. Nobody there to answer is an ordinary outcome, not a failure of the port.
 */
export interface Prompt {
  /** As the server wrote it: whoever shows it makes control characters harmless. */
  readonly text: string
  /** Whether what is typed may be seen. */
  readonly echo: boolean
}

export type Question =
  | {
      readonly kind: 'host-key'
      readonly machine: string
      readonly keyType: string
      /** `SHA256:…` as `ssh-keygen -l` prints it. */
      readonly fingerprint: string
      /** True when other keys of this host are known, but none of this type. */
      readonly otherTypesKnown: boolean
    }
  | {
      readonly kind: 'passphrase'
      readonly machine: string
      readonly keyFile: string
      readonly retry: boolean
    }
  | { readonly kind: 'password'; readonly machine: string; readonly user: string; readonly retry: boolean }
  /** One round of what the server asks (RFC 4256); more may follow. Never without a prompt. */
  | {
      readonly kind: 'keyboard-interactive'
      readonly machine: string
      readonly user: string
      /** A heading and a text from the server; either may be empty, and both may hold anything. */
      readonly name: string
      readonly instructions: string
      readonly prompts: readonly Prompt[]
      /** True when the server has refused the answers given before. */
      readonly retry: boolean
    }

export type Answer =
  | { readonly kind: 'text'; readonly text: string }
  /** One text for each prompt, in their order; an empty one is an answer too. */
  | { readonly kind: 'texts'; readonly texts: readonly string[] }
  | { readonly kind: 'yes' }
  /** A person does not want to. */
  | { readonly kind: 'no' }
  | { readonly kind: 'nobody' }

export interface Questions {
  /**
   * Ask one question. When `signal` fires the connection attempt has ended: nobody needs the answer any
   * more, and any answer, `nobody` the best, is to come soon.
   */
  ask(question: Question, signal: AbortSignal): Promise<Answer>
}

/** For contexts without a person: every question is answered by `nobody`. */
export const NOBODY: Questions = { ask: () => Promise.resolve({ kind: 'nobody' }) }
