/**
 * A thousand calls of every kind by several workers over a line that is reset again and again, at moments
 * that a seed decides. It is printed; `PRESENCE_STORM_SEED` repeats a run.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { descendantsOf } from '../../../scripts/machine/processes.ts'
import { ConnectError, LinkLostError } from '../../../src/ssh/errors.ts'
import { startRig, type Rig } from '../../support/rig.ts'
import { expectTruthful, file, lineTo, output, settled, watchProcess, type Line } from './line.ts'

const CALLS = 1000
const RESETS = 50
const WORKERS = 8
const FILES_EACH = 2
/** Milliseconds after which a call hangs: it may wait for a reconnect, and no longer than that. */
const HANG_MS = 20_000
const SEED = Number(process.env['PRESENCE_STORM_SEED'] ?? Date.now() % 0x7fffffff)

/** Numbers from 0 to 1 that are the same for the same seed: a linear congruence, of which the high bits are good. */
function randomBy(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

/** One file, written by one worker alone. */
interface Written {
  readonly name: string
  /** Everything that was ever to be in it. */
  readonly ever: Set<string>
  /** What may be in it now: what was confirmed last, and what came later without a known outcome. */
  possible: Set<string>
  versions: number
}

/** Whole or not is seen by its end. */
function contentOf(name: string, version: number, pad: number): string {
  return `${name} version ${version}.\n${`${version} `.repeat(pad)}\nend of version ${version}.\n`
}

let rig: Rig
let watch: ReturnType<typeof watchProcess>
beforeAll(async () => {
  rig = await startRig()
  watch = watchProcess()
})
afterAll(async () => {
  watch.stop()
  await rig.stop()
})

class Storm {
  readonly line: Line
  readonly folder: string
  readonly log: string
  readonly files: readonly Written[]
  readonly random = randomBy(SEED)
  readonly failures = new Map<string, number>()
  readonly commands = new Map<string, 'ran' | 'unknown' | 'not started'>()
  calls = 0
  resets = 0

  constructor(line: Line, folder: string) {
    this.line = line
    this.folder = folder
    this.log = join(folder, 'log')
    writeFileSync(this.log, '')
    this.files = Array.from({ length: WORKERS * FILES_EACH }, (_, index) => {
      const name = `file-${index}`
      const first = contentOf(name, 0, 10)
      writeFileSync(join(folder, name), first)
      return { name, ever: new Set([first]), possible: new Set([first]), versions: 0 }
    })
  }

  async rage(): Promise<void> {
    const workers = Array.from({ length: WORKERS }, async (_, worker) => {
      const own = this.files.slice(worker * FILES_EACH, (worker + 1) * FILES_EACH)
      while (this.#rages) {
        this.calls += 1
        await this.#one(own)
      }
    })
    await Promise.all([...workers, this.#reset()])
  }

  /** However long the pauses between the resets were: all of them come. */
  get #rages(): boolean {
    return this.calls < CALLS || this.resets < RESETS
  }

  async #reset(): Promise<void> {
    let next = 0
    while (this.#rages) {
      await new Promise((resolve) => setTimeout(resolve, this.random() * 20))
      // Some of them hit the attempt to connect that the one before has caused.
      if (this.resets >= RESETS || this.calls < next || this.line.proxy.connections === 0) continue
      this.resets += 1
      next = this.calls + Math.floor(this.random() * 1.8 * (CALLS / RESETS))
      this.line.proxy.reset()
    }
  }

  async #one(own: readonly Written[]): Promise<void> {
    const mine = this.#pick(own)
    const choice = this.random()
    if (choice < 0.3) await this.#read(mine, mine.possible)
    else if (choice < 0.4) {
      const other = this.#pick(this.files)
      await this.#read(other, other.ever)
    } else if (choice < 0.6) await this.#write(mine)
    else if (choice < 0.7) await this.#edit(mine)
    else if (choice < 0.8) await this.#stat(mine)
    else if (choice < 0.9) await this.#list()
    else await this.#command()
  }

  async #read(target: Written, allowed: ReadonlySet<string>): Promise<string | undefined> {
    const found = await this.#call('read', this.line.files.readText(this.#at(target)))
    if (found === undefined) return undefined
    expect(allowed.has(found), `${target.name} is ${JSON.stringify(found.slice(0, 60))}, seed ${SEED}`).toBe(
      true,
    )
    return found
  }

  #write(target: Written): Promise<void> {
    target.versions += 1
    const pad = Math.floor(this.random() ** 3 * 60_000)
    const content = contentOf(target.name, target.versions, pad)
    return this.#change('write', target, content, () =>
      this.line.files.write(this.#at(target), content, { kind: 'none' }, 1 << 16),
    )
  }

  async #edit(target: Written): Promise<void> {
    const before = await this.#read(target, target.possible)
    if (before === undefined) return
    target.versions += 1
    const first = before.split('\n', 1)[0] ?? ''
    const oldString = `${first}\n`
    const newString = `${target.name} version ${target.versions}, edited.\n`
    const content = before.replace(oldString, newString)
    await this.#change('edit', target, content, () =>
      this.line.files.edit(this.#at(target), { oldString, newString, matches: 1 }, undefined),
    )
  }

  async #change(what: string, target: Written, content: string, act: () => Promise<unknown>): Promise<void> {
    target.ever.add(content)
    const outcome = await settled(act(), HANG_MS, `a ${what}, seed ${SEED}`)
    if (!('error' in outcome)) target.possible = new Set([content])
    else if (this.#failed(what, outcome.error) === 'unknown') target.possible.add(content)
  }

  async #stat(target: Written): Promise<void> {
    const sizes = [...target.possible].map((content) => Buffer.byteLength(content))
    const stat = await this.#call('stat', this.line.files.stat(this.#at(target)))
    if (stat !== undefined) expect(sizes, `${target.name}, seed ${SEED}`).toContain(stat.size)
  }

  async #list(): Promise<void> {
    const entries = await this.#call('list', this.line.files.list(file(this.folder)))
    if (entries === undefined) return
    const names = entries.map(({ name }) => name).filter((name) => !name.startsWith('.'))
    expect(names.toSorted(), `seed ${SEED}`).toEqual(
      ['log', ...this.files.map(({ name }) => name)].toSorted(),
    )
  }

  async #command(): Promise<void> {
    const token = `token-${this.commands.size}`
    this.commands.set(token, 'unknown')
    const argv = ['sh', '-c', `echo ${token} >> '${this.log}'; echo ${token}`]
    const outcome = await settled(
      output(this.line.machine, argv, this.folder),
      HANG_MS,
      `a command, seed ${SEED}`,
    )
    if ('error' in outcome) this.commands.set(token, this.#failed('command', outcome.error))
    else {
      expect(outcome.value, `seed ${SEED}`).toBe(`${token}\n`)
      this.commands.set(token, 'ran')
    }
  }

  async #call<T>(what: string, call: Promise<T>): Promise<T | undefined> {
    const outcome = await settled(call, HANG_MS, `a ${what}, seed ${SEED}`)
    if (!('error' in outcome)) {
      expect(outcome.value, `a ${what}, seed ${SEED}`).toBeDefined()
      return outcome.value
    }
    this.#failed(what, outcome.error)
    return undefined
  }

  /** Only the line may fail a call here; a failure that does not say otherwise has changed nothing. */
  #failed(what: string, error: Error): 'unknown' | 'not started' {
    const kind = `${what}: ${error.message.replace(/token-\d+|[\d.]+/g, 'n')}`
    this.failures.set(kind, (this.failures.get(kind) ?? 0) + 1)
    if (error instanceof LinkLostError) return error.outcomeUnknown ? 'unknown' : 'not started'
    expect(error, `a ${what}, seed ${SEED}`).toBeInstanceOf(ConnectError)
    return 'not started'
  }

  #at(target: Written): ReturnType<typeof file> {
    return file(join(this.folder, target.name))
  }

  #pick<T>(from: readonly T[]): T {
    const one = from[Math.floor(this.random() * from.length)]
    if (one === undefined) throw new Error('nothing to pick from')
    return one
  }
}

/** What is in one list and not in the other, each as often as it is there more often. */
function without(list: readonly string[], other: readonly string[]): string[] {
  const left = [...other]
  return list.filter((each) => {
    const at = left.indexOf(each)
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
}

/** Look again and again until it is so; the last look decides. */
async function eventually(look: () => void | Promise<void>): Promise<void> {
  const until = Date.now() + 10_000
  for (;;) {
    try {
      await look()
      return
    } catch (error) {
      if (Date.now() > until) throw error
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}

it('F38, F40: a thousand calls over a line that is reset fifty times settle, tell the truth and leave nothing', async () => {
  console.info(`seed ${SEED}`)
  const resources = process.getActiveResourcesInfo()
  const processes = await descendantsOf(process.pid)
  const folder = join(rig.folder, 'storm')
  mkdirSync(folder)
  const line = await lineTo(rig.server)
  const storm = new Storm(line, folder)
  await storm.rage()
  // Each of them cut a connection. On a slow computer that may only have been attempts, of which no call hears.
  expect(storm.resets, `seed ${SEED}`).toBe(RESETS)
  expectTruthful(line.connection.state, `seed ${SEED}`)

  // The next use works, sweeps what was left, and finds each file as it was last said to be.
  for (const { name, possible } of storm.files) {
    const found = await line.files.readText(file(join(folder, name)))
    expect(possible.has(found), `${name} is ${JSON.stringify(found.slice(0, 60))}, seed ${SEED}`).toBe(true)
  }
  await eventually(() => {
    expect(
      readdirSync(folder).filter((name) => name.startsWith('.')),
      `seed ${SEED}`,
    ).toEqual([])
  })
  const log = readFileSync(storm.log, 'utf8').split('\n').filter(Boolean)
  for (const [token, outcome] of storm.commands) {
    const times = log.filter((each) => each === token).length
    if (outcome === 'unknown') expect(times, `${token}, seed ${SEED}`).toBeLessThanOrEqual(1)
    else expect(times, `${token} ${outcome}, seed ${SEED}`).toBe(outcome === 'ran' ? 1 : 0)
  }
  const session = await line.machine.session()
  const sftp = await session.sftp()
  await eventually(() => {
    expect(sftp.pending, `seed ${SEED}`).toBe(0)
    // The helper shell stays, and the two that wait for commands.
    expect(session.link.commandsRunning, `seed ${SEED}`).toBeLessThanOrEqual(3)
  })

  await line.close()
  expect(watch.escaped, `seed ${SEED}`).toEqual([])
  await eventually(async () => {
    const more = (await descendantsOf(process.pid)).filter((pid) => !processes.includes(pid))
    expect(more, `seed ${SEED}`).toEqual([])
    expect(without(process.getActiveResourcesInfo(), resources), `seed ${SEED}`).toEqual([])
  })
  if (process.env['PRESENCE_STORM_SEED'] !== undefined) console.info(storm.failures)
}, 180_000)
