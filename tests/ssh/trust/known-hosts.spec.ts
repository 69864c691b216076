import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  coversName,
  lookupName,
  parseKnownHosts,
  readKnownHosts,
} from '../../../src/ssh/trust/known-hosts.ts'
import { KeyFolder } from './keys.ts'

const keys = new KeyFolder()
const key = keys.make('one', 'ed25519')
const other = keys.make('two', 'ecdsa')

describe('the name of a target', () => {
  it.each([
    [{ host: 'Box.Example', port: 22 }, 'box.example'],
    [{ host: 'Box', port: 2222 }, '[box]:2222'],
    [{ host: '::1', port: 22 }, '::1'],
    [{ host: '::1', port: 42201 }, '[::1]:42201'],
    [{ host: 'box', port: 2222, alias: 'The-Alias' }, 'the-alias'],
  ])('%j', (target, name) => {
    expect(lookupName(target)).toBe(name)
  })
})

describe('the lines of a file', () => {
  it('are read with their markers, several names, comments and either end of line', () => {
    const text = [
      '# a comment',
      '',
      `  box,[box]:2222,10.0.0.* ${key.text} somebody's # comment`,
      `@revoked\t*\t${other.text}\r`,
      `@cert-authority *.example ${key.text}`,
      `last ${key.text}`,
    ].join('\n')
    expect(
      parseKnownHosts(text, '/f').map(({ line, marker, names, type }) => [line, marker, names, type]),
    ).toEqual([
      [3, 'none', 'box,[box]:2222,10.0.0.*', 'ssh-ed25519'],
      [4, 'revoked', '*', 'ecdsa-sha2-nistp256'],
      [5, 'cert-authority', '*.example', 'ssh-ed25519'],
      [6, 'none', 'last', 'ssh-ed25519'],
    ])
    expect(parseKnownHosts(text, '/f')[0]?.blob).toEqual(key.blob)
  })

  it('are passed over one by one when they are malformed', () => {
    const encoded = key.text.split(' ')[1] ?? ''
    const text = [
      'box',
      'box ssh-ed25519',
      'box ssh-ed25519 !!!!',
      `box ssh-rsa ${encoded}`,
      `box ssh-ed25519 ${encoded.slice(0, 12)}`,
      `@unknown box ${key.text}`,
      `@revoked @revoked box ${key.text}`,
      'box 1024 35 1234567890',
      `good ${key.text}`,
      '\0\u00ff binary',
    ].join('\n')
    expect(parseKnownHosts(text, '/f').map(({ names, line }) => [names, line])).toEqual([['good', 9]])
  })
})

describe('the names of a line', () => {
  const NAMES = [
    'box',
    'BOX',
    '*',
    'b?x',
    '*.example,!bad.example',
    '!box,*',
    'a,b,box',
    '[box]:2222',
    '[*]:2222',
    '[box]:*',
    '10.0.0.?',
    '::1',
    '[::1]:42201',
    '!*',
  ]
  const TARGETS = [
    'box',
    '[box]:2222',
    'good.example',
    'bad.example',
    '10.0.0.7',
    '::1',
    '[::1]:42201',
    'other',
  ]

  it.each(NAMES)('cover what ssh-keygen -F finds: %s', (names) => {
    const plain = keys.write('plain', `${names} ${key.text}\n`)
    for (const target of TARGETS) {
      const found = spawnSync('ssh-keygen', ['-F', target, '-f', plain], { encoding: 'utf8' }).stdout !== ''
      expect(coversName(names, target), `${names} for ${target}`).toBe(found)
    }
  })

  it('F32: cover their one name when ssh-keygen -H has hashed them, with the port inside of the hash', () => {
    const file = keys.write('hashed', `box,[box]:2222 ${key.text}\n[::1]:42201 ${key.text}\n`)
    execFileSync('ssh-keygen', ['-H', '-f', file], { stdio: 'pipe' })
    const lines = parseKnownHosts(readFileSync(file, 'utf8'), file)
    expect(lines).toHaveLength(3)
    expect(lines.every(({ names }) => names.startsWith('|1|'))).toBe(true)
    const covered = (name: string): number => lines.filter(({ names }) => coversName(names, name)).length
    expect(['box', '[box]:2222', '[::1]:42201', '::1', '[box]:22', 'bo'].map(covered)).toEqual([
      1, 1, 1, 0, 0, 0,
    ])
  })

  it.each(['|1|', '|1|AAAA|AAAA', '|2|x|y', '|', '|1|x'])(
    'cover nothing when their hash is malformed: %s',
    (names) => {
      expect(coversName(names, 'box')).toBe(false)
    },
  )
})

describe('files', () => {
  it('are empty when they are not there, and named when they cannot be read', async () => {
    const file = keys.write('some', `box ${key.text}\n`)
    const files = {
      user: [`${keys.folder}/missing`, keys.folder, file],
      global: ['/dev/null', `${file}/below`],
    }
    const { lines, unreadable } = await readKnownHosts(files)
    expect(lines).toHaveLength(1)
    expect(unreadable).toEqual([expect.stringMatching(/presence-trust-\w+: EISDIR/)])
  })
})
