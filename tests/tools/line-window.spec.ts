import { describe, expect, it } from 'vitest'
import { LineWindow } from '../../src/tools/line-window.ts'

function read(chunks: readonly string[], first: number, last: number): LineWindow {
  const window = new LineWindow(first, last, 1000)
  if (chunks.every((chunk) => window.push(chunk))) window.end()
  return window
}

describe('a closed range of lines', () => {
  it.each([
    ['the whole text', ['a\nb\nc\n'], 1, 9, ['a', 'b', 'c'], 3],
    ['a text without a last line end', ['a\nb'], 1, 9, ['a', 'b'], 2],
    ['an empty text', [], 1, 9, [], 0],
    ['one empty line', ['\n'], 1, 9, [''], 1],
    ['Windows line ends, cut anywhere', ['a\r', '\nb\r\n'], 1, 9, ['a', 'b'], 2],
    ['pieces of a line', ['a', 'b', 'c\nd'], 1, 9, ['abc', 'd'], 2],
    ['a range at the end', ['a\nb\nc\n'], 3, 3, ['c'], 3],
    ['a range in the middle', ['a\nb\nc\nd\n'], 2, 3, ['b', 'c'], undefined],
    ['a range beyond the end', ['a\n'], 5, 9, [], 1],
  ] as const)('%s', (_what, chunks, first, last, lines, total) => {
    const window = read(chunks, first, last)
    expect(window.lines).toEqual(lines)
    expect(window.total).toBe(total)
  })

  it('is full when it has enough characters, and keeps little of an endless line', () => {
    const full = read(['x'.repeat(900), '\n', 'y'.repeat(900), '\nz\n'], 1, 9)
    expect(full.lines).toHaveLength(2)
    expect(full.total).toBeUndefined()
    const endless = read(
      Array.from({ length: 1000 }, () => 'x'.repeat(1000)),
      1,
      9,
    )
    expect(endless.lines[0]).toMatch(/x… \(1000000 characters\)$/)
    expect(endless.total).toBe(1)
  })
})
