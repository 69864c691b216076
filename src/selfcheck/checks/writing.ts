/** Checks of changing files: what is written, what guards it, what an edit does and refuses. */
import { FsVersion } from '@deepseek-ai/dsh-fs'
import type { Check, Workplace } from '../check.ts'
import { holds, refusedWith, same } from '../expectations.ts'

/** How often a change is repeated until it falls into the second of the one before. */
const ATTEMPTS = 5

export const WRITING: readonly Check[] = [
  {
    name: 'a write without a guard makes and replaces a file, and makes missing folders',
    make: async (at) => {
      const target = await at.target('new/folders/file')
      const made = await at.fs.writeText(target, 'one\n', undefined, at.signal)
      same('what making says', [made.operation, made.before, made.after], ['create', null, 'one\n'])
      same('the file', await at.bench.text(at.path('new/folders/file')), 'one\n')
      const replaced = await at.fs.writeText(target, 'two\r\n', undefined, at.signal)
      const said = [replaced.operation, replaced.before, replaced.after]
      same('what replacing says', said, ['update', 'one\n', 'two\n'])
      same('the file when replaced', await at.bench.text(at.path('new/folders/file')), 'two\r\n')
      holds('a write must give another version', replaced.version !== made.version)
      same('the version after the write', (await at.fs.stat(target, at.signal))?.version, replaced.version)
    },
  },
  {
    name: 'a write guarded by the version it saw succeeds, and gives the next guard',
    make: async (at) => {
      await at.bench.put(at.path('file'), 'one')
      const target = await at.target('file')
      const version = (await at.fs.stat(target, at.signal))?.version ?? FsVersion('absent')
      const first = await at.fs.writeText(target, 'two', { kind: 'replaceIfVersion', version }, at.signal)
      const guard = { kind: 'replaceIfVersion', version: first.version } as const
      await at.fs.writeText(target, 'three', guard, at.signal)
      same('the file', await at.bench.text(at.path('file')), 'three')
      await refusedWith('FS_STALE_VERSION', 'a write guarded by the version before', at.hostError, () =>
        at.fs.writeText(target, 'four', guard, at.signal),
      )
      same('the file after a refused write', await at.bench.text(at.path('file')), 'three')
    },
  },
  {
    name: 'a write that may only make a file never replaces one',
    make: async (at) => {
      const target = await at.target('file')
      const make = (text: string) => () =>
        at.fs.writeText(target, text, { kind: 'createIfAbsent' }, at.signal)
      same('what making says', (await make('one')()).operation, 'create')
      await refusedWith('FS_NOT_OBSERVED', 'making a file that is there', at.hostError, make('two'))
      same('the file', await at.bench.text(at.path('file')), 'one')
    },
  },
  {
    name: 'a change of the same size in the same second makes an old version stale',
    make: async (at) => {
      const target = await at.target('file')
      await at.bench.put(at.path('file'), 'AAAA')
      const { version, sameSecond } = await versionBeforeAnEqualChange(at, target)
      await refusedWith('FS_STALE_VERSION', 'a write guarded by the old version', at.hostError, () =>
        at.fs.writeText(target, 'ours', { kind: 'replaceIfVersion', version }, at.signal),
      )
      same('the file', await at.bench.text(at.path('file')), 'BBBB')
      return sameSecond ? undefined : 'the line is too slow for two changes in one second'
    },
  },
  {
    name: 'an edit replaces the text it names, and keeps line ends and mode',
    make: async (at) => {
      await at.bench.put(at.path('file'), 'one\r\ntwo\r\nthree\r\n')
      await at.bench.setMode(at.path('file'), 0o640)
      const target = await at.target('file')
      const edit = { oldString: 'one\ntwo', newString: 'ONE\nTWO', replaceAll: false }
      const outcome = await at.fs.editText(target, edit, undefined, at.signal)
      same('what the edit says', [outcome.before, outcome.after], ['one\ntwo\nthree\n', 'ONE\nTWO\nthree\n'])
      same('the file', await at.bench.text(at.path('file')), 'ONE\r\nTWO\r\nthree\r\n')
      same('its mode', (await at.bench.attributes(at.path('file'))).mode.toString(8), '640')
      same('the version after the edit', (await at.fs.stat(target, at.signal))?.version, outcome.version)
    },
  },
  {
    name: 'an edit of a text that is not there is refused',
    make: async (at) => {
      await at.bench.put(at.path('file'), 'one\n')
      const edit = { oldString: 'two', newString: 'three', replaceAll: false }
      await refusedWith('FS_EDIT_NOT_FOUND', 'the edit', at.hostError, async () =>
        at.fs.editText(await at.target('file'), edit, undefined, at.signal),
      )
      same('the file', await at.bench.text(at.path('file')), 'one\n')
    },
  },
  {
    name: 'an edit of a text that is there twice is refused, unless all are meant',
    make: async (at) => {
      await at.bench.put(at.path('file'), 'same\nsame\n')
      const target = await at.target('file')
      const edit = { oldString: 'same', newString: 'other' }
      await refusedWith('FS_AMBIGUOUS_EDIT', 'the edit', at.hostError, () =>
        at.fs.editText(target, { ...edit, replaceAll: false }, undefined, at.signal),
      )
      same('the file after the refusal', await at.bench.text(at.path('file')), 'same\nsame\n')
      await at.fs.editText(target, { ...edit, replaceAll: true }, undefined, at.signal)
      same('the file with all replaced', await at.bench.text(at.path('file')), 'other\nother\n')
    },
  },
  {
    name: 'an edit of a file that has changed since it was read, or is gone, is refused',
    make: async (at) => {
      await at.bench.put(at.path('file'), 'one\n')
      const target = await at.target('file')
      const version = (await at.fs.stat(target, at.signal))?.version ?? FsVersion('absent')
      await at.bench.overwrite(at.path('file'), 'one and more\n')
      const edit = { oldString: 'one', newString: 'two', replaceAll: false }
      await refusedWith('FS_STALE_VERSION', 'the edit of a changed file', at.hostError, () =>
        at.fs.editText(target, edit, { version }, at.signal),
      )
      same('the file', await at.bench.text(at.path('file')), 'one and more\n')
      await refusedWith('FS_STALE_VERSION', 'the edit of a file that is not there', at.hostError, async () =>
        at.fs.editText(await at.target('gone'), edit, { version }, at.signal),
      )
    },
  },
]

/** The version of a file that was then changed to the same size, in the same second if at all possible. */
async function versionBeforeAnEqualChange(
  at: Workplace,
  target: Awaited<ReturnType<Workplace['target']>>,
): Promise<{ readonly version: FsVersion; readonly sameSecond: boolean }> {
  for (let attempt = 1; ; attempt += 1) {
    await at.bench.overwrite(at.path('file'), 'AAAA')
    const before = await at.bench.attributes(at.path('file'))
    const version = (await at.fs.stat(target, at.signal))?.version ?? FsVersion('absent')
    same('the file before the change', await at.fs.readText(target, at.signal), 'AAAA')
    await at.bench.overwrite(at.path('file'), 'BBBB')
    const after = await at.bench.attributes(at.path('file'))
    const sameSecond = before.mtime === after.mtime
    if (sameSecond || attempt === ATTEMPTS) return { version, sameSecond }
  }
}
