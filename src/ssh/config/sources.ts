/**
 * Where OpenSSH's configuration lies on this platform, and whether there is an `ssh` to ask.
 *
 * `PRESENCE_SSH_CONFIG` names a file to use instead of the user's and the system's, as `ssh -F` does: for
 * portable set-ups and for trying things out. A relative path begins at the current directory.
 */
import { accessSync, constants, statSync } from 'node:fs'
import { posix, resolve, win32 } from 'node:path'
import { systemCode } from '../../base/failure.ts'
import { localFacts } from './facts.ts'
import type { ConfigSources } from './settings.ts'

export interface SourceOptions {
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Default: the home that the system knows for the user, as `ssh` does; not `HOME`. */
  readonly home?: string
  readonly platform?: NodeJS.Platform
}

export function defaultSources(options: SourceOptions = {}): ConfigSources {
  const { env = process.env, home = localFacts().home, platform = process.platform } = options
  const { join } = platform === 'win32' ? win32 : posix
  const onlyFile = env['PRESENCE_SSH_CONFIG'] ?? ''
  const systemFolder =
    platform === 'win32' ? join(env['PROGRAMDATA'] ?? 'C:\\ProgramData', 'ssh') : '/etc/ssh'
  return {
    onlyFile: onlyFile === '' ? undefined : resolve(onlyFile),
    userFile: join(home, '.ssh', 'config'),
    systemFile: join(systemFolder, 'ssh_config'),
    sshProgram: findSsh(env, platform),
  }
}

function findSsh(env: SourceOptions['env'] & object, platform: NodeJS.Platform): string | undefined {
  const windows = platform === 'win32'
  const { join, delimiter, isAbsolute } = windows ? win32 : posix
  const folders = (env['PATH'] ?? env['Path'] ?? '')
    .split(delimiter)
    .map((folder) => folder.replace(/^"|"$/g, ''))
  // The optional feature of Windows is not always on the path of a program started from the desktop.
  if (windows) folders.push(join(env['SystemRoot'] ?? 'C:\\Windows', 'System32', 'OpenSSH'))
  return folders
    .filter((folder) => isAbsolute(folder))
    .map((folder) => join(folder, windows ? 'ssh.exe' : 'ssh'))
    .find(isProgram)
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch (error) {
    // Whatever the reason, this one cannot be run; a system error is the only one there can be.
    if (systemCode(error) === undefined) throw error
    return false
  }
}
