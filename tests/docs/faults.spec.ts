/** docs/faults.md and the titles of the tests say the same. */
import { readFileSync, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
const ENTRIES = [
  'F01 F02 F04 F05 F07 F08 F10 F11 F13 F14 F16 F17 F19 F20',
  'F22 F23 F25 F26 F28 F29',
  'F31 F32 F34 F35 F37',
  'F38 F40 F41 F43 F44 F46 F47 F49 F50 F52 F53',
  'F55 F56 F58 F59 F61 F62 F64 F65 F67 F68 F70 F71 F73 F74 F76',
  'F77 F79 F80 F82 F83 F85 F86 F88',
  'F89 F91 F92 F94 F95 F97 F98 F100 F101 F103 F104 F106 F107',
  'C01 C02 C03 C05 C06 C07 C09 C10 C11 C13 C14',
  'C15 C17 C18 C19 C21 C22 C23 C25',
  'C42 C43 C45 C46 C47 C49 C50 C51 C53 C54',
  'C55 C57 C58 C59 C61 C62 C63 C65 C66 C67',
].flatMap((part) => part.split(' '))

interface Row {
  readonly fault: string
  readonly files: readonly string[]
  /** Why there is no test. */
  readonly reason: string | undefined
}

function rows(): Row[] {
  const table = readFileSync(join(ROOT, 'docs/faults.md'), 'utf8')
  return table.split('\n').flatMap((line) => {
    const [, fault, , tested] = line.split('|').map((cell) => cell.trim())
    if (fault === undefined || tested === undefined || !/^[FC]\d{2,3}$/.test(fault)) return []
    const files = [...tested.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? '')
    return [{ fault, files, reason: /^none: (.+)$/.exec(tested)?.[1] }]
  })
}

/** Pairs of a number and a file, as `F38 tests/a.spec.ts`. */
function told(): string[] {
  return rows().flatMap(({ fault, files }) => files.map((file) => `${fault} ${file}`))
}

function titled(): string[] {
  const files = readdirSync(join(ROOT, 'tests'), { recursive: true, withFileTypes: true })
    .filter((entry) => /\.spec\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
  const pairs = files.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/['"`]([FC]\d{2,3}(?:, [FC]\d{2,3})*): /g)]
      .flatMap((match) => (match[1] ?? '').split(', '))
      .filter((fault) => ENTRIES.includes(fault))
      .map((fault) => `${fault} ${relative(ROOT, file).replaceAll('\\', '/')}`),
  )
  return [...new Set(pairs)]
}

it('names for each fault the files whose tests bear its number, and no others', () => {
  expect(told().toSorted()).toEqual(titled().toSorted())
})

it('has a test for every fault, or says why there is none', () => {
  expect(
    rows()
      .map(({ fault }) => fault)
      .toSorted(),
  ).toEqual(ENTRIES.toSorted())
  for (const { fault, files, reason } of rows())
    expect(files.length > 0 || reason !== undefined, fault).toBe(true)
})
