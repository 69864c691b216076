/**
 * The `sftp` program of OpenSSH over a master's connection, at its best: one process and one channel for
 * everything, to which a person types one command after another.
 */
import { once } from 'node:events'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { createInterface, type Interface } from 'node:readline'
import type { Writable } from 'node:stream'
import { startChild, type Child } from '../../project/children.ts'
import type { Master } from '../clients.ts'
import type { BenchServer } from '../server.ts'
import type { Client, Entry } from './client.ts'

/** It knows the answer to that, and shows each command when it begins with it: the one before is done. */
const DONE = 'lpwd'
const PROMPT = 'sftp> '

/** @param local - a path on this computer for what is on its way. */
export async function startSftp(server: BenchServer, master: Master, local: string): Promise<Client> {
  const child = await startChild(['sftp', ...master.options, server.alias], { stdin: 'pipe' })
  const { stdin, stdout } = child.process
  if (stdin === null || stdout === null) throw new Error('sftp has no input or output')
  const sftp = new SftpCommands(child, stdin, createInterface(stdout), local)
  await sftp.begin()
  return sftp
}

class SftpCommands implements Client {
  readonly who = 'sftp, ControlMaster'
  readonly #child: Child
  readonly #input: Writable
  readonly #output: Interface
  readonly #local: string
  readonly #ended: Promise<never>

  constructor(child: Child, input: Writable, output: Interface, local: string) {
    this.#child = child
    this.#input = input
    this.#output = output
    this.#local = local
    let said = ''
    child.process.stderr?.on('data', (chunk: Buffer) => (said = `${said}${chunk}`.slice(-1000)))
    this.#ended = child.ended.then(() => Promise.reject(new Error(`sftp has ended: ${said.trim()}`)))
    this.#ended.catch((_stoppedLater: unknown) => undefined)
  }

  async begin(): Promise<void> {
    await this.#run()
  }

  async stat(file: string): Promise<number> {
    const [line = ''] = await this.#run(`ls -ln ${file}`)
    return Number(line.split(/\s+/)[4])
  }

  async read(file: string): Promise<Buffer> {
    await this.pull(file, this.#local)
    return readFile(this.#local)
  }

  async write(file: string, content: string): Promise<void> {
    await writeFile(this.#local, content)
    await this.#run(`put -f ${this.#local} ${file}.tmp`, `rename ${file}.tmp ${file}`)
  }

  async edit(file: string, before: string, after: string): Promise<void> {
    await this.write(file, (await this.read(file)).toString('utf8').replace(before, after))
  }

  async list(folder: string): Promise<Entry[]> {
    const lines = await this.#run(`ls -ln ${folder}`)
    return lines.map((line) => ({ name: line.slice(line.lastIndexOf('/') + 1), type: KINDS[line[0] ?? ''] }))
  }

  async pull(file: string, into: string): Promise<void> {
    await this.#run(`get ${file} ${into}`)
  }

  async push(from: string, file: string): Promise<void> {
    await this.#run(`put ${from} ${file}`)
  }

  async stop(): Promise<void> {
    await this.#child.stop()
    await rm(this.#local, { force: true })
  }

  /** @returns what the commands printed. */
  #run(...commands: readonly string[]): Promise<string[]> {
    const answered = new Promise<string[]>((resolve) => {
      const lines: string[] = []
      const take = (line: string): void => {
        if (line !== PROMPT + DONE) return void (line.startsWith(PROMPT) || lines.push(line))
        this.#output.off('line', take)
        // Its answer comes next, and belongs to nobody.
        void once(this.#output, 'line').then(() => resolve(lines))
      }
      this.#output.on('line', take)
    })
    this.#input.write([...commands, DONE, ''].join('\n'))
    return Promise.race([answered, this.#ended])
  }
}

/** By the first letter of a long listing; a link is not followed. */
const KINDS: Readonly<Record<string, Entry['type']>> = { d: 'directory', '-': 'file' }
