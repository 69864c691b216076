/** Everybody who is measured at one place, connected before the first time is taken. */
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { RemoteFiles } from '../../../src/remote/files/remote-files.ts'
import type { Machine } from '../../../src/remote/machine.ts'
import { findProgram } from '../../project/programs.ts'
import { startMaster, type Master } from '../clients.ts'
import { startProvider } from '../files/provider.ts'
import type { Place } from '../places.ts'

/** How long the start-up files of the slow account take. */
const START_UP_MS = 300

export interface Machines {
  /** An account whose shell starts at once. */
  readonly ours: Machine
  /** `ssh` over a ControlMaster, to the same server. */
  readonly ssh: Master
  /** The same two for an account with start-up files that take their time; or why there is none. */
  readonly slow: { readonly ours: Machine; readonly ssh: Master } | { readonly missing: string }
  /** One without ripgrep; or why there is none. */
  readonly bare: { readonly ours: Machine } | { readonly missing: string }
  /** One with SFTP alone. */
  readonly filesOnly: { readonly machine: Machine; readonly files: RemoteFiles }
  stop(): Promise<void>
}

export async function startMachines(place: Place, startUpMs = START_UP_MS): Promise<Machines> {
  const undo = new AsyncDisposableStack()
  const keep = async <T extends { stop(): Promise<void> }>(starting: Promise<T>): Promise<T> => {
    const started = await starting
    undo.defer(() => started.stop())
    return started
  }
  try {
    const canHide = findProgram('bwrap') !== undefined
    const slow = await place.another()
    const readAt = join(slow.home, 'read')
    await writeFile(join(slow.home, '.bashrc'), `echo read >> '${readAt}'\nsleep ${startUpMs / 1000}\n`)
    const { presence } = await keep(
      startProvider({
        full: place.server,
        slow,
        plain: await place.another({ filesOnly: true }),
        ...(canHide ? { bare: await place.another({ noRipgrep: true }) } : {}),
      }),
    )
    const slowMaster = await keep(startMaster(slow))
    await slowMaster.output('true')
    const isSlow = existsSync(readAt)
    const names = ['full', 'plain', ...(isSlow ? ['slow'] : []), ...(canHide ? ['bare'] : [])]
    await Promise.all(names.map((name) => presence.machine(name).session()))
    return {
      ours: presence.machine('full'),
      ssh: await keep(startMaster(place.server)),
      slow: isSlow
        ? { ours: presence.machine('slow'), ssh: slowMaster }
        : { missing: "this account's shell reads no .bashrc" },
      bare: canHide ? { ours: presence.machine('bare') } : { missing: 'there is no bwrap to hide rg with' },
      filesOnly: { machine: presence.machine('plain'), files: presence.files('plain') },
      stop: () => undo.disposeAsync(),
    }
  } catch (failure) {
    await undo.disposeAsync()
    throw failure
  }
}
