/**
 * A TCP proxy on loopback that does to its connections what networks do. Start it before a server, connect
 * to its port (the host key is known under the server's own), and then:
 *
 * - `freeze()` and `thaw()`: nothing arrives any more, nothing is lost; a cable that is out.
 * - `reset()`: every connection is cut with a reset; `halfClose()`: the server's side ends politely.
 * - `delayMs`: every piece arrives so much later, in order. Settable at any time.
 * - `preamble`: text that new connections hear before anything of the server's.
 * - `cutNext({ way, after, by })`: the next connection, and only that one, is cut, frozen or ended when so
 *   many bytes have passed in one direction; `cutNow(…)`: those that are open, after so many bytes more.
 * - `passed`: bytes so far, to know where there is something to cut.
 */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** `up` goes to the server, `down` comes from it. */
export type Way = 'up' | 'down'

export interface Cut {
  readonly way: Way
  /** Bytes that still pass. */
  readonly after: number
  /** `end`: both sides are ended politely; `half-close`: only the receiver of this direction hears the end. */
  readonly by: 'reset' | 'freeze' | 'end' | 'half-close'
}

export interface Proxy {
  readonly port: number
  /** Milliseconds by which everything is late. */
  delayMs: number
  /** What new connections hear first. */
  preamble: string
  /** Hold everything back in both directions from now on; new connections are accepted and hear nothing. */
  freeze(): void
  /** Pass on again, beginning with what was held back. */
  thaw(): void
  /** Cut every connection with a reset. */
  reset(): void
  /** End the server's direction of every connection; what clients send still arrives. */
  halfClose(): void
  /** What happens to the next connection that is made. */
  cutNext(cut: Cut): void
  /** What happens to the connections that are open: `after` counts from now. Undefined: nothing. */
  cutNow(cut: Cut | undefined): void
  /** Bytes passed on so far, over all connections. */
  readonly passed: Readonly<Record<Way, number>>
  /** Connections that were made so far. */
  readonly made: number
  /** Connections that are open now. */
  readonly connections: number
  close(): Promise<void>
}

/** One direction of one connection. */
interface Lane {
  readonly way: Way
  readonly from: Socket
  readonly to: Socket
  /** Bytes that came behind the place of a freeze. */
  held: Buffer[]
  passed: number
  /** When the piece before is due, in milliseconds of `performance.now`. */
  due: number
  open: boolean
}

class Pair {
  readonly lanes: readonly [Lane, Lane]
  cut: Cut | undefined
  frozen = false

  constructor(near: Socket, far: Socket, cut: Cut | undefined) {
    this.cut = cut
    const lane = (way: Way, from: Socket, to: Socket): Lane => ({
      way,
      from,
      to,
      held: [],
      passed: 0,
      due: 0,
      open: true,
    })
    this.lanes = [lane('up', near, far), lane('down', far, near)]
  }

  freeze(): void {
    this.frozen = true
    for (const { from } of this.lanes) from.pause()
  }

  thaw(): void {
    this.frozen = false
    for (const lane of this.lanes) {
      for (const chunk of lane.held.splice(0)) lane.to.write(chunk)
      lane.from.resume()
    }
  }

  reset(): void {
    for (const { from } of this.lanes) from.resetAndDestroy()
  }

  destroy(): void {
    for (const { from } of this.lanes) from.destroy()
  }

  /** The receiver of a direction hears its end, and nothing that would come after it. */
  halfClose(way: Way): void {
    for (const lane of this.lanes) {
      if (lane.way !== way) continue
      lane.open = false
      lane.to.end()
    }
  }
}

export async function startProxy(target: { readonly host: string; readonly port: number }): Promise<Proxy> {
  const pairs = new Set<Pair>()
  const passed = { up: 0, down: 0 }
  const state = { delayMs: 0, preamble: '', frozen: false, made: 0 }
  let next: Cut | undefined

  const inTime = (lane: Lane, act: () => void): void => {
    const now = performance.now()
    lane.due = Math.max(lane.due, now + state.delayMs)
    if (lane.due <= now) act()
    else setTimeout(act, lane.due - now)
  }

  const deliver = (lane: Lane, chunk: Buffer): void => {
    if (!lane.open || chunk.length === 0) return
    lane.passed += chunk.length
    passed[lane.way] += chunk.length
    inTime(lane, () => lane.to.write(chunk))
  }

  const strike = (pair: Pair, lane: Lane, rest: Buffer, { by }: Cut): void => {
    pair.cut = undefined
    switch (by) {
      case 'freeze':
        lane.held.push(rest)
        pair.freeze()
        return
      case 'reset':
        pair.reset()
        return
      case 'end':
        pair.halfClose('up')
        pair.halfClose('down')
        return
      case 'half-close':
        pair.halfClose(lane.way)
    }
  }

  const pass = (pair: Pair, lane: Lane): void => {
    const { from, to } = lane
    from.on('data', (chunk: Buffer) => {
      const { cut } = pair
      const room = cut?.way === lane.way ? cut.after - lane.passed : Infinity
      if (cut === undefined || chunk.length < room) {
        deliver(lane, chunk)
        return
      }
      deliver(lane, chunk.subarray(0, room))
      strike(pair, lane, chunk.subarray(room), cut)
    })
    from.on('end', () => inTime(lane, () => to.end()))
    from.on('error', () => void to.destroy())
    from.on('close', () => {
      pairs.delete(pair)
      to.destroy()
    })
  }

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (near) => {
    // Only these: whatever else is called a `handle` there would be taken for the socket's.
    const { host, port } = target
    const far = connect({ host, port, noDelay: true, allowHalfOpen: true })
    const pair = new Pair(near, far, next)
    next = undefined
    state.made += 1
    pairs.add(pair)
    if (state.preamble !== '') near.write(state.preamble)
    for (const lane of pair.lanes) pass(pair, lane)
    if (state.frozen) pair.freeze()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    passed,
    get delayMs() {
      return state.delayMs
    },
    set delayMs(value) {
      state.delayMs = value
    },
    get preamble() {
      return state.preamble
    },
    set preamble(value) {
      state.preamble = value
    },
    get made() {
      return state.made
    },
    get connections() {
      return pairs.size
    },
    freeze: () => {
      state.frozen = true
      for (const pair of pairs) pair.freeze()
    },
    thaw: () => {
      state.frozen = false
      for (const pair of pairs) pair.thaw()
    },
    reset: () => {
      for (const pair of pairs) pair.reset()
    },
    halfClose: () => {
      for (const pair of pairs) pair.halfClose('down')
    },
    cutNext: (cut) => {
      next = cut
    },
    cutNow: (cut) => {
      for (const pair of pairs) {
        const passedBefore = pair.lanes.find((lane) => lane.way === cut?.way)?.passed ?? 0
        pair.cut = cut === undefined ? undefined : { ...cut, after: passedBefore + cut.after }
      }
    },
    close: () =>
      new Promise((resolve) => {
        for (const pair of pairs) pair.destroy()
        server.close(() => resolve())
      }),
  }
}
