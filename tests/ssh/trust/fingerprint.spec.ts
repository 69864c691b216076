import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { describeKey, MalformedKeyError } from '../../../src/ssh/trust/fingerprint.ts'
import { KeyFolder } from './keys.ts'

describe('a key', () => {
  it.each(['ed25519', 'ecdsa', 'rsa'] as const)('F37: is described as ssh-keygen -l does: %s', (kind) => {
    const keys = new KeyFolder()
    const key = keys.make('key', kind)
    const printed = execFileSync('ssh-keygen', ['-l', '-f', `${key.privateFile}.pub`], { encoding: 'utf8' })
    const { type, sha256 } = describeKey(key.blob)
    expect(type).toBe(key.type)
    expect(printed.split(' ')[1]).toBe(sha256)
  })

  it.each([
    Buffer.alloc(0),
    Buffer.from([0, 0, 0]),
    Buffer.from([0, 0, 0, 0, 1]),
    Buffer.from([0, 0, 0, 3, 65, 66, 67]),
    Buffer.from([255, 255, 255, 255, 65]),
    Buffer.from([0, 0, 0, 1, 10, 1]),
  ])('is refused when it is not one: %j', (blob) => {
    expect(() => describeKey(blob)).toThrow(MalformedKeyError)
  })
})
