/** Our verdicts against what a real `ssh` does with the same known_hosts file and a real server. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DemoMachine } from '../../../scripts/machine/machine.ts'
import { startOpenSsh } from '../../../scripts/machine/openssh.ts'
import type { KeyTarget } from '../../../src/ssh/trust/known-hosts.ts'
import { rememberKey } from '../../../src/ssh/trust/remember.ts'
import { judgeKey, knownKeyTypes } from '../../../src/ssh/trust/verdict.ts'
import { KeyFolder, type TestKey } from './keys.ts'

const keys = new KeyFolder()
const impostor = keys.make('impostor', 'ed25519')
const ecdsa = keys.make('ecdsa', 'ecdsa')

let server: DemoMachine
let key: Pick<TestKey, 'text' | 'blob'>
/** Carries the connection, so that `ssh` can be told any host and port. */
let carrier: string

beforeAll(async () => {
  server = await startOpenSsh({
    folder: join(keys.folder, 'server'),
    sshdConfig: [`HostKey ${ecdsa.privateFile}`],
  })
  const [, type = '', encoded = ''] = readFileSync(server.knownHostsFile, 'utf8').trim().split(' ')
  key = { text: `${type} ${encoded}`, blob: Buffer.from(encoded, 'base64') }
  // `ssh` ends it by SIGHUP; it has to outlive that to end its own child.
  const lines = [
    "trap '' HUP",
    `exec 3<>/dev/tcp/127.0.0.1/${server.port} 2>&-`,
    'cat <&3 &',
    'cat >&3',
    'kill $!',
  ]
  carrier = keys.write('carrier', lines.join('\n'))
})
afterAll(() => server.stop())

type Said = 'known' | 'unknown' | 'changed' | 'revoked'

interface Outcome {
  readonly said: Said
  readonly error: string
}

/** What `ssh` says of the server's ed25519 key; authentication is not even tried. */
function askSsh(target: KeyTarget, file: string, ...options: string[]): Promise<Outcome> {
  const settings = [
    ...options,
    `ProxyCommand=bash ${carrier}`,
    'BatchMode=yes',
    'StrictHostKeyChecking=ask',
    `UserKnownHostsFile=${file}`,
    'GlobalKnownHostsFile=/dev/null',
    'HostKeyAlgorithms=ssh-ed25519',
    'PreferredAuthentications=none',
    ...(target.alias === undefined ? [] : [`HostKeyAlias=${target.alias}`]),
  ].flatMap((setting) => ['-o', setting])
  const args = ['-F', 'none', ...settings, '-p', String(target.port), '--', target.host, 'true']
  return new Promise((resolve, reject) => {
    execFile('ssh', args, (_refusedAnyway, _output, error) => {
      if (error.includes('marked as revoked')) resolve({ said: 'revoked', error })
      else if (error.includes('IDENTIFICATION HAS CHANGED')) resolve({ said: 'changed', error })
      else if (error.includes('Host key verification failed')) resolve({ said: 'unknown', error })
      else if (error.includes('Permission denied')) resolve({ said: 'known', error })
      else reject(new Error(`ssh said something else: ${error}`))
    })
  })
}

const BOX = { host: 'box.example', port: 22 }
const PORT = { host: 'box.example', port: 2222 }
const ALIAS = { ...PORT, alias: 'The-Alias' }

/** `K`: the server's key, `I`: another of its type, `E`: one of another type. */
const FILES: readonly string[] = [
  '',
  'box.example K',
  'box.example I',
  'box.example E',
  '[box.example]:2222 K',
  '[box.example]:2222 I',
  '[box.example]:2222 E',
  'the-alias K',
  'the-alias I',
  '* K',
  '*.example,!box.example K',
  '!other,* K',
  '[*.example]:* K',
  'BOX.Example K',
  'a,b,box.example,c K comment',
  'box.example I\nbox.example K',
  'box.example E\nbox.example I',
  '[box.example]:2222 I\nbox.example K',
  '[box.example]:2222 E\nbox.example K',
  '[box.example]:2222 K\nbox.example I',
  'box.example I\n[box.example]:2222 E',
  '@revoked * K',
  'box.example K\n@revoked * K',
  '[box.example]:2222 K\n@revoked [box.example]:2222 K',
  '@revoked box.example I\nbox.example K\n[box.example]:2222 K',
  '@cert-authority * K',
  '@cert-authority * I',
  '@cert-authority * I\nbox.example K\n[box.example]:2222 K\nthe-alias K',
  'malformed\nbox.example ssh-ed25519 AAAA\nbox.example K\n[box.example]:2222 K',
  'box.example K\r\n[box.example]:2222 K\r\nthe-alias K\r\n',
  '# box.example I\n\n  box.example K',
]

describe('our verdict', () => {
  it.each(FILES)('is what ssh does: %j', async (template) => {
    const content = template
      .replace(/ K(?=\s|$)/g, ` ${key.text}`)
      .replace(/ I(?=\s|$)/g, ` ${impostor.text}`)
      .replace(/ E(?=\s|$)/g, ` ${ecdsa.text}`)
    const file = keys.write('known_hosts', `${content}\n`)
    const compare = async (target: KeyTarget): Promise<void> => {
      const verdict = await judgeKey(key.blob, target, { user: [file], global: [] })
      const { said, error } = await askSsh(target, file)
      // OpenSSH calls a key of a new type changed; we keep the two apart for the sake of the message.
      const ours = verdict.kind === 'new-type' ? 'changed' : verdict.kind
      expect({ target, said: ours }).toEqual({ target, said })
      if (verdict.kind === 'changed' && !content.includes(ecdsa.text)) {
        expect(error).toContain(`Offending ED25519 key in ${verdict.file}:${verdict.line}`)
      }
    }
    await Promise.all([BOX, { ...BOX, host: 'BOX.EXAMPLE' }, PORT, ALIAS].map(compare))
  })

  it('is stricter than ssh about a key that is revoked for the host without its port', async () => {
    const file = keys.write('revoked', `[box.example]:2222 ${key.text}\n@revoked box.example ${key.text}\n`)
    expect((await askSsh(PORT, file)).said).toBe('known')
    expect(await judgeKey(key.blob, PORT, { user: [file], global: [] })).toMatchObject({ kind: 'revoked' })
  })

  it.each([BOX, PORT, ALIAS, { host: '::1', port: 42201 }])(
    'and that of ssh turn to "known" when the key is written down: %j',
    async (target) => {
      for (const hashed of [false, true]) {
        const file = keys.write('fresh', '')
        expect((await askSsh(target, file)).said).toBe('unknown')
        await rememberKey(key.blob, target, { file, hashed })
        expect((await askSsh(target, file)).said).toBe('known')
        expect(await judgeKey(key.blob, target, { user: [file], global: [] })).toMatchObject({
          kind: 'known',
        })
      }
    },
  )

  it.each([BOX, PORT, ALIAS])('knows what ssh itself has written down: %j', async (target) => {
    for (const hash of ['yes', 'no']) {
      const file = keys.write('by-ssh', '')
      await askSsh(target, file, 'StrictHostKeyChecking=accept-new', `HashKnownHosts=${hash}`)
      expect(readFileSync(file, 'utf8').startsWith('|1|')).toBe(hash === 'yes')
      expect(await judgeKey(key.blob, target, { user: [file], global: [] })).toMatchObject({ kind: 'known' })
      expect(await judgeKey(impostor.blob, target, { user: [file], global: [] })).toMatchObject({
        kind: 'changed',
        line: 1,
      })
      expect(await knownKeyTypes(target, { user: [file], global: [] })).toEqual(['ssh-ed25519'])
    }
  })
})
