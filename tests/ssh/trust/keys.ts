/** Real keys made by ssh-keygen, in a folder of their own, for the tests of trust. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'

export interface TestKey {
  readonly privateFile: string
  /** `type base64`, as in a known_hosts line. */
  readonly text: string
  readonly type: string
  readonly blob: Buffer
}

const folders: string[] = []
afterAll(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

export class KeyFolder {
  readonly folder = mkdtempSync(join(tmpdir(), 'presence-trust-'))

  constructor() {
    folders.push(this.folder)
  }

  make(name: string, kind: 'ed25519' | 'ecdsa' | 'rsa'): TestKey {
    const privateFile = join(this.folder, name)
    execFileSync('ssh-keygen', ['-q', '-t', kind, '-N', '', '-C', 'a comment', '-f', privateFile])
    const [type = '', encoded = ''] = readFileSync(`${privateFile}.pub`, 'utf8').split(' ')
    return { privateFile, type, text: `${type} ${encoded}`, blob: Buffer.from(encoded, 'base64') }
  }

  write(name: string, content: string): string {
    const path = join(this.folder, name)
    writeFileSync(path, content, { mode: 0o600 })
    return path
  }
}
