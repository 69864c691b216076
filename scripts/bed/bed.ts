/**
 * A delay bed: an address that is as far away as asked, in a network namespace of its own on this
 * computer. It owns the namespace, the devices and everything started there; `wire.ts` is the line itself.
 */
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { ROOT } from '../project/checkout.ts'
import { run, startChild, type Child, type ChildOptions } from '../project/children.ts'
import { findProgram } from '../project/programs.ts'
import type { WireOrder } from './wire.ts'

export interface BedOptions {
  /** Round trip in milliseconds, half of it each way. */
  readonly rttMs: number
  /** Largest packet; 1500 bytes, as on Ethernet, when absent. */
  readonly mtu?: number
  /** Bytes a second each way; as fast as it goes when absent. */
  readonly bytesPerSecond?: number
  /** Share of packets lost each way, 0 to 1. */
  readonly loss?: number
}

export interface Bed {
  readonly rttMs: number
  /** Our own address on the line. */
  readonly near: string
  /** The address at its other end. */
  readonly far: string
  /** Argv that a program's own is appended to, to run it at the far end. */
  readonly within: readonly string[]
  /** Start a program at the far end; `stop` ends it. */
  start(argv: readonly string[], options?: ChildOptions): Promise<Child>
  /** End everything at the far end and take the line away. Idempotent. */
  stop(): Promise<void>
}

/** This computer cannot have one; the message says what is missing. */
export class BedUnavailable extends Error {}

const PROGRAMS = ['ip', 'bridge', 'unshare', 'nsenter']
const STARTING_MS = 20_000
let made = 0

/** @throws BedUnavailable. */
export async function startBed(options: BedOptions): Promise<Bed> {
  const missing = whatIsMissing()
  if (missing !== undefined) throw new BedUnavailable(missing)
  made += 1
  const name = `bed${process.pid}x${made}`
  const [near, far] = freePair()
  const order: WireOrder = {
    near: { device: `${name}n`, address: '02:00:00:00:00:01' },
    far: { device: `${name}f`, address: '02:00:00:00:00:02' },
    mtu: options.mtu ?? 1500,
    line: {
      delayMs: options.rttMs / 2,
      ...(options.bytesPerSecond === undefined ? {} : { bytesPerSecond: options.bytesPerSecond }),
      ...(options.loss === undefined ? {} : { loss: options.loss }),
    },
  }
  const script = join(ROOT, 'scripts', 'bed', 'wire.ts')
  const wire = await startChild([
    ...['unshare', '--net', '--'],
    ...(await punctually()),
    ...[process.execPath, script, JSON.stringify(order)],
  ])
  let within: readonly string[]
  try {
    within = ['nsenter', `--net=/proc/${await lineIsUp(wire)}/ns/net`, '--']
    await address([], order.near.device, near, { of: far, at: order.far.address })
    await address(within, order.far.device, far, { of: near, at: order.near.address })
  } catch (failure) {
    await wire.stop()
    throw failure
  }
  const started = new Set<Child>()
  let stopping: Promise<void> | undefined
  const stop = async (): Promise<void> => {
    for (const child of started) await child.stop()
    // The kernel would take it away too, but a little later.
    const { code, stderr } = await run(['ip', 'link', 'delete', order.near.device])
    if (code !== 0 && !/cannot find device/i.test(stderr)) throw new Error(`ip link delete: ${stderr.trim()}`)
    await wire.stop()
  }
  return {
    rttMs: options.rttMs,
    near,
    far,
    within,
    start: async (argv, options) => {
      const child = await startChild([...within, ...argv], options)
      started.add(child)
      return child
    },
    stop: () => (stopping ??= stop()),
  }
}

function whatIsMissing(): string | undefined {
  if (process.platform !== 'linux') return 'a delay bed needs Linux'
  if (process.getuid?.() !== 0) return 'a delay bed needs root, to make network namespaces and devices'
  const absent = PROGRAMS.filter((name) => findProgram(name) === undefined)
  return absent.length === 0 ? undefined : `a delay bed needs ${absent.join(', ')} (iproute2, util-linux)`
}

/** The line's process before all others, where that is allowed: else a busy computer makes it longer. */
async function punctually(): Promise<readonly string[]> {
  const first = ['chrt', '--fifo', '10']
  if (findProgram('chrt') === undefined) return []
  return (await run([...first, 'true'])).code === 0 ? first : []
}

/**
 * @returns the id of a process in the far namespace.
 * @throws BedUnavailable with what the line's process said, when it ends instead.
 */
async function lineIsUp(wire: Child): Promise<number> {
  let said = ''
  wire.process.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString('utf8')))
  const { stdout } = wire.process
  if (stdout === null) throw new Error('the line has no output to tell on')
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), STARTING_MS)
  try {
    const first = once(createInterface(stdout), 'line', { signal: late.signal }) as Promise<[string]>
    const line = await Promise.race([first, wire.ended.then(() => undefined)])
    if (line !== undefined) return (JSON.parse(line[0]) as { far: number }).far
  } catch (cause) {
    if (!late.signal.aborted) throw cause
    throw new BedUnavailable(`the line did not come up within ${STARTING_MS / 1000} s: ${said.trim()}`, {
      cause,
    })
  } finally {
    clearTimeout(timer)
    late.abort()
  }
  const words = /^Error: .*|^unshare: .*/m.exec(said)?.[0] ?? said.trim()
  throw new BedUnavailable(`the line cannot be made on this computer (${words})`)
}

/** Give a device its address, and tell it where the other end is: asking on the line would take a trip. */
async function address(
  within: readonly string[],
  device: string,
  own: string,
  other: { readonly of: string; readonly at: string },
): Promise<void> {
  const input = [
    `address add ${own}/30 dev ${device}`,
    `link set ${device} up`,
    `neighbour add ${other.of} lladdr ${other.at} dev ${device} nud permanent`,
  ]
  const { code, stderr } = await run([...within, 'ip', '-batch', '-'], { input: `${input.join('\n')}\n` })
  if (code !== 0) throw new BedUnavailable(`the line got no address: ${stderr.trim()}`)
}

/** Two neighbouring addresses of the network that is set aside for measurements (RFC 2544: 198.18/15). */
function freePair(): readonly [string, string] {
  const taken = new Set(
    Object.values(networkInterfaces()).flatMap((entries) => (entries ?? []).map((entry) => entry.address)),
  )
  for (;;) {
    const net = `198.19.${Math.floor(Math.random() * 256)}`
    const base = 4 * Math.floor(Math.random() * 64)
    const pair = [`${net}.${base + 1}`, `${net}.${base + 2}`] as const
    if (!pair.some((one) => taken.has(one))) return pair
  }
}
