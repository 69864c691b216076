/** DSH's session logs: frames of compressed lines, one after another. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { constants, zstdCompressSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readSession, sessionFiles } from '../../scripts/host/session-log.ts'

const EVENTS = [
  { type: 'session', id: 'session-1', cwd: '/work' },
  { type: 'tool/call', data: { callId: 'a', name: 'read', arguments: '{"file_path":"x"}' } },
  { type: 'tool/call', data: { callId: 'b', name: 'bash', arguments: '' } },
  {
    type: 'tool/result',
    data: { message: { content: [{ toolCallId: 'b', isError: true, content: [{ text: 'no' }] }] } },
  },
  {
    type: 'tool/result',
    data: { message: { content: [{ toolCallId: 'a', content: [{ text: 'one' }, { text: 'two' }] }] } },
  },
  { type: 'assistant/message', data: { message: { content: [{ type: 'text', text: 'done' }] } } },
]

let home: string

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'session-log-'))
})
afterEach(() => rm(home, { recursive: true }))

function frame(text: string | Buffer): Buffer {
  return zstdCompressSync(text, { params: { [constants.ZSTD_c_checksumFlag]: 1 } })
}

describe('readSession', () => {
  it('reads a log that was appended to, and joins calls with their results', async () => {
    const file = join(home, 'session.jsonl.zstd')
    await writeFile(file, Buffer.concat(EVENTS.map((event) => frame(`${JSON.stringify(event)}\n`))))
    expect(await readSession(file)).toMatchObject({
      id: 'session-1',
      cwd: '/work',
      answer: 'done',
      steps: [
        { tool: 'read', args: { file_path: 'x' }, text: 'one\ntwo', isError: false },
        { tool: 'bash', args: {}, text: 'no', isError: true },
      ],
    })
  })

  it('is not misled by the mark of a frame inside the data of one', async () => {
    const mark = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])
    // So short a line cannot be made smaller and is stored as it is, the mark included.
    const stored = frame(Buffer.concat([Buffer.from('{"type":"'), mark, Buffer.from('"}\n')]))
    expect(stored.indexOf(mark, 1)).toBeGreaterThan(0)
    const file = join(home, 'session.jsonl.zstd')
    await writeFile(
      file,
      Buffer.concat([
        frame(`${JSON.stringify(EVENTS[0])}\n`),
        stored,
        frame(`${JSON.stringify(EVENTS[5])}\n`),
      ]),
    )
    expect((await readSession(file)).answer).toBe('done')
  })

  it('says that a log is broken instead of reading a part of it', async () => {
    const file = join(home, 'session.jsonl.zstd')
    await writeFile(
      file,
      Buffer.concat([frame('{"type":"session"}\n'), frame('{"type":"x"}\n').subarray(0, 12)]),
    )
    await expect(readSession(file)).rejects.toThrow()
  })

  it('finds no sessions in a home that has none', async () => {
    expect(await sessionFiles(home)).toEqual([])
  })
})
