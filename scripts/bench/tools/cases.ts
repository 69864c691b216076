/**
 * What is measured: one call of each tool, with what has to lie there before and what makes its answer a
 * right one. Nothing here knows where the project is, or that there is a machine.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { ToolCall } from '../../model/script.ts'
import { WrongAnswer } from '../answers.ts'
import { lines, NEEDLE, NEEDLES, TABLES, TABLES_PATTERN } from './project.ts'

export interface ToolCase {
  readonly name: string
  /** Lay down what the calls work on. `serial` is another one each time: nothing may come from memory. */
  prepare(project: string, serial: number): Promise<void>
  /** One after another in one turn. The last is the one that is measured. */
  calls(serial: number): readonly ToolCall[]
  /** @throws WrongAnswer when the answers, or what lies in the project now, are not right. */
  check(answers: readonly string[], project: string, serial: number): Promise<void>
}

/** Lines of a file that `read` gives at once: its output ends at 50 KiB, whatever the file's size. */
const READ_LINES = 800

const SMALL = 2 * 1024

export const READ_SMALL = reading('read 2 KiB', SMALL)

export const CASES: readonly ToolCase[] = [
  READ_SMALL,
  reading('read 1 MiB', 1024 * 1024),
  {
    name: 'write new',
    prepare: (project, serial) => makeFolderOf(project, written(serial)),
    calls: (serial) => [call('write', { file_path: written(serial), content: text(lines(SMALL, serial)) })],
    check: async ([answer], project, serial) => {
      expectPart('write new', answer, '<content>\nCreated file\n</content>')
      await expectFile('write new', project, written(serial), text(lines(SMALL, serial)))
    },
  },
  {
    name: 'overwrite',
    prepare: (project, serial) => put(project, overwritten(serial), lines(SMALL, serial)),
    calls: (serial) => [
      call('read', { file_path: overwritten(serial) }),
      call('write', { file_path: overwritten(serial), content: text(lines(SMALL, -serial)) }),
    ],
    check: async ([, answer], project, serial) => {
      expectPart('overwrite', answer, '<content>\nUpdated file\n</content>')
      await expectFile('overwrite', project, overwritten(serial), text(lines(SMALL, -serial)))
    },
  },
  {
    name: 'edit',
    prepare: (project, serial) => put(project, edited(serial), lines(SMALL, serial)),
    calls: (serial) => [
      call('read', { file_path: edited(serial) }),
      call('edit', { file_path: edited(serial), old_string: 'line 3 of', new_string: 'line three of' }),
    ],
    check: async ([, answer], project, serial) => {
      expectPart('edit', answer, 'has been updated successfully.')
      const wanted = text(lines(SMALL, serial)).replace('line 3 of', 'line three of')
      await expectFile('edit', project, edited(serial), wanted)
    },
  },
  {
    name: 'glob, 20,000 files',
    prepare: nothing,
    calls: () => [call('glob', { pattern: TABLES_PATTERN })],
    // In the order of their times, which many of them share.
    check: async ([answer = '']) =>
      expectSame('glob', answer.split('\n').toSorted().join('\n'), TABLES.toSorted().join('\n')),
  },
  {
    name: 'grep, 20,000 files',
    prepare: nothing,
    calls: () => [call('grep', { pattern: NEEDLE })],
    // The files come as the engine's threads find them.
    check: async ([answer = '']) => {
      const [heading, ...found] = answer.split('\n\n')
      expectSame('grep', heading, `Found ${NEEDLES.length} matches`)
      const wanted = NEEDLES.map((file) => `${file}\nLine 5: ${NEEDLE}`)
      expectSame('grep', found.toSorted().join('\n'), wanted.toSorted().join('\n'))
    },
  },
  {
    name: 'bash true',
    prepare: nothing,
    // The first tells that both run where they should.
    calls: () => ['pwd', 'true'].map((command) => call('bash', { command, description: `Run ${command}` })),
    check: async ([where, answer], project) => {
      expectSame('bash pwd', where?.trimEnd(), project)
      expectSame('bash true', answer, '(no output)')
    },
  },
]

const written = (serial: number): string => `written/new-${serial}.txt`
const overwritten = (serial: number): string => `written/over-${serial}.txt`
const edited = (serial: number): string => `written/edit-${serial}.txt`

function reading(name: string, bytes: number): ToolCase {
  const fileOf = (serial: number): string => `read/${bytes}-${serial}.txt`
  return {
    name,
    prepare: (project, serial) => put(project, fileOf(serial), lines(bytes, serial)),
    calls: (serial) => [call('read', { file_path: fileOf(serial), limit: READ_LINES })],
    check: async ([answer], _project, serial) => {
      const all = lines(bytes, serial)
      const shown = all.slice(0, READ_LINES).map((line, at) => `${at + 1}: ${line}`)
      // How many lines there are, it can only tell when it has read the whole file.
      const end =
        shown.length === all.length
          ? `(End of file - total ${all.length} lines)`
          : `(Showing lines 1-${shown.length} of ${all.length}. Use offset=${shown.length + 1} to continue.)`
      expectPart(name, answer, `<content>\n${shown.join('\n')}\n\n${end}\n</content>`)
    },
  }
}

function call(name: string, args: ToolCall['args']): ToolCall {
  return { name, args }
}

async function nothing(): Promise<void> {}

async function put(project: string, file: string, content: readonly string[]): Promise<void> {
  await makeFolderOf(project, file)
  await writeFile(join(project, file), text(content))
}

async function makeFolderOf(project: string, file: string): Promise<void> {
  await mkdir(dirname(join(project, file)), { recursive: true })
}

function text(content: readonly string[]): string {
  return `${content.join('\n')}\n`
}

function expectPart(name: string, found: string | undefined, wanted: string): void {
  if (found?.includes(wanted) !== true) throw new WrongAnswer(`${name}: the answer was ${shortened(found)}`)
}

function expectSame(name: string, found: string | undefined, wanted: string): void {
  if (found !== wanted)
    throw new WrongAnswer(`${name}: the answer was ${shortened(found)}, not ${shortened(wanted)}`)
}

async function expectFile(name: string, project: string, file: string, wanted: string): Promise<void> {
  const found = await readFile(join(project, file), 'utf8')
  if (found !== wanted) throw new WrongAnswer(`${name}: ${file} holds ${shortened(found)}`)
}

function shortened(found = 'nothing'): string {
  return JSON.stringify(found.length <= 600 ? found : `${found.slice(0, 300)} … ${found.slice(-300)}`)
}
