/**
 * How a command is confined on a machine with the machine's own means, as a plan: which argv to run for
 * which policy. Whether those means work there was found by using them (see the probe).
 */
import type { RemotePath } from '../base/remote-path.ts'
import type { Shell } from './capabilities.ts'

export interface ConfinePolicy {
  readonly mode: 'read-only' | 'workspace-write'
  /** The workspace folder on the machine; undefined when the session's workspace is elsewhere. */
  readonly root: RemotePath | undefined
}

export type Confinement = 'bwrap' | 'unconfined-by-switch' | 'none'

/** `unconfined` is the machine's own switch that a person set. */
export function confinementOf(shell: Shell | undefined, unconfined: boolean): Confinement {
  if (shell?.bwrap === true) return 'bwrap'
  return unconfined ? 'unconfined-by-switch' : 'none'
}

/**
 * Bubblewrap's argv for a policy: everything readable, nothing writable but what the policy grants, and
 * a private temporary folder; processes outside cannot be seen or signalled.
 */
export function bwrapArgv(argv: readonly string[], policy: ConfinePolicy): string[] {
  const bind = policy.root === undefined ? [] : ['--bind', policy.root, policy.root]
  const writable = policy.mode === 'workspace-write' ? ['--tmpfs', '/tmp', ...bind] : []
  return [
    'bwrap',
    ...['--ro-bind', '/', '/', '--dev', '/dev', '--unshare-pid', '--proc', '/proc', '--die-with-parent'],
    ...writable,
    '--',
    ...argv,
  ]
}

/** What a person or the model can do when a machine cannot confine a command. */
export function waysOut(machine: string): string {
  return (
    `${machine} has no usable confinement (bubblewrap is not installed there or may not be used by this account), ` +
    'so the command was not run. Three ways out: approve this one call with wider permissions; switch the session ' +
    `to danger-full-access; or set the machine's own switch "run unconfined" (unconfined: true for ${machine} in machines.yml)`
  )
}
