/** One direction of a delayed line, without a network. */
import { describe, expect, it } from 'vitest'
import { DelayLine } from '../../scripts/bed/delay-line.ts'

interface Arrival {
  readonly packet: number | undefined
  readonly at: number
}

function listen(options: ConstructorParameters<typeof DelayLine>[0], expected: number) {
  const arrivals: Arrival[] = []
  let finish: () => void
  const all = new Promise<void>((resolve) => (finish = resolve))
  const line = new DelayLine(options, (packet) => {
    arrivals.push({ packet: packet[0], at: performance.now() })
    if (arrivals.length === expected) finish()
  })
  return { line, arrivals, all }
}

describe('a delayed line', () => {
  it('delivers everything in order and nothing before its time', async () => {
    const { line, arrivals, all } = listen({ delayMs: 20 }, 200)
    const sent: number[] = []
    for (let n = 0; n < 200; n += 1) {
      sent.push(performance.now())
      line.push(new Uint8Array([n]))
      if (n % 50 === 0) await new Promise((resume) => setTimeout(resume, 5))
    }
    await all
    expect(arrivals.map(({ packet }) => packet)).toEqual(Array.from({ length: 200 }, (_, n) => n))
    expect(arrivals.every(({ at }, n) => at - (sent[n] ?? Number.NaN) >= 20)).toBe(true)
  })

  it('lets no more through than it is wide', async () => {
    const { line, arrivals, all } = listen({ delayMs: 0, bytesPerSecond: 100_000 }, 5)
    const began = performance.now()
    for (let n = 0; n < 5; n += 1) line.push(new Uint8Array(1000))
    await all
    expect((arrivals[4]?.at ?? 0) - began).toBeGreaterThanOrEqual(50)
  })

  it('loses everything when it loses all', async () => {
    const { line, arrivals } = listen({ delayMs: 0, loss: 1 }, 1)
    line.push(new Uint8Array(1))
    await new Promise((resume) => setTimeout(resume, 20))
    expect(arrivals).toEqual([])
  })
})
