import { describe, expect, it } from 'vitest'
import { contentOfBytes, contentOfText, type Content } from '../../../src/remote/files/saving/content.ts'

const TEXTS = [
  '',
  'a',
  'plain '.repeat(50),
  'é'.repeat(40),
  '🙂'.repeat(30),
  'a🙂é你'.repeat(20),
  '\ud83d alone',
  'alone \ud83d',
]

function whole(content: Content, most: number): Buffer {
  const pieces = [...content.pieces(() => most)]
  for (const piece of pieces) expect(piece.length).toBeLessThanOrEqual(most)
  for (const piece of pieces) expect(piece.length).toBeGreaterThan(0)
  return Buffer.concat(pieces)
}

describe.each([4, 5, 7, 64, 1000])('in pieces of at most %i bytes', (most) => {
  it.each(TEXTS)('the text %j is what it is in UTF-8, as often as it is asked for', (text) => {
    const content = contentOfText(text)
    const wanted = Buffer.from(text)
    expect(content.length).toBe(wanted.length)
    expect(whole(content, most).equals(wanted)).toBe(true)
    expect(whole(content, most).equals(wanted)).toBe(true)
    expect(whole(contentOfBytes(wanted), most).equals(wanted)).toBe(true)
  })
})
