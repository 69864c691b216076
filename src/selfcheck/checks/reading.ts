/** Checks of looking and reading: metadata, text, bytes, ranges, streams, folders. */
import type { Check } from '../check.ts'
import { holds, refusedWith, same } from '../expectations.ts'

/** Letters of one to four bytes, so that characters lie across every border. */
const LETTERS = 'aä€😀'

/** Larger than what one request can carry. */
const LARGE_BYTES = 700_000

function largeText(): string {
  const line = `${LETTERS.repeat(10)}\n`
  return line.repeat(Math.ceil(LARGE_BYTES / Buffer.byteLength(line)))
}

/** Every byte value, in an order that repeats at no power of two. */
function largeBytes(): Buffer {
  return Buffer.from(Array.from({ length: LARGE_BYTES }, (_none, at) => (at * 7 + (at >> 8)) % 256))
}

export const READING: readonly Check[] = [
  {
    name: 'what does not exist is absent, and no error',
    make: async (at) => {
      for (const name of ['none', 'none/below']) {
        same(`stat of "${name}"`, await at.fs.stat(await at.target(name), at.signal), undefined)
        same(`lstat of "${name}"`, await at.fs.lstat(name, { cwd: at.mount() }, at.signal), undefined)
      }
    },
  },
  {
    name: 'what exists has its type and size, and a version that stays while it does',
    make: async (at) => {
      await at.bench.put(at.path('file'), '12345')
      await at.bench.makeFolder(at.path('folder'))
      const file = await at.target('file')
      const info = await at.fs.stat(file, at.signal)
      same('type and size of a file', [info?.type, info?.size], ['file', 5])
      same('type of a folder', (await at.fs.stat(await at.target('folder'), at.signal))?.type, 'directory')
      same('version at a second look', (await at.fs.stat(file, at.signal))?.version, info?.version)
      await at.bench.overwrite(at.path('file'), '123456')
      const after = await at.fs.stat(file, at.signal)
      holds('a changed file must have another version', after?.version !== info?.version)
    },
  },
  {
    name: 'text is read as it is, and what is no text is refused',
    make: async (at) => {
      const text = `one\r\n${LETTERS}\n`
      await at.bench.put(at.path('text'), text)
      await at.bench.put(at.path('binary'), 'a\0b')
      await at.bench.put(at.path('latin'), Buffer.from([0x63, 0xe9]))
      await at.bench.makeFolder(at.path('folder'))
      same('text', await at.fs.readText(await at.target('text'), at.signal), text)
      const read = (name: string) => async () => at.fs.readText(await at.target(name), at.signal)
      await refusedWith('FS_NOT_TEXT', 'reading a binary file', at.hostError, read('binary'))
      await refusedWith('FS_NOT_TEXT', 'reading text of another encoding', at.hostError, read('latin'))
      await refusedWith('FS_NOT_FOUND', 'reading what is not there', at.hostError, read('none'))
      await refusedWith('FS_NOT_REGULAR_FILE', 'reading a folder', at.hostError, read('folder'))
    },
  },
  {
    name: 'bytes are read exactly up to the limit, and refused beyond it',
    make: async (at) => {
      const content = largeBytes()
      await at.bench.put(at.path('bytes'), content)
      const target = await at.target('bytes')
      const read = await at.fs.readBytes(target, at.signal, content.length)
      holds('bytes of a file as long as the limit must be the file', content.equals(read))
      await refusedWith('FS_TOO_LARGE', 'reading a file longer than the limit', at.hostError, () =>
        at.fs.readBytes(target, at.signal, content.length - 1),
      )
    },
  },
  {
    name: 'a range of a file is exactly that range',
    make: async (at) => {
      const content = largeBytes()
      await at.bench.put(at.path('bytes'), content)
      const target = await at.target('bytes')
      const ranges = [
        [0, 10],
        [255, 3],
        [262_140, 300_000],
        [content.length - 5, 100],
        [content.length, 10],
        [content.length + 100, 10],
      ] as const
      for (const [offset, length] of ranges) {
        const range = await at.fs.readByteRange(target, { offset, length }, at.signal)
        const right = content.subarray(offset, offset + length).equals(range)
        holds(`${length} bytes from ${offset} on of ${content.length} must be those`, right)
      }
    },
  },
  {
    name: 'a long text comes as a stream, whole and with no character broken',
    make: async (at) => {
      const text = largeText()
      await at.bench.put(at.path('long'), text)
      const chunks: string[] = []
      for await (const chunk of await at.fs.streamText(await at.target('long'), at.signal)) chunks.push(chunk)
      holds('the chunks together must be the text', chunks.join('') === text)
      holds('a text longer than one request must come in several chunks', chunks.length > 1)
    },
  },
  {
    name: 'a folder lists everything in it, in one order',
    make: async (at) => {
      const files = [
        'b',
        'a',
        'Z',
        '10',
        '9',
        ' spaced ',
        "quo'te",
        '-dash',
        'ünïcode',
        '$(x)',
        'back\\slash',
      ]
      for (const name of files) await at.bench.put(at.path(name), name)
      await at.bench.makeFolder(at.path('folder'))
      const entries = await at.fs.listDir(await at.target('.'), at.signal)
      const names = entries.map((entry) => entry.name)
      same('names', names.toSorted(), [...files, 'folder'].toSorted())
      const again = await at.fs.listDir(await at.target('.'), at.signal)
      same(
        'order at a second look',
        again.map((entry) => entry.name),
        names,
      )
      for (const entry of entries) {
        const expected = entry.name === 'folder' ? 'directory' : 'file'
        same(`type of "${entry.name}"`, entry.type, expected)
        if (expected === 'directory') continue
        same(`size of "${entry.name}"`, entry.size, Buffer.byteLength(entry.name))
        same(
          `what the entry "${entry.name}" leads to`,
          await at.fs.readText(entry.target, at.signal),
          entry.name,
        )
      }
      const list = (name: string) => async () => at.fs.listDir(await at.target(name), at.signal)
      await refusedWith('FS_NOT_FOUND', 'listing what is not there', at.hostError, list('none'))
      await refusedWith('FS_NOT_DIRECTORY', 'listing a file', at.hostError, list('a'))
    },
  },
  {
    name: 'a watch tells of a change',
    make: async (at) => {
      await at.bench.put(at.path('watched'), 'before')
      const told = Promise.withResolvers<void>()
      at.signal.addEventListener('abort', () => told.reject(at.signal.reason as Error), { once: true })
      const end = await at.fs.watch(
        await at.target('watched'),
        (error) => (error === undefined ? told.resolve() : told.reject(error)),
        at.signal,
      )
      try {
        await at.bench.overwrite(at.path('watched'), 'after')
        await told.promise
      } finally {
        await end()
      }
    },
  },
]
