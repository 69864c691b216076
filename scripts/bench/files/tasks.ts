/**
 * The pieces of work that are measured, each with what is known before it. A time counts only when the
 * answer was right: what was read, what stands on the disk, what was listed.
 */
import { deepStrictEqual, strictEqual } from 'node:assert/strict'
import { able, type Client, type Entry, type Operation } from './client.ts'
import { textOf, type Ground } from './ground.ts'

export interface Task {
  /** As rows and goals call it. */
  readonly what: string
  /** What a client must be able to do for it. */
  readonly needs: Operation
  /** For what is told as a rate. */
  readonly mib?: number
  /** @returns milliseconds. @throws when the answer is wrong. */
  measure(client: Client, ground: Ground): Promise<number>
}

const KIB = 1024

export const STAT: Task = {
  what: 'stat of a file never seen',
  needs: 'stat',
  measure: (client, ground) =>
    onFile(ground, textOf(KIB), async (file, content) => {
      const { ms, answer } = await clocked(() => able(client, 'stat').stat(file))
      strictEqual(answer, content.length)
      return ms
    }),
}

export const LSTAT: Task = {
  what: 'lstat of a file never seen',
  needs: 'lstat',
  measure: (client, ground) =>
    onFile(ground, textOf(KIB), async (file, content) => {
      const { ms, answer } = await clocked(() => able(client, 'lstat').lstat(file))
      strictEqual(answer, content.length)
      return ms
    }),
}

export const REALPATH: Task = {
  what: 'realpath of a file never seen',
  needs: 'realpath',
  measure: (client, ground) =>
    onFile(ground, textOf(KIB), async (file) => {
      const { ms, answer } = await clocked(() => able(client, 'realpath').realpath(file))
      strictEqual(answer, file)
      return ms
    }),
}

export const READ = reading(4 * KIB, '4 KiB')
export const READ_LARGE = reading(KIB * KIB, '1 MiB')

function reading(bytes: number, size: string): Task {
  return {
    what: `read a ${size} file never seen, with its version`,
    needs: 'read',
    measure: (client, ground) =>
      onFile(ground, textOf(bytes), async (file, content) => {
        const { ms, answer } = await clocked(() => able(client, 'read').read(file))
        strictEqual(answer.toString('utf8'), content)
        return ms
      }),
  }
}

export const WRITE = writing(4 * KIB, '4 KiB')
export const WRITE_LARGE = writing(255 * KIB, '255 KiB')

function writing(bytes: number, size: string): Task {
  return {
    what: `write a ${size} file that was just read: guarded, in one step, fsynced`,
    needs: 'write',
    measure: (client, ground) =>
      onFile(ground, textOf(bytes), async (file) => {
        await client.know?.(file)
        const content = textOf(bytes)
        const { ms } = await clocked(() => able(client, 'write').write(file, content))
        strictEqual(await ground.read(file), content)
        return ms
      }),
  }
}

export const EDIT = editing(4 * KIB, '4 KiB')
export const EDIT_LARGE = editing(255 * KIB, '255 KiB')

function editing(bytes: number, size: string): Task {
  return {
    what: `edit a ${size} file that was just read: guarded, in one step, fsynced`,
    needs: 'edit',
    measure: (client, ground) =>
      onFile(ground, textOf(bytes), async (file, content) => {
        await client.know?.(file)
        const { ms } = await clocked(() => able(client, 'edit').edit(file, ' line 7 ', ' line seven '))
        strictEqual(await ground.read(file), content.replace(' line 7 ', ' line seven '))
        return ms
      }),
  }
}

export const LIST = listing(1_000, 100)
export const LIST_LARGE = listing(10_000, 0)

function listing(count: number, links: number): Task {
  const among = links === 0 ? '' : `, ${links} of them links,`
  return {
    what: `list a folder of ${count.toLocaleString('en')} entries${among} never seen`,
    needs: 'list',
    measure: (client, ground) =>
      ground.withFolderOf(count, links, async ({ path, entries }) => {
        const { ms, answer } = await clocked(() => able(client, 'list').list(path))
        deepStrictEqual(answer.toSorted(byName), asFollowedBy(answer, entries))
        return ms
      }),
  }
}

/** What is there, with the links unknown that the client has not followed. */
function asFollowedBy(answer: readonly Entry[], entries: readonly Entry[]): Entry[] {
  const unknown = new Set(answer.filter(({ type }) => type === undefined).map(({ name }) => name))
  return entries.map(({ name, type }) => ({ name, type: unknown.has(name) ? undefined : type }))
}

const WATCHED = 200

export const POLL: Task = {
  what: `look whether ${WATCHED} watched files have changed`,
  needs: 'poll',
  measure: async (client, ground) => {
    const files = await Promise.all(Array.from({ length: WATCHED }, () => ground.file(textOf(KIB))))
    // Files that are watched have been looked at before.
    await able(client, 'poll').poll(files)
    const { ms, answer } = await clocked(() => able(client, 'poll').poll(files))
    strictEqual(answer, WATCHED)
    await ground.remove(...files)
    return ms
  },
}

export const PROBE: Task = probing(0)
/** With the time that a model takes, which is not counted. */
export const PROBE_SLOWLY: Task = probing(1000)

function probing(pauseMs: number): Task {
  const pauses = pauseMs === 0 ? 'one after another' : `${pauseMs / 1000} s apart (not counted)`
  return {
    what: `the host's looking around before six steps in a folder never seen, ${pauses}`,
    needs: 'probe',
    measure: async (client, ground) => {
      const text = textOf(KIB)
      const folder = await ground.project(text)
      const pause = (): Promise<void> => new Promise((resume) => setTimeout(resume, pauseMs))
      let paused = 0
      const { ms, answer } = await clocked(() =>
        able(client, 'probe').probe(folder, async () => {
          if (pauseMs > 0) paused += (await clocked(pause)).ms
        }),
      )
      deepStrictEqual(answer, [text])
      await ground.remove(folder)
      return ms - paused
    },
  }
}

async function onFile(
  ground: Ground,
  content: string,
  work: (file: string, content: string) => Promise<number>,
): Promise<number> {
  const file = await ground.file(content)
  try {
    return await work(file, content)
  } finally {
    await ground.remove(file)
  }
}

export async function clocked<T>(
  work: () => Promise<T>,
): Promise<{ readonly ms: number; readonly answer: T }> {
  const began = performance.now()
  const answer = await work()
  return { ms: performance.now() - began, answer }
}

function byName(a: Entry, b: Entry): number {
  return a.name < b.name ? -1 : 1
}
