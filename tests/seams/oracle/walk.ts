/**
 * A random walk: the same steps in both worlds, some by the provider, some by others behind its back. The
 * seed decides everything, so a walk that failed can be walked again.
 */
import {
  appendFileSync,
  chmodSync,
  closeSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import type { FsTarget, FsVersion, FsWriteIntent } from '@deepseek-ai/dsh-fs'
import { compared, outcomeOf, Versions } from './compare.ts'
import { Clock } from './clock.ts'
import { hashOf } from './on-disk.ts'
import type { Twins, World } from './worlds.ts'

export interface WalkReport {
  readonly steps: number
  /** How often each kind of step was taken. */
  readonly kinds: Readonly<Record<string, number>>
  /** Steps that failed alike in both worlds. */
  readonly failures: number
  /** Steps where ours is better, and meant to be so. */
  readonly kinder: number
}

/** The first difference, with the way to it. */
export class Difference extends Error {}

const NAMES = ['a', 'b', 'c', 'd e', 'é', 'Z'] as const
const CHECK_DISK_EVERY = 10
const SHOWN_STEPS = 12

/** mulberry32: small, and the same everywhere. */
function random(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

class Dice {
  readonly #next: () => number

  constructor(seed: number) {
    this.#next = random(seed)
  }

  below(count: number): number {
    return Math.floor(this.#next() * count)
  }

  of<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T
  }

  /** A path of one to three names; now and then spelled in a roundabout way. */
  path(): string {
    const depth = this.of([1, 1, 2, 2, 3])
    const path = Array.from({ length: depth }, () => this.of(NAMES)).join('/')
    switch (this.below(24)) {
      case 0:
        return `./${path}/`
      case 1:
        return `${this.of(NAMES)}/../${path}`
      case 2:
        return `${path}/..`
      case 3:
        return '.'
      default:
        return path
    }
  }

  plainPath(): string {
    return Array.from({ length: this.of([1, 1, 2, 3]) }, () => this.of(NAMES)).join('/')
  }

  text(): string {
    const end = this.of(['\n', '\n', '\r\n', ''])
    const words = ['one', 'two', 'é', '🙂', 'zz', '', '\ufeffx']
    return Array.from({ length: this.below(6) }, () => `${this.of(words)}${end}`).join('')
  }

  bytes(): Buffer {
    return this.of([
      () => Buffer.from(this.text()),
      () => Buffer.from([0x61, 0, 0x62]),
      () => Buffer.from([0xff, 0xfe]),
      () => Buffer.alloc(this.below(70_000), 'long '),
    ])()
  }
}

/** What both worlds remember of the versions that they were told, by the path that was asked for. */
type Seen = Map<string, { readonly here: Look; readonly there: Look }>

/** What a reader holds: the version, and the content that it had. */
interface Look {
  readonly version: FsVersion
  readonly content: string | undefined
  /** What SFTP version 3 can tell of a file that has not changed for a while. */
  readonly plain: string
}

interface Step {
  readonly kind: string
  readonly told: string
  /** By the provider. */
  ask?(world: World): Promise<unknown>
  /** Behind its back. */
  change?(disk: string): void
  /** Whose version is to be remembered afterwards. */
  observes?: string
  /** What it may replace. */
  replaces?: string
  /** Only if it is the version that was seen. */
  guarded?: boolean
}

export async function walk(twins: Twins, exact: boolean, seed: number, steps: number): Promise<WalkReport> {
  const dice = new Dice(seed)
  const { here, there } = twins
  const versions = exact ? ([new Versions(), new Versions()] as const) : ([undefined, undefined] as const)
  const seen: Seen = new Map()
  const told: string[] = []
  const kinds: Record<string, number> = {}
  const clock = new Clock(twins.probe)
  let [failures, kinder] = [0, 0]
  const fail = (what: string): never => {
    throw new Difference(`seed ${seed}, ${what}\n${told.slice(-SHOWN_STEPS).join('\n')}`)
  }
  for (let count = 1; count <= steps; count += 1) {
    const step = nextStep(dice, seen, exact)
    kinds[step.kind] = (kinds[step.kind] ?? 0) + 1
    if (!exact && step.guarded === true && (await isTouched(seen, twins, step.replaces ?? ''))) continue
    told.push(`${count}: ${step.kind} ${step.told}`)
    if (step.change !== undefined) {
      await clock.tick()
      const { change } = step
      twins.both((disk) => attempt(() => change(disk)))
      clock.mark()
    } else if (step.ask !== undefined) {
      const { ask } = step
      // A file that loses a name is changed by that, in the eyes of who knows it by another.
      const clocked = step.replaces !== undefined && hasOtherNames(join(here.disk, step.replaces))
      if (clocked) await clock.tick()
      const known = versions.map((tokens) => tokens?.size ?? 0)
      const wanted = await outcomeOf(here, versions[0], ask, step.replaces !== undefined)
      clock.mark()
      if (clocked) await clock.tick()
      const got = await outcomeOf(there, versions[1], ask, step.replaces !== undefined)
      clock.mark()
      if ('failed' in wanted) failures += 1
      const verdict = compared(wanted, got)
      if (verdict === 'kinder') {
        kinder += 1
        // What only one of them told is not to be counted.
        versions.forEach((tokens, index) => tokens?.shrink(known[index] ?? 0))
      }
      if (verdict === 'different') {
        fail(`step ${count} differs:\n  local  ${JSON.stringify(wanted)}\n  remote ${JSON.stringify(got)}`)
      }
    }
    if (step.observes !== undefined) await observe(seen, twins, step.observes)
    if (count % CHECK_DISK_EVERY === 0 || count === steps) compareDisks(twins, count, fail)
  }
  return { steps, kinds, failures, kinder }
}

function compareDisks(twins: Twins, count: number, fail: (what: string) => never): void {
  const [wanted, got] = twins.onDisks()
  const missing = wanted.filter((line) => !got.includes(line))
  const more = got.filter((line) => !wanted.includes(line))
  if (missing.length + more.length > 0) {
    fail(
      `the disks differ at step ${count}:\n  local  ${missing.join('\n  ')}\n  remote ${more.join('\n  ')}`,
    )
  }
}

async function look(world: World, path: string): Promise<Look | undefined> {
  try {
    return await world.as(async () => {
      const target = await targetOf(world, path)
      const found = await world.fs.stat(target)
      if (found === undefined) return undefined
      const read = found.type === 'file' ? await world.fs.readBytes(target, undefined, 1_000_000) : undefined
      const { size, mtimeMs } = statSync(join(world.disk, path))
      return {
        version: found.version,
        content: read && hashOf(read),
        plain: `${size} ${Math.floor(mtimeMs / 1000)}`,
      }
    })
  } catch (_nothingToRemember) {
    return undefined
  }
}

async function observe(seen: Seen, twins: Twins, path: string): Promise<void> {
  const [here, there] = [await look(twins.here, path), await look(twins.there, path)]
  if (here === undefined || there === undefined) seen.delete(path)
  else seen.set(path, { here, there })
}

/**
 * Another file of the same content, or the same one touched: where SFTP is all there is, that is no change. Nor is
 * another old file of the same size and second.
 */
async function isTouched(seen: Seen, { here }: Twins, path: string): Promise<boolean> {
  const known = seen.get(path)?.here
  const now = await look(here, path)
  if (known === undefined || now === undefined || known.version === now.version) return false
  return known.content === now.content || known.plain === now.plain
}

const targetOf = ({ fs, folder }: World, path: string): Promise<FsTarget> => fs.resolve(path, { cwd: folder })

function versionOf(seen: Seen, path: string, world: World): FsVersion {
  const known = seen.get(path)
  if (known === undefined) return 'never seen' as FsVersion
  return (world.name === 'local' ? known.here : known.there).version
}

/** Where versions are compared, a folder's is not: how often it changes is the provider's affair. */
function info<T extends { readonly type: string; readonly version?: string; readonly size?: number }>(
  found: T | undefined,
): unknown {
  return found?.type === 'directory' ? { type: found.type } : found
}

function nextStep(dice: Dice, seen: Seen, exact: boolean): Step {
  const path = dice.path()
  const ask = (kind: string, call: (world: World) => Promise<unknown>, more: Partial<Step> = {}): Step => ({
    kind,
    told: JSON.stringify(path),
    ask: call,
    ...more,
  })
  const roll = dice.below(100)
  if (roll < 28) return changeBehind(dice, exact)
  if (roll < 33) return ask('resolve', (world) => targetOf(world, path))
  if (roll < 38) return ask('lstat', async ({ fs, folder }) => info(await fs.lstat(path, { cwd: folder })))
  if (roll < 45) return ask('stat', async (world) => info(await world.fs.stat(await targetOf(world, path))))
  if (roll < 50) return ask('read', async (world) => world.fs.readText(await targetOf(world, path)))
  if (roll < 53) {
    const limit = dice.of([0, 1, 5, 70_000])
    return ask('read bytes', async (world) =>
      hashOf(await world.fs.readBytes(await targetOf(world, path), undefined, limit)),
    )
  }
  if (roll < 56) {
    return ask('stream', async (world) => {
      let text = ''
      for await (const chunk of await world.fs.streamText(await targetOf(world, path))) text += chunk
      return text
    })
  }
  if (roll < 62) {
    return ask('list', async (world) =>
      (await world.fs.listDir(await targetOf(world, path))).map((entry) =>
        entry.type === 'directory' ? { ...entry, version: undefined } : entry,
      ),
    )
  }
  if (roll < 65) {
    const other = dice.path()
    return ask('contains', async (world) =>
      world.fs.contains(await targetOf(world, path), await targetOf(world, other)),
    )
  }
  if (roll < 70) return { kind: 'observe', told: JSON.stringify(path), observes: path }
  const before = dice.of([undefined, 'createIfAbsent', 'seen', 'seen'] as const)
  // Mostly a path of which something is known.
  const known = [...seen.keys()]
  const where = before === 'seen' && known.length > 0 && dice.below(4) > 0 ? dice.of(known) : path
  if (roll < 88) {
    const content = dice.text()
    return {
      kind: before === undefined ? 'write' : `write ${before}`,
      told: `${JSON.stringify(where)} ${JSON.stringify(content)}`,
      replaces: where,
      guarded: before === 'seen',
      ask: async (world) => {
        const intent: FsWriteIntent | undefined =
          before === undefined
            ? undefined
            : before === 'createIfAbsent'
              ? { kind: before }
              : { kind: 'replaceIfVersion', version: versionOf(seen, where, world) }
        return world.fs.writeText(await targetOf(world, where), content, intent)
      },
      ...(dice.below(3) === 0 ? {} : { observes: where }),
    }
  }
  const [oldString, newString] = [
    dice.of(['one', 'z', '\n', 'one\ntwo', '🙂']),
    dice.of(['', 'x', 'two\r\n', 'é']),
  ]
  const replaceAll = dice.below(2) === 0
  return {
    kind: before === 'seen' ? 'edit seen' : 'edit',
    told: `${JSON.stringify(where)} ${JSON.stringify({ oldString, newString, replaceAll })}`,
    replaces: where,
    guarded: before === 'seen',
    ask: async (world) =>
      world.fs.editText(
        await targetOf(world, where),
        { oldString, newString, replaceAll },
        before === 'seen' ? { version: versionOf(seen, where, world) } : undefined,
      ),
    ...(dice.below(3) === 0 ? {} : { observes: where }),
  }
}

/** Somebody else at work. What cannot be done is not done, in both worlds alike. */
function changeBehind(dice: Dice, exact: boolean): Step {
  const path = dice.plainPath()
  const other = dice.plainPath()
  const content = dice.bytes()
  const change = (kind: string, told: string, act: (at: string, disk: string) => void): Step => ({
    kind: `others ${kind}`,
    told: `${JSON.stringify(path)} ${told}`,
    change: (disk) => act(join(disk, path), disk),
  })
  const roll = dice.below(exact ? 15 : 14)
  const mode = dice.of([0o644, 0o600, 0o755, 0o444, 0o000, 0o2755, 0o4711])
  switch (roll) {
    case 0:
    case 1:
    case 2:
      return change('write', `${content.length} bytes`, (at) => writeFileSync(at, content))
    case 3:
      return change('append', '', (at) => isFile(at) && appendFileSync(at, 'more'))
    case 4:
      return change('truncate', '', (at) => isFile(at) && truncateSync(at, 1))
    case 5:
    case 6:
    case 7:
      return change('make a folder', '', (at) => mkdirSync(at, { recursive: true }))
    case 8:
      return change('remove', '', (at) => rmSync(at, { recursive: true, force: true }))
    case 9:
      return change('rename', JSON.stringify(other), (at, disk) => renameSync(at, join(disk, other)))
    case 10:
    case 11: {
      const target = `${dice.of(['', '', '../'])}${other}`
      return change('link', JSON.stringify(target), (at) => symlinkSync(target, at))
    }
    case 12:
      return change('link hard', JSON.stringify(other), (at, disk) => linkSync(join(disk, other), at))
    case 13:
      return change('change the mode', mode.toString(8), (at) => {
        // A folder keeps what its owner needs: otherwise the walk would soon stand in the dark.
        if (existsSync(at)) chmodSync(at, statSync(at).isDirectory() ? 0o755 : mode)
      })
    default:
      return change('write as much in the same time', '', rewriteUnseen)
  }
}

function isFile(path: string): boolean {
  return existsSync(path) && lstatSync(path).isFile()
}

/** Other bytes, the same size, the same time of change as far as it can be set. */
function rewriteUnseen(path: string): void {
  if (!isFile(path)) return
  const { atime, mtime } = statSync(path)
  const bytes = readFileSync(path).map((byte) => byte ^ 1)
  const file = openSync(path, 'r+')
  try {
    writeSync(file, bytes, 0, bytes.length, 0)
  } finally {
    closeSync(file)
  }
  utimesSync(path, atime, mtime)
}

function hasOtherNames(path: string): boolean {
  return existsSync(path) && statSync(path).isFile() && statSync(path).nlink > 1
}

function attempt(change: () => void): void {
  try {
    change()
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
  }
}
