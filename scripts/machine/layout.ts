/**
 * The files of a rig machine and its `bin` folder, the same for every kind of server. Starting one is
 * not done here.
 */
import { existsSync } from 'node:fs'
import { chmod, copyFile, mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { nestedPackage } from '../project/checkout.ts'
import { findProgram } from '../project/programs.ts'
import { keyPairAt, type KeyPair } from './keys.ts'
import { MARK, type MachineOptions } from './machine.ts'

export interface Layout {
  readonly folder: string
  readonly alias: string
  readonly home: string
  readonly bin: string
  readonly hostKey: KeyPair
  readonly userKey: KeyPair
  readonly authorizedKeysFile: string
  readonly knownHostsFile: string
  readonly sshConfigFile: string
  readonly sshdConfigFile: string
  readonly logFile: string
}

/** @throws when the folder's path cannot be written into OpenSSH's configuration files. */
export async function layOut(options: MachineOptions, forOthers = false): Promise<Layout> {
  const { folder, alias = 'demo' } = options
  if (!isAbsolute(folder)) throw new Error(`a rig machine needs an absolute folder, not ${folder}`)
  if (/["\n]/.test(folder)) throw new Error(`OpenSSH cannot be given the path ${JSON.stringify(folder)}`)
  const [home, bin] = [join(folder, 'home'), join(folder, 'bin')]
  await mkdir(home, { recursive: true })
  await mkdir(bin, { recursive: true })
  // The server reads authorized_keys as the account that logs in.
  await chmod(folder, forOthers ? 0o755 : 0o700)
  const hostKey = await keyPairAt(join(folder, 'host_ed25519'), `host ${alias}`)
  const userKey = await keyPairAt(join(folder, 'id_ed25519'), `user of ${alias}`)
  const authorizedKeysFile = join(folder, 'authorized_keys')
  await writeFile(authorizedKeysFile, `${userKey.publicLine}\n`, { mode: 0o644 })
  await provideRipgrep(bin, forOthers)
  return {
    folder,
    alias,
    home,
    bin,
    hostKey,
    userKey,
    authorizedKeysFile,
    knownHostsFile: join(folder, 'known_hosts'),
    sshConfigFile: join(folder, 'ssh_config'),
    sshdConfigFile: join(folder, 'sshd_config'),
    logFile: join(folder, 'sshd.log'),
  }
}

/** The client's side, once the port is known: known_hosts and a configuration for `ssh -F`. */
export async function writeClientFiles(
  layout: Layout,
  port: number,
  user: string,
  host = '127.0.0.1',
): Promise<void> {
  const [type, key] = layout.hostKey.publicLine.split(' ')
  await writeFile(layout.knownHostsFile, `[${host}]:${port} ${type} ${key}\n`)
  const lines = [
    `Host ${layout.alias}`,
    `HostName ${host}`,
    `Port ${port}`,
    `User ${user}`,
    `IdentityFile ${quoted(layout.userKey.privateFile)}`,
    'IdentitiesOnly yes',
    'IdentityAgent none',
    `UserKnownHostsFile ${quoted(layout.knownHostsFile)}`,
    'GlobalKnownHostsFile /dev/null',
    'StrictHostKeyChecking yes',
    'UpdateHostKeys no',
    'BatchMode yes',
    'LogLevel ERROR',
  ]
  await writeFile(layout.sshConfigFile, `${lines.join('\n  ')}\n`)
}

/** What a command on the machine finds in its environment beside the account's own facts. */
export function sessionEnvironment(layout: Layout): Record<string, string> {
  const system = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
  return { PATH: `${layout.bin}:${system}`, HOME: layout.home, [MARK]: layout.folder }
}

/** A path as one word of an OpenSSH configuration line, where `%` begins a token. */
export function quoted(path: string): string {
  return `"${path.replaceAll('%', '%%')}"`
}

/** A machine without ripgrep gets the one that DSH itself ships, so that searching can be shown. */
async function provideRipgrep(bin: string, forOthers: boolean): Promise<void> {
  const link = join(bin, 'rg')
  await rm(link, { force: true })
  if (findProgram('rg') !== undefined) return
  const { rgPath } = (await import(nestedPackage('@vscode/ripgrep'))) as { rgPath: string }
  if (!existsSync(rgPath)) return
  if (forOthers) await copyFile(rgPath, link)
  else await symlink(rgPath, link)
}
