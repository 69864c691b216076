import { expect, it } from 'vitest'
import { RoundTrip } from '../../../src/ssh/connection/round-trip.ts'

it('a machine is as far away as its fastest answer lately says, and a line that became longer is known later', () => {
  let now = 0
  const roundTrip = new RoundTrip(() => now)
  expect(roundTrip.ms).toBeUndefined()
  for (const ms of [80, 20, 50]) roundTrip.note(ms)
  expect(roundTrip.ms).toBe(20)
  now = 40_000
  roundTrip.note(70)
  expect(roundTrip.ms).toBe(20)
  now = 80_000
  roundTrip.note(75)
  expect(roundTrip.ms).toBe(70)
  // What was before a long rest tells nothing any more.
  now = 1_000_000
  roundTrip.note(90)
  expect(roundTrip.ms).toBe(90)
})
