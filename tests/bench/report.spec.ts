/** The judgement of a bench, with benches that measure nothing. */
import { describe, expect, it } from 'vitest'
import type { Bench } from '../../scripts/bench/bench.ts'
import { parseRequest } from '../../scripts/bench/options.ts'
import { allMet, reportOf, textOf } from '../../scripts/bench/report.ts'
import { inTurn, median, percentile } from '../../scripts/bench/rounds.ts'
import { run } from '../../scripts/project/children.ts'
import { ROOT } from '../../scripts/project/checkout.ts'

const BENCH: Bench = {
  name: 'pretended',
  about: 'measures nothing',
  goals: [
    { name: 'small enough', unit: 'ratio', bound: 'at most', goal: 0.5 },
    { name: 'fast enough', unit: 'ratio', bound: 'at least', goal: 2 },
  ],
  rounds: 1,
  run: () => Promise.resolve(),
}

function report(run: Bench['run']) {
  return reportOf({ ...BENCH, run }, 1, () => undefined)
}

describe('a report', () => {
  it('calls goals met by figures within their bounds', async () => {
    const made = await report(async (findings) => {
      findings.figure('small enough', 0.5)
      findings.figure('fast enough', 2.5)
      findings.row({ place: 'here', what: 'work', who: 'ours', ms: 1.23456, roundTrips: null })
    })
    expect(made.goals.map(({ name, value, goal, met }) => ({ name, value, goal, met }))).toEqual([
      { name: 'small enough', value: 0.5, goal: 0.5, met: true },
      { name: 'fast enough', value: 2.5, goal: 2, met: true },
    ])
    expect(made.rows).toEqual([{ place: 'here', what: 'work', who: 'ours', ms: 1.23, roundTrips: null }])
    expect(allMet(made)).toBe(true)
    expect(JSON.stringify(made)).not.toContain('\n')
  })

  it('calls a goal not met whose figure is out of bounds', async () => {
    const made = await report(async (findings) => {
      findings.figure('small enough', 0.51)
      findings.figure('fast enough', 1.99)
    })
    expect(made.goals.map(({ met }) => met)).toEqual([false, false])
    expect(allMet(made)).toBe(false)
    expect(textOf(made)).toContain('NOT MET')
  })

  it.each([
    ['nothing was said of it', async () => undefined, 'no figure'],
    [
      'it could not be measured',
      async (f) => f.notMeasured(['fast enough'], 'no such device'),
      'no such device',
    ],
    ['the figure is no number', async (f) => f.figure('fast enough', Number.NaN), 'no figure'],
    ['the bench broke', () => Promise.reject(new Error('the server fell over')), 'the server fell over'],
  ] as [string, Bench['run'], string][])('calls a goal not met when %s', async (_case, work, why) => {
    const made = await report(async (findings, options) => {
      findings.figure('small enough', 0.1)
      await work(findings, options)
    })
    expect(made.goals[0]).toMatchObject({ met: true })
    expect(made.goals[1]).toMatchObject({ value: null, met: false, why })
    expect(allMet(made)).toBe(false)
    expect(textOf(made)).toContain(`NOT MET (${why})`)
  })

  it('takes no figure for a goal that the bench does not have', async () => {
    const made = await report(async (findings) => findings.figure('misspelt', 0))
    expect(made.error).toContain('misspelt')
    expect(allMet(made)).toBe(false)
  })
})

describe('rounds', () => {
  it('measure everything in turn and leave the first round out', async () => {
    const order: string[] = []
    const subject = (name: 'a' | 'b', times: number[]) => ({
      name,
      measure: () => Promise.resolve((order.push(name), times.shift() ?? Number.NaN)),
    })
    expect(await inTurn([subject('a', [900, 3, 1, 2]), subject('b', [900, 9, 7, 8])], 3, 0)).toEqual({
      a: 2,
      b: 8,
    })
    expect(order.join('')).toBe('abababab')
  })

  it('measure some more seldom, or only so often without warming up', async () => {
    const order: string[] = []
    const subject = (name: string, rounds?: 'every second' | number) => ({
      name,
      ...(rounds === undefined ? {} : { rounds }),
      measure: () => Promise.resolve((order.push(name), order.length)),
    })
    await inTurn([subject('a'), subject('b', 'every second'), subject('c', 2)], 3, 0)
    expect(order.join('')).toBe('ababcacab')
  })

  it('are fewer when the time is over, but one counts', async () => {
    const taken: number[] = []
    const measure = (): Promise<number> => Promise.resolve(taken.push(taken.length))
    expect(await inTurn([{ name: 'a', measure }], 9, 0, 0)).toEqual({ a: 2 })
    expect(taken).toHaveLength(2)
  })

  it('have a value that most of them do not exceed', () => {
    const hundred = Array.from({ length: 100 }, (_, at) => 100 - at)
    expect(percentile(hundred, 0.95)).toBe(95)
    expect(percentile([7], 0.95)).toBe(7)
    expect(percentile([], 0.95)).toBeNaN()
  })

  it('have a median, of nothing too', () => {
    expect(median([4, 1, 3, 2])).toBe(2.5)
    expect(median([])).toBeNaN()
  })
})

describe('the words after the command', () => {
  it('name a bench and how to run it', () => {
    expect(parseRequest(['connect', '--rounds', '3', '--json'])).toMatchObject({
      bench: { name: 'connect' },
      rounds: 3,
      json: true,
    })
    expect(parseRequest(['--help'])).toBeUndefined()
  })

  it.each([[[]], [['faster']], [['connect', 'connect']], [['connect', '--rounds', '0']], [['--fast']]])(
    'are refused when they are %j',
    (words) => {
      expect(() => parseRequest(words)).toThrow()
    },
  )

  it('end with the usage and exit code 2 when no bench is named', async () => {
    const { code, stdout, stderr } = await run([process.execPath, 'scripts/bench.ts', '--json'], {
      cwd: ROOT,
    })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('npm run bench -- <name>')
  })
})
