import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { parseMatch } from '../../src/remote/search/ripgrep.ts'
import { firstRecords } from '../../src/tools/first-records.ts'

async function read(
  chunks: readonly string[],
  most: number,
): Promise<{ results: readonly string[]; more: boolean; ended: number }> {
  const stream = new PassThrough()
  let ended = 0
  const collected = firstRecords(stream, {
    separator: 10,
    most,
    parse: (record) => (record.startsWith('#') ? undefined : record),
    enough: () => (ended += 1),
  })
  for (const chunk of chunks) stream.write(chunk)
  stream.end()
  await new Promise((resolve) => stream.once('end', resolve))
  return { ...collected(), ended }
}

describe('the first records of an output', () => {
  it('are put together over chunks, without those that are no result, and with an unended last one', async () => {
    expect(await read(['on', 'e\n#no\ntw', 'o\nthree'], 10)).toEqual({
      results: ['one', 'two', 'three'],
      more: false,
      ended: 0,
    })
  })

  it('are the first ones, and the program is ended once when there is one more than wanted', async () => {
    expect(await read(['1\n2\n3\n4\n', '5\n6\n'], 3)).toEqual({
      results: ['1', '2', '3'],
      more: true,
      ended: 1,
    })
    expect(await read(['1\n2\n3\n'], 3)).toEqual({ results: ['1', '2', '3'], more: false, ended: 0 })
  })

  it('of a search keep the path of a match whose line is too long to be kept', () => {
    const record = '{"type":"match","data":{"path":{"text":"a \\"b\\".txt"},"lines":{"text":"xxxx'
    expect(parseMatch(record, true)).toEqual({
      path: 'a "b".txt',
      line: 0,
      text: '(a line too long to show)',
    })
    expect(parseMatch('{"type":"begin","data":{"path":{"text":"a', true)).toBeUndefined()
  })
})
