/** Where the agent of a machine's configuration is to be found. */
import type { AgentChoice } from '../config/settings.ts'

/** Of the service that comes with Windows. */
const WINDOWS_PIPE = '\\\\.\\pipe\\openssh-ssh-agent'
/** Not a path: PuTTY's agent, which is reached through its window. */
const PAGEANT = 'pageant'

export interface AgentAddress {
  readonly path: string
  /** False for one that is only looked for because nothing names another: its absence is no news. */
  readonly named: boolean
}

/** Addresses in the order to try them: the first agent that answers is the user's. */
export function agentAddresses(
  choice: AgentChoice,
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform,
): AgentAddress[] {
  switch (choice.kind) {
    case 'none':
      return []
    case 'path':
      return [{ path: choice.path, named: true }]
    case 'environment': {
      const path = env['SSH_AUTH_SOCK']
      if (path !== undefined && path !== '')
        return [{ path: platform === 'win32' ? asPipe(path) : path, named: true }]
      return platform === 'win32'
        ? [WINDOWS_PIPE, PAGEANT].map((usual) => ({ path: usual, named: false }))
        : []
    }
  }
}

/** The one valid spelling of a pipe's name, which environments also write with slashes. */
function asPipe(path: string): string {
  const name = /^[\\/]{2}\.[\\/]pipe[\\/](.+)$/i.exec(path)?.[1]
  return name === undefined ? path : `\\\\.\\pipe\\${name}`
}
