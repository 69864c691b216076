/**
 * The folder on a machine that a start works on, whichever machine it is. How the demo machine comes
 * to be is `demo-machine.ts`, one of the user's own is `own-machine.ts`.
 */
import type { Witness } from '../machine/independent.ts'

export interface Target {
  readonly alias: string
  /** Absolute path on the machine: the workspace. */
  readonly folder: string
  /** What `machines.yml` says about the machine; undefined: the SSH configuration says it all. */
  readonly entry: MachineEntry | undefined
  /** Looks at the machine without Presence. */
  readonly witness: Witness
  /** Sentences for the person about what this machine is. */
  readonly about: readonly string[]
}

/** One machine in Presence's `machines.yml`. */
export interface MachineEntry {
  readonly host?: string
  readonly port?: number
  readonly user?: string
  readonly identityFile?: string
  readonly knownHostsFile?: string
  readonly unconfined?: boolean
}
