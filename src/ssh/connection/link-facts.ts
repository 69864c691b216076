/** What is known of one connection from the moment that it is live. */
import type { MachineSettings } from '../config/settings.ts'
import type { Stage } from '../errors.ts'
import type { KeyDescription } from '../trust/fingerprint.ts'

export interface LinkFacts {
  readonly machine: string
  readonly settings: MachineSettings
  /** Milliseconds of silence after which the machine is asked whether it is there. */
  readonly keepaliveMs: number
  readonly hostKey: KeyDescription | undefined
  /** What a person should hear about this connection. */
  readonly warnings: readonly string[]
  /** The server's identification line, e.g. `SSH-2.0-OpenSSH_9.2p1`. */
  readonly ident: string
  /** How we authenticated. */
  readonly method: string
  readonly stages: readonly { readonly stage: Stage; readonly ms: number }[]
  /** Address and port that we are connected to. */
  readonly address: string
  /** What the server said before and while it let us in: lines before its identification, its banner. */
  readonly greeting: string
}
