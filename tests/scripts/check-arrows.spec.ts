/** The arrow checker must be seen to reject: each case is a small tree that breaks one rule. */
import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { checkArrows } from '../../scripts/arrows/check.ts'
import { importsOf } from '../../scripts/arrows/imports.ts'
import { ROOMS } from '../../scripts/arrows/rooms.ts'

const trees: string[] = []

afterEach(async () => {
  for (const tree of trees.splice(0)) await rm(tree, { recursive: true })
})

async function violationsOf(files: Record<string, string>): Promise<string[]> {
  const root = await mkdtemp(join(tmpdir(), 'arrows-'))
  trees.push(root)
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), text)
  }
  return checkArrows(root)
}

describe('check-arrows', () => {
  it('accepts a tree whose imports all point downwards', async () => {
    const violations = await violationsOf({
      'index.ts': "import { core } from './src/core/presence.ts'\n",
      'src/core/presence.ts': "import { dial } from '../ssh/connection/dial.ts'\nexport const core = dial\n",
      'src/ssh/connection/dial.ts':
        "import { Client } from 'ssh2'\nimport { race } from '../../base/race.ts'\n",
      'src/base/race.ts': "import { setTimeout } from 'node:timers'\n",
    })
    expect(violations).toEqual([])
  })

  it('rejects an import that points upwards, and tells file, line and reason', async () => {
    const violations = await violationsOf({
      'src/base/a.ts': "\nimport { b } from '../ssh/b.ts'\n",
      'src/ssh/b.ts': 'export const b = 1\n',
    })
    expect(violations).toEqual([
      'src/base/a.ts:2: base must not import "../ssh/b.ts" (base: everything stands on it, so it stands on nothing of ours)',
    ])
  })

  it('rejects a type import that points upwards like any other', async () => {
    const violations = await violationsOf({
      'src/places/a.ts': "import type { B } from '../core/b.ts'\n",
      'src/core/b.ts': 'export type B = 1\n',
    })
    expect(violations).toHaveLength(1)
  })

  it('lets the tools have types of remote, and nothing that runs', async () => {
    const remote = { 'src/remote/files/read.ts': 'export const read = 1\nexport type Read = 1\n' }
    const types = "import type { Read } from '../remote/files/read.ts'\n"
    const values = "import { read } from '../remote/files/read.ts'\n"
    expect(await violationsOf({ ...remote, 'src/tools/read.ts': types })).toEqual([])
    expect(await violationsOf({ ...remote, 'src/tools/read.ts': values })).toHaveLength(1)
  })

  it('lets the core have types of the host, and nothing of it that runs', async () => {
    const types = "import type { Agent } from '@deepseek-ai/dsh-agent'\n"
    const values = "import { Agent } from '@deepseek-ai/dsh-agent'\n"
    expect(await violationsOf({ 'src/core/a.ts': types })).toEqual([])
    expect(await violationsOf({ 'src/core/a.ts': values })).toHaveLength(1)
  })

  it('opens only the named parts of a room that is half open', async () => {
    const ssh = { 'src/ssh/auth/plan.ts': '', 'src/ssh/channel/sftp.ts': '', 'src/ssh/errors.ts': '' }
    const toParts = "import '../ssh/channel/sftp.ts'\nimport '../ssh/errors.ts'\n"
    expect(await violationsOf({ ...ssh, 'src/remote/a.ts': toParts })).toEqual([])
    expect(await violationsOf({ ...ssh, 'src/remote/a.ts': "import '../ssh/auth/plan.ts'\n" })).toHaveLength(
      1,
    )
  })

  it('rejects files that import each other in a cycle, and names the way round', async () => {
    const violations = await violationsOf({
      'src/places/a.ts': "import { b } from './b.ts'\n",
      'src/places/b.ts': "export * from './c.ts'\n",
      'src/places/c.ts': "import type { A } from './a.ts'\n",
    })
    expect(violations).toEqual([
      'src/places/a.ts: the files import each other in a cycle: src/places/a.ts → src/places/b.ts → src/places/c.ts → src/places/a.ts',
    ])
  })

  it('rejects ssh2 outside the room that knows how to live with it', async () => {
    const violations = await violationsOf({ 'src/remote/a.ts': "import { Client } from 'ssh2'\n" })
    expect(violations.join('\n')).toContain('"ssh2" belongs in src/ssh')
  })

  it('rejects a Node module in the browser half, also when it is imported late', async () => {
    expect(await violationsOf({ 'src/client/a.ts': "import { join } from 'node:path'\n" })).toHaveLength(1)
    expect(await violationsOf({ 'src/client/a.ts': "void import('node:path')\n" })).toHaveLength(1)
    expect(await violationsOf({ 'src/wire/a.ts': "export { join } from 'node:path'\n" })).toHaveLength(1)
  })

  it('rejects a room that is in no table', async () => {
    expect(await violationsOf({ 'src/helpers/a.ts': '' })).toEqual([
      'src/helpers/a.ts: the room "helpers" is not in scripts/arrows/rooms.ts',
    ])
  })

  it('has a reason for every room', () => {
    for (const room of Object.values(ROOMS)) expect(room.because).toMatch(/\w+ \w+/)
  })
})

describe('importsOf', () => {
  it('finds every form of import and tells types from values', () => {
    const source = [
      "import a from './a.ts'",
      "import type { B } from './b.ts'",
      "import {\n  c,\n  type C,\n} from './c.ts'",
      "import './d.ts'",
      "export * from './e.ts'",
      "export type { F } from './f.ts'",
      "const g = await import('./g.ts')",
      'import type, { h } from "./h.ts"',
    ].join('\n')
    expect(importsOf(source).map(({ specifier, typeOnly }) => [specifier, typeOnly])).toEqual([
      ['./a.ts', false],
      ['./b.ts', true],
      ['./c.ts', false],
      ['./e.ts', false],
      ['./f.ts', true],
      ['./h.ts', false],
      ['./d.ts', false],
      ['./g.ts', false],
    ])
  })

  it('is not misled by comments, strings and declarations', () => {
    const source = [
      "// import x from './no.ts'",
      "/* export * from './no.ts' */",
      "const url = 'http://example.org' // import('./no.ts')",
      "export const text = 'from'",
      "export function from() { return './no.ts' }",
      'const script = `export FOO; export "$1"; import \'./no.ts\'`',
      'const quoted = "import x from \'./no.ts\'"',
      "import real from './yes.ts'",
    ].join('\n')
    expect(importsOf(source).map((one) => one.specifier)).toEqual(['./yes.ts'])
  })
})
