/** Boots `dsh web` of a DSH home and waits until it serves. */
import { createInterface } from 'node:readline'
import { startChild } from '../project/children.ts'
import type { DshHome } from './dsh-home.ts'
import { rpc } from './rpc.ts'

export interface WebHost {
  /** Address of the page, without a trailing slash. */
  readonly url: string
  /** Settles with the reason when DSH ends, whoever ended it. */
  readonly ended: Promise<string>
  rpc<Result>(method: string, payload?: object): Promise<Result>
  /** What DSH has printed so far, both streams. */
  output(): string
  stop(): Promise<void>
  /** End it as a crash does: at once, without a farewell. */
  kill(): Promise<void>
}

export interface WebOptions {
  /** 0, the default: a free port. */
  readonly port?: number
  readonly cwd?: string
}

const BOOT_DEADLINE_MS = 120_000

/** @throws with DSH's own output when it ends before it serves; a taken port is named. */
export async function startWeb(
  home: Pick<DshHome, 'folder' | 'dsh' | 'env'>,
  options: WebOptions = {},
): Promise<WebHost> {
  const port = options.port ?? 0
  const child = await startChild([...home.dsh, 'web', '--no-open', '--port', String(port)], {
    cwd: options.cwd ?? home.folder,
    env: home.env,
  })
  const lines: string[] = []
  const ended = child.ended.then(({ code, signal }) => signal ?? `exit code ${String(code)}`)
  const served = new Promise<string>((resolve) => {
    for (const stream of [child.process.stdout, child.process.stderr]) {
      if (stream === null) continue
      createInterface(stream).on('line', (line) => {
        lines.push(line)
        const url = /^dsh web: (http:\/\/\S+?)\/?$/.exec(line)?.[1]
        if (url !== undefined) resolve(url)
      })
    }
  })
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), BOOT_DEADLINE_MS)
  })
  const url = await Promise.race([served, late, ended.then(() => undefined)])
  clearTimeout(timer)
  if (url === undefined) {
    await child.stop()
    throw new Error(failureText(port, lines.join('\n')))
  }
  return {
    url,
    ended,
    rpc: (method, payload) => rpc(url, method, payload),
    output: () => lines.join('\n'),
    stop: () => child.stop(),
    kill: async () => {
      child.process.kill('SIGKILL')
      await ended
    },
  }
}

function failureText(port: number, output: string): string {
  if (output.includes('EADDRINUSE'))
    return `port ${port} is in use by another program; choose one with --port`
  return `dsh web did not start; it printed:\n${output}`
}
