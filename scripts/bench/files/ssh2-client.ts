/** ssh2 as its manual connects and calls: default settings, one request after another. */
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import ssh2, { type SFTPWrapper, type Stats } from 'ssh2'
import type { BenchServer } from '../server.ts'
import type { Client, Entry } from './client.ts'

export async function startSsh2(server: BenchServer): Promise<Client> {
  const client = new ssh2.Client()
  client.connect({
    host: server.host,
    port: server.port,
    username: server.user,
    privateKey: await readFile(server.identityFile),
  })
  await once(client, 'ready')
  const sftp = await new Promise<SFTPWrapper>((resolve, reject) => {
    client.sftp((error, opened) => (error === undefined ? resolve(opened) : reject(error)))
  })
  return new NaiveFiles(client, sftp)
}

class NaiveFiles implements Client {
  readonly who = 'ssh2, defaults'
  readonly note = 'one request after another'
  readonly #client: ssh2.Client
  readonly #sftp: SFTPWrapper
  #saves = 0

  constructor(client: ssh2.Client, sftp: SFTPWrapper) {
    this.#client = client
    this.#sftp = sftp
  }

  async stat(file: string): Promise<number> {
    return (await this.#call<Stats>('stat', file)).size
  }

  async lstat(file: string): Promise<number> {
    return (await this.#call<Stats>('lstat', file)).size
  }

  realpath(file: string): Promise<string> {
    return this.#call('realpath', file)
  }

  async read(file: string): Promise<Buffer> {
    const path = await this.realpath(file)
    await this.stat(path)
    const handle = await this.#call<Buffer>('open', path, 'r')
    const { size } = await this.#call<Stats>('fstat', handle)
    const content = Buffer.alloc(size)
    for (let at = 0; at < size;) {
      const length = Math.min(size - at, LARGEST_READ)
      at += await this.#call<number>('read', handle, content, at, length, at)
    }
    await this.#call('close', handle)
    return content
  }

  async write(file: string, content: string): Promise<void> {
    const { mode } = await this.#call<Stats>('stat', file)
    this.#saves += 1
    const temporary = `${file}.${this.#saves}.tmp`
    const handle = await this.#call<Buffer>('open', temporary, 'wx')
    const bytes = Buffer.from(content)
    await this.#call('write', handle, bytes, 0, bytes.length, 0)
    await this.#call('fchmod', handle, mode & 0o7777)
    await this.#call('ext_openssh_fsync', handle)
    await this.#call('close', handle)
    await this.#call('ext_openssh_rename', temporary, file)
    await this.stat(file)
  }

  async edit(file: string, before: string, after: string): Promise<void> {
    await this.write(file, (await this.read(file)).toString('utf8').replace(before, after))
  }

  async list(folder: string): Promise<Entry[]> {
    const path = await this.realpath(folder)
    await this.stat(path)
    const names = await this.#call<{ filename: string; attrs: { mode: number } }[]>('readdir', path)
    return names.map(({ filename, attrs }) => ({ name: filename, type: typeOf(attrs.mode) }))
  }

  async pull(file: string, into: string): Promise<void> {
    await this.#call('fastGet', file, into)
  }

  async push(from: string, file: string): Promise<void> {
    await this.#call('fastPut', from, file)
  }

  async stop(): Promise<void> {
    this.#client.end()
  }

  #call<T>(method: keyof SFTPWrapper, ...words: readonly unknown[]): Promise<T> {
    return new Promise((resolve, reject) => {
      const call = this.#sftp[method] as (...all: readonly unknown[]) => void
      call.call(this.#sftp, ...words, (error: Error | null | undefined, answer: T) =>
        error === null || error === undefined ? resolve(answer) : reject(error),
      )
    })
  }
}

/** What OpenSSH answers in one packet. */
const LARGEST_READ = 255 * 1024

const KIND = 0o170000
const FOLDER = 0o040000
const REGULAR = 0o100000

function typeOf(mode: number): Entry['type'] {
  if ((mode & KIND) === FOLDER) return 'directory'
  return (mode & KIND) === REGULAR ? 'file' : undefined
}
