/** Everybody who is measured at one place, connected before the first time is taken. */
import { join } from 'node:path'
import type { Findings } from '../bench.ts'
import { startMaster } from '../clients.ts'
import type { Place } from '../places.ts'
import type { Client } from './client.ts'
import { OURS, OURS_FILES_ONLY } from './goals.ts'
import type { Ground } from './ground.ts'
import { Missing } from './missing.ts'
import { SshCommands } from './openssh-client.ts'
import { OurFiles } from './ours.ts'
import { startProvider } from './provider.ts'
import { rclone } from './rclone-client.ts'
import { startSftp } from './sftp-client.ts'
import { startSshfs } from './sshfs-client.ts'
import { startSsh2 } from './ssh2-client.ts'

export interface Contestants {
  /** On a machine with commands. */
  readonly ours: Client
  /** On a machine with SFTP alone. */
  readonly filesOnly: Client
  readonly ssh2: Client
  readonly ssh: Client
  readonly sftp: Client
  readonly sshfs: Client | undefined
  readonly rclone: Client | undefined
  stop(): Promise<void>
}

/** Who is missing on this computer gets a row that says so. */
export async function gather(place: Place, ground: Ground, findings: Findings): Promise<Contestants> {
  const { server } = place
  const undo: (() => Promise<void>)[] = []
  const stop = async (): Promise<void> => {
    for (const step of undo.splice(0).toReversed()) await step()
  }
  const gone = async <T extends { stop(): Promise<void> }>(starting: Promise<T>): Promise<T> => {
    const started = await starting
    undo.push(() => started.stop())
    return started
  }
  const ifThere = async (start: () => Promise<Client>): Promise<Client | undefined> => {
    try {
      return await gone(start())
    } catch (failure) {
      if (!(failure instanceof Missing)) throw failure
      const row = { place: place.label, what: 'everything', who: failure.who, note: failure.message }
      findings.row({ ...row, ms: null, roundTrips: null })
      return undefined
    }
  }
  try {
    const master = await gone(startMaster(server))
    const provider = await gone(
      startProvider({ full: server, plain: await place.another({ filesOnly: true }) }),
    )
    const ours = new OurFiles(provider, 'full', ground.folder, OURS)
    const filesOnly = new OurFiles(provider, 'plain', ground.folder, OURS_FILES_ONLY)
    await Promise.all([ours.open(), filesOnly.open()])
    return {
      ours,
      filesOnly,
      ssh2: await gone(startSsh2(server)),
      ssh: new SshCommands(server, master),
      sftp: await gone(startSftp(server, master, join(ground.folder, 'under-way'))),
      sshfs: await ifThere(() => startSshfs(server, ground.folder)),
      rclone: await ifThere(async () => rclone(server)),
      stop,
    }
  } catch (failure) {
    await stop()
    throw failure
  }
}
