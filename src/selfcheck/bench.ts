/**
 * The machine below the services under examination: a fresh folder on it, ways to arrange and to look at
 * what is there without them, and the removal of all of it. Works over SFTP alone, except for links and
 * processes, which need an account that runs commands.
 */
import { randomBytes } from 'node:crypto'
import { messageOf } from '../base/failure.ts'
import { pause, race } from '../base/race.ts'
import {
  childOf,
  containsPath,
  nameOf,
  parentOf,
  parseRemotePath,
  type RemotePath,
} from '../base/remote-path.ts'
import { quote } from '../base/shell-word.ts'
import type { Presence } from '../core/presence.ts'
import { entriesOf, fill, pathsBelow, removeTree, type Sftp } from './remote-tree.ts'

type Session = Awaited<ReturnType<ReturnType<Presence['machine']>['session']>>

/** Milliseconds for removing everything; a machine that takes longer is told to a person. */
const REMOVAL_MS = 30_000
/** Milliseconds until killed processes must have gone. */
const GONE_WITHIN_MS = 5000

export interface BenchOptions {
  readonly presence: Presence
  readonly machine: string
  /** Where the fresh folder is made; undefined: the account's home. */
  readonly base: string | undefined
}

export class Bench {
  readonly machine: string
  /** The folder that was given or chosen. */
  readonly base: RemotePath
  /** The fresh folder in it, which bears a name that nothing else has. */
  readonly folder: RemotePath
  readonly session: Session
  /** Everywhere under the sandbox's temporary areas may be written in every workspace. */
  readonly temporary: readonly RemotePath[]
  readonly #presence: Presence
  readonly #home: RemotePath
  readonly #alsoRemove: RemotePath[] = []
  readonly #groups: number[] = []
  readonly #namesBefore: ReadonlySet<string>

  /** Connect, and make the folder. @throws what connecting and making it throw. */
  static async open(options: BenchOptions, signal: AbortSignal): Promise<Bench> {
    const { presence, machine } = options
    const session = await presence.machine(machine).session(signal)
    const sftp = await session.sftp(signal)
    const home = parseRemotePath(await sftp.realpath('.', signal))
    const canonical = (path: string): Promise<RemotePath> =>
      presence.files(machine).canonical(parseRemotePath(path), { signal })
    const base = await canonical(options.base ?? home)
    const temporary = await Promise.all(['/tmp', session.shell?.tmp ?? '/tmp'].map(canonical))
    const folder = childOf(base, nameOfRun())
    try {
      const namesBefore = new Set((await entriesOf(sftp, base, signal)).map(({ name }) => name))
      await sftp.makeFolder(folder, 0o700, signal)
      return new Bench(options, { session, home, base, folder, namesBefore, temporary })
    } catch (error) {
      throw new Error(`no folder can be made in ${base}: ${messageOf(error)}`, { cause: error })
    }
  }

  private constructor(
    options: BenchOptions,
    found: {
      session: Session
      home: RemotePath
      base: RemotePath
      folder: RemotePath
      namesBefore: ReadonlySet<string>
      temporary: readonly RemotePath[]
    },
  ) {
    this.#presence = options.presence
    this.machine = options.machine
    this.session = found.session
    this.base = found.base
    this.folder = found.folder
    this.temporary = found.temporary
    this.#home = found.home
    this.#namesBefore = found.namesBefore
  }

  async makeFolder(path: RemotePath): Promise<void> {
    await (await this.#sftp()).makeFolder(path)
  }

  /** Make a file, which must not be there yet. */
  async put(path: RemotePath, content: string | Buffer): Promise<void> {
    const sftp = await this.#sftp()
    const handle = await sftp.createExclusively(path, 0o644)
    await fill(sftp, handle, Buffer.from(content))
  }

  /** Change a file in place, as another program would: the same inode, no temporary file. */
  async overwrite(path: RemotePath, content: string | Buffer): Promise<void> {
    const sftp = await this.#sftp()
    const handle = await sftp.openForOverwriting(path)
    await fill(sftp, handle, Buffer.from(content))
  }

  async bytes(path: RemotePath): Promise<Buffer> {
    const sftp = await this.#sftp()
    const handle = await sftp.openForReading(path)
    try {
      const chunks: Buffer[] = []
      for (let at = 0; ;) {
        const chunk = await sftp.read(handle, at, 32 * 1024)
        if (chunk.length === 0) return Buffer.concat(chunks)
        chunks.push(chunk)
        at += chunk.length
      }
    } finally {
      await sftp.close(handle)
    }
  }

  async text(path: RemotePath): Promise<string> {
    return (await this.bytes(path)).toString('utf8')
  }

  async names(folder: RemotePath): Promise<string[]> {
    return (await entriesOf(await this.#sftp(), folder)).map(({ name }) => name).toSorted()
  }

  async exists(path: RemotePath): Promise<boolean> {
    return (await this.names(parentOf(path))).includes(nameOf(path))
  }

  /** Permission bits and whole seconds of the last change, as SFTP tells them. */
  async attributes(path: RemotePath): Promise<{ readonly mode: number; readonly mtime: number }> {
    const { mode, mtime } = await (await this.#sftp()).stat(path)
    return { mode: mode & 0o7777, mtime }
  }

  async setMode(path: RemotePath, mode: number): Promise<void> {
    const sftp = await this.#sftp()
    const handle = await sftp.openForReading(path)
    try {
      await sftp.setMode(handle, mode)
    } finally {
      await sftp.close(handle)
    }
  }

  /** Every path below the fresh folder, relative to it. */
  async everything(): Promise<string[]> {
    const paths = await pathsBelow(await this.#sftp(), this.folder)
    return paths.map(({ path }) => path.slice(this.folder.length + 1)).toSorted()
  }

  /** Make a symbolic link. @throws ChannelError when the account runs no commands. */
  async link(path: RemotePath, to: string): Promise<void> {
    const { status } = await this.#run(`ln -s -- ${quote(to)} ${quote(path)}`)
    if (status !== 0) throw new Error(`ln -s ended with exit code ${status}`)
  }

  /** Whether a process of this group is there. @throws ChannelError when the account runs no commands. */
  async groupLives(group: number): Promise<boolean> {
    return (await this.#run(signalGroup('0', group))).status === 0
  }

  /** A process group that must not outlive the checks. */
  endLater(group: number): void {
    this.#groups.push(group)
  }

  /**
   * A path that no workspace below the fresh folder may write to, on a machine whose temporary areas
   * every workspace may. It is removed with the rest, should it appear.
   */
  outside(name: string): RemotePath {
    const candidates = [this.folder, this.#home, parseRemotePath('/')]
    const folder = candidates.find((path) => !this.temporary.some((area) => containsPath(area, path)))
    if (folder === this.folder) return childOf(folder, name)
    const path = childOf(folder ?? parseRemotePath('/'), `${nameOf(this.folder)}-${name}`)
    this.#alsoRemove.push(path)
    return path
  }

  /**
   * Remove the fresh folder and everything else that came of it, and end what still runs.
   * @returns a sentence for each thing that could not be removed.
   */
  async clear(): Promise<string[]> {
    const leftovers: string[] = []
    const attempt = async (what: string, removal: () => Promise<void>): Promise<void> => {
      const late = { afterMs: REMOVAL_MS, error: () => new Error('the machine does not answer') }
      await race(removal, [], late).catch((error: unknown) => {
        leftovers.push(`${what} may still be on ${this.machine} (${messageOf(error)}): remove it by hand`)
      })
    }
    for (const group of this.#groups) {
      await attempt(`process group ${group}`, async () => {
        await this.#run(signalGroup('KILL', group))
        await this.#groupGone(group)
      })
    }
    for (const path of [this.folder, ...this.#alsoRemove]) {
      await attempt(path, async () => {
        const signal = AbortSignal.timeout(REMOVAL_MS)
        const sftp = await this.#sftp(signal)
        if (await this.exists(path)) await removeTree(sftp, path, signal)
      })
    }
    return leftovers
  }

  /** What of these checks is on the machine after it was cleared: a sentence each. */
  async remains(): Promise<string[]> {
    const remains: string[] = []
    for (const path of [this.folder, ...this.#alsoRemove]) {
      if (await this.exists(path)) remains.push(`${path} is still there`)
    }
    for (const name of await this.names(this.base)) {
      // Others may work in that folder at the same time: only what bears our name is ours, and not another run's.
      const ours = /presence/i.test(name) && !NAME_OF_A_RUN.test(name)
      if (ours && !this.#namesBefore.has(name)) remains.push(`${childOf(this.base, name)} has appeared`)
    }
    for (const group of this.#groups) {
      if (await this.groupLives(group)) remains.push(`process group ${group} still runs`)
    }
    return remains
  }

  /** Asked for anew each time: a link that breaks during a check is made again for the next. */
  async #sftp(signal?: AbortSignal): Promise<Sftp> {
    return (await this.#presence.machine(this.machine).session(signal)).sftp(signal)
  }

  /** Killed is not gone yet: the parent has to collect it. @throws Error when it stays. */
  async #groupGone(group: number): Promise<void> {
    const until = performance.now() + GONE_WITHIN_MS
    while (await this.groupLives(group)) {
      if (performance.now() > until) throw new Error('it does not end')
      await pause(50)
    }
  }

  async #run(script: string): Promise<{ readonly status: number }> {
    const session = await this.#presence.machine(this.machine).session()
    session.requireShell()
    return (await session.helper()).run(script)
  }
}

const NAME_OF_A_RUN = /^presence-selfcheck-[0-9a-f]{12}/

function nameOfRun(): string {
  return `presence-selfcheck-${randomBytes(6).toString('hex')}`
}

/** Shells differ in whether a group needs, or takes, the mark that options are over. */
function signalGroup(signal: '0' | 'KILL', group: number): string {
  const kill = `kill -s ${signal}`
  return `${kill} -- -${group} 2>/dev/null || ${kill} -${group} 2>/dev/null`
}
