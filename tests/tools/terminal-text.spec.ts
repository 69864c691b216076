import { describe, expect, it } from 'vitest'
import { CursorKeyMode } from '../../src/tools/terminal-keys.ts'
import { TerminalText, readable } from '../../src/tools/terminal-text.ts'

const bytes = (text: string): Buffer => Buffer.from(text, 'utf8')

describe('what a terminal printed, as text', () => {
  it.each([
    ['colours and titles', '\u001b[1;31mred\u001b[0m \u001b]0;title\u0007plain', 'red plain'],
    ['line ends', 'a\r\nb\r\n', 'a\nb\n'],
    ['a line that was written over', ' 10%\r 50%\r100%\r\ndone', '100%\ndone'],
    ['a line that a program only ended', 'kept\r\r\n', 'kept\n'],
    ['characters that were taken back', 'abd\bc\b\bxy', 'axy'],
    ['sequences with private parameters', 'a\u001b[>4;2mb\u001b[?2004hc\u001b[=1c', 'abc'],
    ['bells and other control characters', 'a\u0007b\u0000c\td', 'abc\td'],
  ])('%s', (_what, raw, text) => {
    expect(readable(raw)).toBe(text)
  })

  it('holds back a sequence that is not whole yet, and a character that is not', () => {
    const text = new TerminalText(1000)
    text.push(bytes('a\u001b[3'))
    expect(text.take().text).toBe('a')
    text.push(bytes('1mb\u001b]0;ti'))
    expect(text.take().text).toBe('b')
    text.push(bytes('tle\u0007c'))
    text.push(bytes('ü').subarray(0, 1))
    expect(text.take().text).toBe('c')
    text.push(bytes('ü').subarray(1))
    expect(text.take()).toEqual({ text: 'ü', dropped: 0 })
  })

  it('keeps what is newest and counts what is gone', () => {
    const text = new TerminalText(10)
    text.push(bytes('0123456789abc'))
    expect(text.peek()).toBe('3456789abc')
    expect(text.take()).toEqual({ text: '3456789abc', dropped: 3 })
    expect(text.isEmpty).toBe(true)
  })

  it('does not go on holding back what never becomes a sequence', () => {
    const text = new TerminalText(1000)
    text.push(bytes('\u001b[12'))
    text.push(bytes(' plain text'))
    expect(text.take().text).toContain('plain text')
  })
})

describe('keys', () => {
  it('follow the cursor key mode that the program has set, also over a cut in its output', () => {
    const keys = new CursorKeyMode()
    expect(keys.typed('', 'up')).toBe('\u001b[A')
    keys.push(bytes('text\u001b[?'))
    keys.push(bytes('1hmore'))
    expect(keys.typed('', 'up')).toBe('\u001bOA')
    keys.push(bytes('\u001b[?1l'))
    expect(keys.typed('', 'home')).toBe('\u001b[H')
  })

  it('type a line feed as Enter, and press the key after the text', () => {
    const keys = new CursorKeyMode()
    expect(keys.typed('a\nb\r\nc', 'enter')).toBe('a\rb\rc\r')
    expect(keys.typed('x', 'none')).toBe('x')
    expect(keys.typed('', 'ctrl-c')).toBe('\u0003')
  })
})
