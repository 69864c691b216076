/** rclone with its SFTP backend: a process and a connection of its own for each piece of work. */
import { run } from '../../project/children.ts'
import { findProgram } from '../../project/programs.ts'
import type { BenchServer } from '../server.ts'
import type { Client, Entry } from './client.ts'
import { Missing } from './missing.ts'

interface Listed {
  readonly Name: string
  readonly Size: number
  readonly IsDir: boolean
}

/** @throws Missing. */
export function rclone(server: BenchServer): Client {
  if (findProgram('rclone') === undefined) throw new Missing('rclone', 'there is no rclone program')
  return new Rclone(server)
}

class Rclone implements Client {
  readonly who = 'rclone'
  readonly note = 'a process and a connection for each; writes in place'
  readonly #env: NodeJS.ProcessEnv

  constructor(server: BenchServer) {
    this.#env = {
      ...process.env,
      RCLONE_CONFIG: '/dev/null',
      RCLONE_CONFIG_BENCH_TYPE: 'sftp',
      RCLONE_CONFIG_BENCH_HOST: server.host,
      RCLONE_CONFIG_BENCH_PORT: String(server.port),
      RCLONE_CONFIG_BENCH_USER: server.user,
      RCLONE_CONFIG_BENCH_KEY_FILE: server.identityFile,
      RCLONE_CONFIG_BENCH_KNOWN_HOSTS_FILE: server.knownHostsFile,
      // It finds that out by itself and keeps it in its configuration, which is not there.
      RCLONE_CONFIG_BENCH_SHELL_TYPE: 'unix',
    }
  }

  async stat(file: string): Promise<number> {
    return (JSON.parse(await this.#run(['lsjson', '--stat', bench(file)])) as Listed).Size
  }

  async read(file: string): Promise<Buffer> {
    return Buffer.from(await this.#run(['cat', bench(file)]))
  }

  async write(file: string, content: string): Promise<void> {
    await this.#run(['rcat', bench(file)], content)
  }

  async list(folder: string): Promise<Entry[]> {
    const listed = JSON.parse(await this.#run(['lsjson', bench(folder)])) as Listed[]
    return listed.map(({ Name, IsDir }) => ({ name: Name, type: IsDir ? 'directory' : 'file' }))
  }

  async pull(file: string, into: string): Promise<void> {
    await this.#run(['copyto', bench(file), into])
  }

  async push(from: string, file: string): Promise<void> {
    await this.#run(['copyto', from, bench(file)])
  }

  async stop(): Promise<void> {}

  async #run(words: readonly string[], input?: string): Promise<string> {
    const argv = ['rclone', ...words]
    const options = { env: this.#env, ...(input === undefined ? {} : { input }) }
    const { code, stdout, stderr } = await run(argv, options)
    if (code !== 0) throw new Error(`${argv.join(' ')}: ${stderr.trim()}`)
    return stdout
  }
}

function bench(path: string): string {
  return `bench:${path}`
}
