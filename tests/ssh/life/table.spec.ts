/** docs/faults.md and the titles of the tests say the same. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '../../..')
const ENTRIES = [
  'F01 F02 F04 F05 F07 F08 F10 F11 F13 F14 F16 F17 F19 F20',
  'F22 F23 F25 F26 F28 F29',
  'F31 F32 F34 F35 F37',
  'F38 F40 F41 F43 F44 F46 F47 F49 F50 F52 F53',
].flatMap((part) => part.split(' '))

/** Pairs of a number and a file, as `F38 tests/a.spec.ts`. */
function told(): string[] {
  const table = readFileSync(join(ROOT, 'docs/faults.md'), 'utf8')
  const rows = table.split('\n').flatMap((line) => {
    const [, fault, , files] = line.split('|').map((cell) => cell.trim())
    return fault !== undefined && files !== undefined && /^F\d\d$/.test(fault) ? [{ fault, files }] : []
  })
  return rows.flatMap(({ fault, files }) =>
    [...files.matchAll(/`([^`]+)`/g)].map((match) => `${fault} ${match[1] ?? ''}`),
  )
}

function titled(): string[] {
  const files = readdirSync(join(ROOT, 'tests'), { recursive: true, withFileTypes: true })
    .filter((entry) => /\.spec\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
  const pairs = files.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/['"`](F\d\d(?:, F\d\d)*): /g)]
      .flatMap((match) => (match[1] ?? '').split(', '))
      .filter((fault) => ENTRIES.includes(fault))
      .map((fault) => `${fault} ${relative(ROOT, file).replaceAll('\\', '/')}`),
  )
  return [...new Set(pairs)]
}

it('names for each fault the files whose tests bear its number, and no others', () => {
  expect(told().toSorted()).toEqual(titled().toSorted())
})

it('has a test for every fault of connections', () => {
  expect([...new Set(told().map((pair) => pair.split(' ')[0]))].toSorted()).toEqual(ENTRIES)
})
