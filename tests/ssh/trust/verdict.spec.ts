import { describe, expect, it } from 'vitest'
import { describeKey, MalformedKeyError } from '../../../src/ssh/trust/fingerprint.ts'
import type { KeyTarget } from '../../../src/ssh/trust/known-hosts.ts'
import { judgeKey, knownKeyTypes, type Verdict } from '../../../src/ssh/trust/verdict.ts'
import { KeyFolder } from './keys.ts'

const keys = new KeyFolder()
const key = keys.make('key', 'ed25519')
const changed = keys.make('changed', 'ed25519')
const ecdsa = keys.make('ecdsa', 'ecdsa')
const rsa = keys.make('rsa', 'rsa')

const BOX = { host: 'box', port: 22 }
const PORT = { host: 'box', port: 2222 }

function judge(
  target: KeyTarget,
  lines: readonly string[],
  global: readonly string[] = [],
): Promise<Verdict> {
  const user = keys.write('user', `${lines.join('\n')}\n`)
  const system = keys.write('global', `${global.join('\n')}\n`)
  return judgeKey(key.blob, target, { user: [user], global: [system] })
}

describe('a presented key', () => {
  it('is known by any line that holds it, wherever it stands', async () => {
    expect(await judge(BOX, [`box ${key.text}`])).toMatchObject({ kind: 'known', line: 1 })
    expect(await judge(BOX, [`box ${changed.text}`, `b* ${key.text}`])).toMatchObject({
      kind: 'known',
      line: 2,
    })
    const byGlobal = await judge(BOX, [], ['', `BOX ${key.text}`])
    expect(byGlobal).toEqual({ kind: 'known', file: `${keys.folder}/global`, line: 2 })
    expect(await judge({ host: 'BOX', port: 22 }, [`box ${key.text}`])).toMatchObject({ kind: 'known' })
  })

  it('is unknown where no line speaks of the host', async () => {
    expect(await judge(BOX, [`other ${key.text}`, `[box]:2222 ${key.text}`])).toEqual({
      kind: 'unknown',
      unreadable: [],
    })
  })

  it('is changed where another key of its type stands, with that key and its place', async () => {
    const lines = ['# first', `box ${ecdsa.text}`, `box ${changed.text}`]
    expect(await judge(BOX, lines)).toEqual({
      kind: 'changed',
      expected: describeKey(changed.blob),
      file: `${keys.folder}/user`,
      line: 3,
    })
  })

  it('is of a new type where only keys of other types stand', async () => {
    const verdict = await judge(BOX, [`box ${ecdsa.text}`], [`box ${rsa.text}`])
    expect(verdict).toMatchObject({
      kind: 'new-type',
      known: [
        { ...describeKey(ecdsa.blob), line: 1 },
        { ...describeKey(rsa.blob), file: `${keys.folder}/global` },
      ],
    })
  })

  it('F34: is revoked whatever else is known of it', async () => {
    const lines = [`box ${key.text}`, `@revoked * ${key.text}`]
    expect(await judge(BOX, lines)).toEqual({ kind: 'revoked', file: `${keys.folder}/user`, line: 2 })
    expect(await judge(BOX, [`box ${key.text}`], [`@revoked box ${key.text}`])).toMatchObject({
      kind: 'revoked',
    })
    expect(await judge(BOX, [`box ${key.text}`, `@revoked box ${changed.text}`])).toMatchObject({
      kind: 'known',
    })
    expect(await judge(BOX, [`box ${key.text}`, `@revoked other ${key.text}`])).toMatchObject({
      kind: 'known',
    })
  })

  it('F34: is not known by the line of a certificate authority, and not changed by one', async () => {
    expect(await judge(BOX, [`@cert-authority * ${key.text}`])).toMatchObject({ kind: 'unknown' })
    expect(await judge(BOX, [`@cert-authority * ${changed.text}`])).toMatchObject({ kind: 'unknown' })
  })

  it('F31: is looked up with its port first, and without it only in favour', async () => {
    expect(await judge(PORT, [`[box]:2222 ${key.text}`])).toMatchObject({ kind: 'known' })
    expect(await judge(PORT, [`[box]:2222 ${changed.text}`, `box ${key.text}`])).toMatchObject({
      kind: 'changed',
    })
    expect(await judge(PORT, [`box ${key.text}`])).toMatchObject({ kind: 'known' })
    expect(await judge(PORT, [`box ${changed.text}`])).toMatchObject({ kind: 'unknown' })
    expect(await judge(PORT, [`[box]:2223 ${key.text}`])).toMatchObject({ kind: 'unknown' })
  })

  it('stays revoked when only the host without its port is marked', async () => {
    expect(await judge(PORT, [`[box]:2222 ${key.text}`, `@revoked box ${key.text}`])).toMatchObject({
      kind: 'revoked',
    })
  })

  it('is looked up by the alias alone where there is one', async () => {
    const target = { ...PORT, alias: 'The-Alias' }
    expect(await judge(target, [`the-alias ${key.text}`])).toMatchObject({ kind: 'known' })
    expect(await judge(target, [`box ${key.text}`, `[box]:2222 ${key.text}`])).toMatchObject({
      kind: 'unknown',
    })
    expect(await judge(target, [`the-alias ${changed.text}`, `box ${key.text}`])).toMatchObject({
      kind: 'changed',
    })
  })

  it('tells of the files that could not be read when it is unknown', async () => {
    const verdict = await judgeKey(key.blob, BOX, { user: [keys.folder], global: [] })
    expect(verdict).toEqual({ kind: 'unknown', unreadable: [expect.stringContaining(keys.folder)] })
  })

  it('is refused when it is not a key', async () => {
    const judged = judgeKey(Buffer.from('no key'), BOX, { user: [], global: [] })
    await expect(judged).rejects.toThrow(MalformedKeyError)
  })
})

describe('the types that are known', () => {
  const types = (target: KeyTarget, ...lines: string[]): Promise<string[]> =>
    knownKeyTypes(target, { user: [keys.write('types', `${lines.join('\n')}\n`)], global: [] })

  it('are those of the plain lines, in their order, each once', async () => {
    const lines = [`box ${rsa.text}`, `box ${ecdsa.text}`, `b* ${rsa.text}`, `other ${key.text}`]
    expect(await types(BOX, ...lines)).toEqual(['ssh-rsa', 'ecdsa-sha2-nistp256'])
    expect(await types({ host: 'nobody', port: 22 }, ...lines)).toEqual([])
  })

  it('F34: leave out revoked keys and certificate authorities', async () => {
    expect(
      await types(BOX, `@cert-authority * ${rsa.text}`, `box ${key.text}`, `@revoked * ${key.text}`),
    ).toEqual([])
  })

  it('are those without the port only where none is known with it', async () => {
    expect(await types(PORT, `box ${rsa.text}`)).toEqual(['ssh-rsa'])
    expect(await types(PORT, `box ${rsa.text}`, `[box]:2222 ${key.text}`)).toEqual(['ssh-ed25519'])
  })
})
