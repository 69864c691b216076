/**
 * Machines that have the same paths with different content: each sees a folder of its own under one
 * shared name, and bears its own host name. What ends on the wrong one is seen, and so is what ends here.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { DemoMachine } from '../../scripts/machine/machine.ts'
import { startOpenSsh } from '../../scripts/machine/openssh.ts'

export interface Twins {
  /** The folder that every machine and this computer have, each with its own content. */
  readonly shared: string
  readonly machines: readonly DemoMachine[]
  stop(): Promise<void>
}

export async function startTwins(aliases: readonly string[]): Promise<Twins> {
  const folder = realpathSync(mkdtempSync('/var/tmp/presence-twins-'))
  const shared = join(folder, 'shared')
  mkdirSync(shared)
  const machines = await Promise.all(
    aliases.map((alias) => {
      const own = join(folder, alias, 'data')
      mkdirSync(own, { recursive: true })
      // sshd as root changes accounts, which a sandbox would forbid it.
      const privileges = process.getuid?.() === 0 ? ['--cap-add', 'ALL'] : []
      const view = [
        '--dev-bind',
        '/',
        '/',
        '--bind',
        own,
        shared,
        '--perms',
        '1777',
        '--tmpfs',
        '/tmp',
        '--unshare-uts',
        '--hostname',
        alias,
      ]
      const within = ['bwrap', '--die-with-parent', ...view, ...privileges, '--']
      return startOpenSsh({ folder: join(folder, alias, 'machine'), alias, within })
    }),
  )
  return {
    shared,
    machines,
    stop: async () => {
      await Promise.all(machines.map((machine) => machine.stop()))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
