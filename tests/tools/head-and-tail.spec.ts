import { describe, expect, it } from 'vitest'
import { HeadAndTail } from '../../src/tools/head-and-tail.ts'

function shortened(most: number, ...chunks: string[]): ReturnType<HeadAndTail['take']> {
  const kept = new HeadAndTail(most)
  for (const chunk of chunks) kept.push(Buffer.from(chunk))
  return kept.take()
}

describe('a long output', () => {
  it('is whole as long as it fits, however it comes', () => {
    expect(shortened(10, '01234', '', '56789')).toEqual({ text: '0123456789', leftOut: 0 })
    expect(shortened(10, ...'0123456789')).toEqual({ text: '0123456789', leftOut: 0 })
  })

  it('keeps whole lines of its beginning and its end, and tells how much is between', () => {
    const lines = Array.from({ length: 1000 }, (_, at) => `line ${at}\n`)
    for (const chunks of [lines, [lines.join('')], lines.join('').match(/.{1,7}/gs) ?? []]) {
      const { text, leftOut } = shortened(100, ...chunks)
      expect(text).toMatch(/^line 0\nline 1\n(line \d+\n)*… \d+ bytes left out …\n(line \d+\n)*line 999\n$/)
      const kept = text.replace(/… .* …\n/, '')
      expect(Buffer.byteLength(kept) + leftOut).toBe(Buffer.byteLength(lines.join('')))
    }
  })

  it('of one line is cut between characters', () => {
    const { text } = shortened(11, 'ü'.repeat(100))
    expect(text).toMatch(/^ü+\n… \d+ bytes left out …\n.?ü+$/)
    expect(text.split('\n')[0]).not.toContain('\ufffd')
  })
})
