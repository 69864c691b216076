/**
 * How a command is confined on a machine with the machine's own means, as a plan: which argv to run for
 * which policy. Whether those means work there was found by using them (see the probe).
 */
import type { RemotePath } from '../base/remote-path.ts'
import type { Confiner, Shell } from './capabilities.ts'
import { CLOSE, CONFINE } from './shell/namespaces.ts'

export { NOT_CONFINED } from './shell/namespaces.ts'

export interface ConfinePolicy {
  readonly mode: 'read-only' | 'workspace-write'
  /** The workspace folder on the machine; undefined when the session's workspace is elsewhere. */
  readonly root: RemotePath | undefined
}

export type Confinement = Confiner['means'] | 'unconfined-by-switch' | 'none'

/**
 * What root keeps under bubblewrap, which leaves it all its rights unless told otherwise, and with them a way
 * out: work on files of any owner, and accounts. Nothing of mounts, devices, handles or the system.
 */
const ROOT_KEEPS = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'SETGID', 'SETUID']

/** `unconfined` is the machine's own switch that a person set. */
export function confinementOf(shell: Shell | undefined, unconfined: boolean): Confinement {
  return shell?.confiner?.means ?? (unconfined ? 'unconfined-by-switch' : 'none')
}

/**
 * The argv that runs `argv` under a policy: everything readable, nothing writable but what the policy grants, a
 * private temporary folder, devices that lead to no other part of the machine, and no process outside in sight.
 * @param uid - of the account on the machine.
 */
export function wrappedArgv(
  argv: readonly string[],
  policy: ConfinePolicy,
  confiner: Confiner,
  uid: number,
): string[] {
  const root = policy.mode === 'workspace-write' ? policy.root : undefined
  switch (confiner.means) {
    case 'bwrap': {
      const bind = root === undefined ? [] : ['--bind', root, root]
      const kept = ROOT_KEEPS.flatMap((right) => ['--cap-add', `CAP_${right}`])
      // The kernel's settings go by the user's number, not by rights.
      const asRoot = uid === 0 ? ['--ro-bind-try', '/proc/sys', '/proc/sys', ...kept] : []
      return [
        ...['/bin/sh', '-c', `${CLOSE}; exec "$@"`, 'presence', confiner.program],
        ...['--ro-bind', '/', '/', '--dev', '/dev', '--unshare-pid', '--proc', '/proc', '--die-with-parent'],
        ...['--cap-drop', 'ALL', ...asRoot],
        ...(policy.mode === 'workspace-write' ? ['--tmpfs', '/tmp', ...bind] : []),
        '--',
        ...argv,
      ]
    }
    case 'namespaces': {
      const { program, shownAs } = confiner
      return [
        program,
        ...['-U', '-r', '-m', '-p', '-f'],
        // An `unshare` that can show the account as itself has this too: nothing in there outlives it.
        ...(shownAs === 'own' ? ['--kill-child'] : []),
        ...['/bin/sh', '-c', CONFINE, 'presence', policy.mode, root ?? '', shownAs, program],
        ...argv,
      ]
    }
  }
}

/** What a person or the model can do when a machine cannot confine a command. */
export function waysOut(machine: string): string {
  return (
    `${machine} has no usable confinement (this account can use neither bubblewrap nor user namespaces there), ` +
    'so the command was not run. Three ways out: approve this one call with wider permissions; switch the session ' +
    `to danger-full-access; or set the machine's own switch "run unconfined" (unconfined: true for ${machine} in machines.yml)`
  )
}
