import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { bytesOfText, shownName, textOfBytes } from '../../src/base/name-bytes.ts'

describe('the text of a name', () => {
  it('leads back to its bytes, whatever they are', () => {
    for (let byte = 0; byte < 256; byte += 1) {
      for (const name of [[byte], [0x61, byte, 0x62], [0xe4, byte], [byte, 0xbd, 0xa0]]) {
        const bytes = Buffer.from(name)
        expect(bytesOfText(textOfBytes(bytes)).toString('hex')).toBe(bytes.toString('hex'))
      }
    }
    for (let round = 0; round < 500; round += 1) {
      const bytes = Buffer.concat([Buffer.from('é你🙂'), randomBytes(round % 40), Buffer.from('🙂')])
      expect(bytesOfText(textOfBytes(bytes)).equals(bytes)).toBe(true)
    }
  })

  it('is the name itself where that is UTF-8', () => {
    for (const name of ['', 'a', 'é', 'e\u0301', '你好', '🙂🙃', '\ufffd', '\ufeff', '\u0080\u00ff']) {
      expect(textOfBytes(Buffer.from(name))).toBe(name)
      expect(bytesOfText(name).equals(Buffer.from(name))).toBe(true)
      expect(shownName(name)).toBe(name)
    }
  })

  it('is shown as the host’s own listings show it', () => {
    for (const hex of [
      '636166e9',
      'ff',
      'd6d0cec4',
      'c328',
      'e4bd',
      'f09f9961',
      'eda080',
      'c080',
      'e4bde4bda0',
    ]) {
      const bytes = Buffer.from(hex, 'hex')
      expect(shownName(textOfBytes(bytes))).toBe(bytes.toString('utf8'))
    }
  })

  it('tells two names apart that are shown alike', () => {
    expect(textOfBytes(Buffer.of(0xe9))).not.toBe(textOfBytes(Buffer.of(0xe8)))
    expect(shownName(textOfBytes(Buffer.of(0xe9)))).toBe(shownName(textOfBytes(Buffer.of(0xe8))))
  })
})
