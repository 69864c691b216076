/** How much bulk is under way at once, on lines that exist in numbers only. */
import { describe, expect, it } from 'vitest'
import { CancelledError } from '../../../src/base/failure.ts'
import { Flow } from '../../../src/ssh/connection/flow.ts'
import { SimulatedLine, type LineShape } from './simulated-line.ts'

const [KIB, MIB] = [1024, 1024 * 1024]
/** A server's longest answer. */
const LONGEST = 255 * KIB

interface Course {
  /** Time taken to the least possible one. */
  readonly toLeast: number
  /** How much later than on an empty line small questions were answered, in the second half: 19 of 20 at most so. */
  readonly lateMs: number
}

/** Move so many bytes, as a transfer does: a little more is asked for than the flow lets go. */
async function move(line: SimulatedLine, flow: Flow, total: number): Promise<Course> {
  const began = line.now()
  const asked = line.answers.length
  let [next, held, moved] = [0, 0, 0]
  let wake = (): void => undefined
  const one = async (bytes: number): Promise<void> => {
    const passage = await flow.enter(bytes)
    await line.fetch(bytes)
    passage.over(bytes)
    moved += bytes
    held -= bytes
    wake()
  }
  const all = async (): Promise<void> => {
    while (next < total) {
      if (held >= flow.limit + 2 * flow.piece) {
        await new Promise<void>((resolve) => (wake = resolve))
        continue
      }
      const bytes = Math.min(flow.piece, LONGEST, total - next)
      next += bytes
      held += bytes
      void one(bytes)
    }
  }
  void all()
  await line.run(() => moved >= total)
  const took = line.now() - began
  const answers = line.answers.slice(asked).filter(({ at }) => at - began > took / 2)
  const late = answers.map(({ ms }) => ms - line.shape.roundTripMs).toSorted((a, b) => a - b)
  return {
    toLeast: took / (total / line.shape.bytesPerMs + line.shape.roundTripMs),
    lateMs: late[Math.floor(late.length * 0.95)] ?? Number.NaN,
  }
}

function start(shape: LineShape): { readonly line: SimulatedLine; readonly flow: Flow } {
  const line = new SimulatedLine(shape)
  return { line, flow: new Flow(line) }
}

describe('a flow', () => {
  it.each([
    [0.3, 10, 1.1],
    [0.3, 100, 1.1],
    [0.3, 400, 1.1],
    [10, 10, 1.1],
    [10, 100, 1.15],
    [50, 5, 1.3],
    [50, 10, 1.25],
    [50, 40, 1.25],
    [100, 40, 1.4],
  ])(
    'of a line of %d ms and %d MB/s is soon as fast as the line, and small questions are not late behind it',
    async (roundTripMs, megabytes, most) => {
      const { line, flow } = start({ roundTripMs, bytesPerMs: megabytes * 1000, firstBytes: 14_000 })
      const { toLeast, lateMs } = await move(line, flow, Math.max(8 * MIB, megabytes * 4_000_000))
      expect(toLeast).toBeLessThan(most)
      expect(lateMs).toBeLessThan(Math.max(15, 0.3 * roundTripMs))
    },
  )

  it('knows the line at the next transfer, and follows it when it becomes narrow or wide', async () => {
    const { line, flow } = start({ roundTripMs: 50, bytesPerMs: 40_000 })
    await move(line, flow, 64 * MIB)
    const again = await move(line, flow, 64 * MIB)
    expect(again.toLeast).toBeLessThan(1.1)
    line.shape.bytesPerMs = 4000
    await move(line, flow, 64 * MIB)
    const narrow = await move(line, flow, 16 * MIB)
    expect(narrow.lateMs).toBeLessThan(25)
    line.shape.bytesPerMs = 40_000
    await move(line, flow, 128 * MIB)
    expect((await move(line, flow, 64 * MIB)).toLeast).toBeLessThan(1.2)
  })

  it('is not narrowed for the sake of a server that takes its time for each piece', async () => {
    const { line, flow } = start({ roundTripMs: 20, bytesPerMs: 100_000, workMs: 10 })
    await move(line, flow, 64 * MIB)
    expect(flow.limit).toBeGreaterThan(MIB)
    expect(Math.min(flow.piece, LONGEST)).toBeGreaterThan(100 * KIB)
  })

  it('is not narrowed to nothing by other work that makes every answer late', async () => {
    const { line, flow } = start({ roundTripMs: 50, bytesPerMs: 40_000, disturbedMs: 30 })
    const { toLeast } = await move(line, flow, 128 * MIB)
    expect(toLeast).toBeLessThan(2.5)
  })

  it('lets a file of one mebibyte go in one flight before anything is known', async () => {
    const { line, flow } = start({ roundTripMs: 50, bytesPerMs: 1_000_000 })
    await move(line, flow, MIB)
    expect(line.now()).toBeLessThan(55)
  })

  it('is shared: what two transfers have under way is together no more than its bound', async () => {
    const { line, flow } = start({ roundTripMs: 50, bytesPerMs: 40_000 })
    let most = 0
    const watch = async (): Promise<void> => {
      for (;;) {
        most = Math.max(most, flow.underWay / flow.limit)
        await line.pause(1)
      }
    }
    void watch()
    await Promise.all([move(line, flow, 32 * MIB), move(line, flow, 32 * MIB)])
    // A bound that shrinks takes nothing back that is under way.
    expect(most).toBeLessThanOrEqual(2)
  })

  it('is left by who waits to enter, and let nobody behind them wait for that', async () => {
    const { flow } = start({ roundTripMs: 50, bytesPerMs: 1000 })
    const first = await flow.enter(flow.limit)
    const leaving = new AbortController()
    const second = flow.enter(LONGEST, leaving.signal)
    const third = flow.enter(KIB)
    leaving.abort(new Error('left'))
    await expect(second).rejects.toBeInstanceOf(CancelledError)
    expect(flow.underWay).toBe(flow.limit)
    first.over(0)
    first.over(0)
    ;(await third).over(KIB)
    expect(flow.underWay).toBe(0)
    await expect(flow.enter(1, AbortSignal.abort())).rejects.toBeInstanceOf(CancelledError)
  })
})
