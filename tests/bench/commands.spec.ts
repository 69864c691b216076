/** The bench of commands on loopback, once, with a small tree: that everybody does what is measured. */
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WrongAnswer } from '../../scripts/bench/answers.ts'
import type { Findings, Row } from '../../scripts/bench/bench.ts'
import { measureAt } from '../../scripts/bench/commands.ts'
import * as told from '../../scripts/bench/commands/goals.ts'
import { startMachines, type Machines } from '../../scripts/bench/commands/machines.ts'
import { succeedSilently } from '../../scripts/bench/commands/running.ts'
import { searchingEntries } from '../../scripts/bench/commands/searching.ts'
import { Tree } from '../../scripts/bench/commands/tree.ts'
import { walkingEntry } from '../../scripts/bench/commands/walking.ts'
import { LOOPBACK, loopback, type Place } from '../../scripts/bench/places.ts'
import { NEEDLE } from '../../scripts/bench/tools/project.ts'

let tree: Tree
let place: Place
let machines: Machines

beforeAll(async () => {
  tree = await Tree.make(1100)
  place = await loopback()
  machines = await startMachines(place, 20)
})
afterAll(async () => {
  await machines.stop()
  await place.stop()
  await tree.stop()
})

describe('the bench of commands', () => {
  it('tells a row for everybody, and the figures of all goals of the place', async () => {
    const rows: Row[] = []
    const figures = new Map<string, number>()
    const findings: Findings = {
      row: (row) => void rows.push(row),
      figure: (goal, value) => void figures.set(goal, value),
      notMeasured: (goals, why) => expect.unreachable(`${goals.join('; ')}: ${why}`),
      progress: () => undefined,
    }
    await measureAt(place, machines, tree, findings, 1, 1)
    expect(rows.filter(({ ms }) => ms === null || !(ms > 0))).toEqual([])
    expect(rows.map(({ what, who }) => `${what}: ${who}`)).toEqual([
      'one TCP round trip: the line',
      `${told.ITSELF}: ${told.MACHINE}`,
      ...[told.AFTER_PAUSE, told.AT_ONCE].flatMap((what) =>
        [told.OURS, told.SSH, told.EXEC].map((who) => `${what}: ${who}`),
      ),
      ...[told.OURS, told.SSH].map((who) => `${told.AFTER_PAUSE_SLOW}: ${who}`),
      ...[told.OURS, told.RG, told.OURS_BARE].map((who) => `${told.GREP}: ${who}`),
      ...[told.OURS, told.FIND, told.RG, told.OURS_BARE].map((who) => `${told.GLOB}: ${who}`),
      `${told.WALK}: ${told.OURS_FILES_ONLY}`,
    ])
    expect([...figures.keys()].toSorted()).toEqual(told.goalsAt(LOOPBACK).toSorted())
    expect([...figures.values()].filter((value) => !(value > 0))).toEqual([])
  })
})

describe('a time', () => {
  it.each([['false'], ['echo', 'more than nothing']])(
    'of a command does not count with another end than that of true: %s',
    async (...argv) => {
      await expect(succeedSilently(machines.ours, argv)).rejects.toThrow(WrongAnswer)
    },
  )

  it('of a search or a walk does not count when a file too many or too few was found', async () => {
    const entries = [...searchingEntries(machines, tree), walkingEntry(machines, tree)]
    const odd = ['odd.csv', 'file-odd.txt'].map((name) => join(tree.path, name))
    for (const path of odd) await writeFile(path, `${NEEDLE}\n`)
    for (const entry of entries) {
      await expect(entry.measure(), `${entry.what}, ${entry.who}`).rejects.toThrow(WrongAnswer)
    }
    // The walk has moved the tree.
    for (const name of ['odd.csv', 'file-odd.txt']) await rm(join(tree.path, name))
    const first = join(tree.path, 'parts', 'part-0', 'file-0.csv')
    const needle = join(tree.path, 'parts', 'part-0', 'file-7.txt')
    for (const path of [first, needle]) await rm(path)
    for (const entry of entries) {
      await expect(entry.measure(), `${entry.what}, ${entry.who}`).rejects.toThrow(WrongAnswer)
    }
  })
})

describe('the goals', () => {
  it('have names of their own, and each is of one place', () => {
    const names = told.GOALS.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    const placed = [...told.goalsAt(LOOPBACK), ...told.goalsAt(told.FAR)]
    expect(placed.toSorted()).toEqual(names.toSorted())
  })
})
