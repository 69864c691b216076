/** Where Presence keeps its own things on the local computer: `$DSH_HOME/presence`. */
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

export interface PresenceHome {
  /** The host's home, `$DSH_HOME`. */
  readonly dshHome: string
  readonly folder: string
  readonly mounts: string
  readonly workspacesFile: string
  readonly machinesFile: string
  /** Of background jobs on machines. */
  readonly jobs: string
}

/** Follows the host's own rule: `DSH_HOME` when set, else `~/.dsh`; a leading `~` is the user's home. */
export function presenceHome(env: NodeJS.ProcessEnv): PresenceHome {
  const configured = env['DSH_HOME']
  const dshHome =
    configured === undefined || configured === ''
      ? join(homedir(), '.dsh')
      : resolve(configured === '~' ? homedir() : configured.replace(/^~(?=[/\\])/, homedir()))
  const folder = join(dshHome, 'presence')
  return {
    dshHome,
    folder,
    mounts: join(folder, 'mounts'),
    workspacesFile: join(folder, 'workspaces.json'),
    machinesFile: join(folder, 'machines.yml'),
    jobs: join(folder, 'jobs'),
  }
}
