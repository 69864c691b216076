/**
 * What a connection may have to ask a person. The port is owned here; the panel or a terminal prompt
 * answers. Nobody there to answer is an ordinary outcome, not a failure of the port.
 */
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

export type Answer =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'yes' }
  | { readonly kind: 'no' }
  | { readonly kind: 'nobody' }

export interface Questions {
  /** Ask one question; aborted when the connection attempt ends first. */
  ask(question: Question, signal: AbortSignal): Promise<Answer>
}

/** For contexts without a person: every question is answered by `nobody`. */
export const NOBODY: Questions = { ask: () => Promise.resolve({ kind: 'nobody' }) }
