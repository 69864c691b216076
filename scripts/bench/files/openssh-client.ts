/** The `ssh` program over a master's connection: each piece of work is a command of its own. */
import { run } from '../../project/children.ts'
import type { Master } from '../clients.ts'
import type { BenchServer } from '../server.ts'
import type { Client, Entry } from './client.ts'

export class SshCommands implements Client {
  readonly who = 'ssh, ControlMaster'
  readonly note = 'a process for each'
  readonly #argv: readonly string[]

  /** The master stays its starter's. */
  constructor(server: BenchServer, master: Master) {
    this.#argv = ['ssh', ...master.options, server.alias]
  }

  async stat(file: string): Promise<number> {
    return Number(await this.#run(`stat -L -c %s ${word(file)}`))
  }

  async lstat(file: string): Promise<number> {
    return Number(await this.#run(`stat -c %s ${word(file)}`))
  }

  async realpath(file: string): Promise<string> {
    return (await this.#run(`realpath ${word(file)}`)).trimEnd()
  }

  async read(file: string): Promise<Buffer> {
    return Buffer.from(await this.#run(`cat ${word(file)}`))
  }

  async write(file: string, content: string): Promise<void> {
    await this.#run(inOneStep('cat', file), content)
  }

  async edit(file: string, before: string, after: string): Promise<void> {
    await this.#run(inOneStep(`sed ${word(`s/${before}/${after}/`)} ${word(file)}`, file))
  }

  async list(folder: string): Promise<Entry[]> {
    const found = await this.#run(`find ${word(folder)} -mindepth 1 -maxdepth 1 -printf '%Y %f\\n'`)
    return found
      .trimEnd()
      .split('\n')
      .map((line) => ({ name: line.slice(2), type: line.startsWith('d') ? 'directory' : 'file' }))
  }

  async poll(files: readonly string[]): Promise<number> {
    return (await this.#run(`stat -L -c %.9Y ${files.map(word).join(' ')}`)).trimEnd().split('\n').length
  }

  async pull(file: string, into: string): Promise<void> {
    await succeed(['sh', '-c', 'exec "$@" > "$0"', into, ...this.#argv, `cat ${word(file)}`])
  }

  async push(from: string, file: string): Promise<void> {
    await succeed(['sh', '-c', 'exec "$@" < "$0"', from, ...this.#argv, `cat > ${word(file)}`])
  }

  async stop(): Promise<void> {}

  #run(command: string, input?: string): Promise<string> {
    return succeed([...this.#argv, command], input)
  }
}

/** A new file with what a command writes, in the place of the old one. */
function inOneStep(command: string, file: string): string {
  const temporary = word(`${file}.tmp`)
  return `${command} > ${temporary} && sync ${temporary} && mv ${temporary} ${word(file)}`
}

/** The paths of the bench have no quotes in them. */
function word(text: string): string {
  return `'${text}'`
}

async function succeed(argv: readonly string[], input?: string): Promise<string> {
  const { code, stdout, stderr } = await run(argv, input === undefined ? {} : { input })
  if (code !== 0) throw new Error(`${argv.join(' ')}: ${stderr.trim()}`)
  return stdout
}
