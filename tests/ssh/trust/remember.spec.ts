import { spawnSync } from 'node:child_process'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseKnownHosts, type KeyTarget } from '../../../src/ssh/trust/known-hosts.ts'
import { RememberKeyError, rememberKey } from '../../../src/ssh/trust/remember.ts'
import { judgeKey } from '../../../src/ssh/trust/verdict.ts'
import { KeyFolder } from './keys.ts'

const keys = new KeyFolder()
const key = keys.make('key', 'ed25519')
const BOX = { host: 'Box', port: 22 }

function found(file: string, name: string): string {
  return spawnSync('ssh-keygen', ['-F', name, '-f', file], { encoding: 'utf8' }).stdout
}

describe('a key that is written down', () => {
  it.each<[KeyTarget, string]>([
    [BOX, 'box'],
    [{ host: 'box', port: 2222 }, '[box]:2222'],
    [{ host: '::1', port: 42201 }, '[::1]:42201'],
    [{ host: 'box', port: 2222, alias: 'Name' }, 'name'],
  ])('F32: is found by ssh-keygen and by us, plain and hashed: %j', async (target, name) => {
    for (const hashed of [false, true]) {
      const file = keys.write(`known-${hashed}`, '')
      await rememberKey(key.blob, target, { file, hashed })
      expect(found(file, name)).toContain(key.text)
      expect(readFileSync(file, 'utf8').startsWith('|1|')).toBe(hashed)
      expect(readFileSync(file, 'utf8').toLowerCase().includes(name)).toBe(!hashed)
      expect(await judgeKey(key.blob, target, { user: [file], global: [] })).toMatchObject({
        kind: 'known',
        line: 1,
      })
    }
  })

  it('gets another salt each time', async () => {
    const file = keys.write('salts', '')
    await rememberKey(key.blob, BOX, { file, hashed: true })
    await rememberKey(key.blob, BOX, { file, hashed: true })
    const [first, second] = readFileSync(file, 'utf8').split('\n')
    expect(first).not.toBe(second)
  })

  it('makes the file and its folder for the user alone', async () => {
    const file = join(keys.folder, 'new', 'deep', 'known_hosts')
    await rememberKey(key.blob, BOX, { file, hashed: false })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(statSync(join(keys.folder, 'new')).mode & 0o777).toBe(0o700)
    expect(readFileSync(file, 'utf8')).toBe(`box ${key.text}\n`)
  })

  it('keeps every line that was there, and the mode of the file', async () => {
    const before = `# comment\n\n@revoked * ${key.text}\nnot a line`
    const file = keys.write('kept', before)
    writeFileSync(file, before, { mode: 0o644 })
    await rememberKey(key.blob, BOX, { file, hashed: false })
    expect(readFileSync(file, 'utf8')).toBe(`${before}\nbox ${key.text}\n`)
    await rememberKey(key.blob, { host: 'two', port: 22 }, { file, hashed: false })
    expect(readFileSync(file, 'utf8')).toBe(`${before}\nbox ${key.text}\ntwo ${key.text}\n`)
  })

  it('stays whole beside other writers', async () => {
    const file = keys.write('many', '')
    const hosts = Array.from({ length: 60 }, (_, index) => `host-${index}`)
    await Promise.all(hosts.map((host) => rememberKey(key.blob, { host, port: 22 }, { file, hashed: false })))
    const lines = parseKnownHosts(readFileSync(file, 'utf8'), file)
    expect(lines.map(({ names }) => names).sort()).toEqual([...hosts].sort())
  })

  it.each(['a b', 'a,b', '*', 'a?', '!a', '@revoked', '#a', '|1|x', 'a\nb', '[a]:1', ''])(
    'is refused when its host would mean something else in the file: %j',
    async (host) => {
      const file = keys.write('refused', '')
      for (const target of [
        { host, port: 22 },
        { host: 'box', port: 22, alias: host },
      ]) {
        await expect(rememberKey(key.blob, target, { file, hashed: true })).rejects.toThrow(RememberKeyError)
      }
      expect(readFileSync(file, 'utf8')).toBe('')
    },
  )

  it('tells when the file cannot be written', async () => {
    const remembered = rememberKey(key.blob, BOX, { file: keys.folder, hashed: false })
    await expect(remembered).rejects.toMatchObject({ machine: 'Box', cause: { code: 'EISDIR' } })
  })
})
