/**
 * Runs one local program to its end, without a shell, with a time limit that reaches all it has started.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { messageOf, systemCode } from '../../base/failure.ts'
import { callerLeaves, pause, race } from '../../base/race.ts'
import type { LocalFacts } from './facts.ts'
import { ConfigProblem } from './problem.ts'

export interface Ended {
  /** null when a signal ended it. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunLimits {
  readonly facts: LocalFacts
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
}

/** What is kept of each output; the rest is read and dropped. */
const MOST_OUTPUT = 1 << 20

/** How long outputs are read after the end, when they do not end too. */
const DRAIN_MS = 250

/**
 * Standard input is empty. On cancel and at the limit the whole process group is killed; what the program
 * leaves behind when it ends by itself is left alone.
 * @throws ConfigProblem when it cannot be started or does not end in time, CancelledError.
 */
export async function runProgram(
  file: string,
  args: readonly string[],
  { facts, timeoutMs, signal }: RunLimits,
): Promise<Ended> {
  const posix = facts.platform !== 'win32'
  let kill = (): void => undefined
  const run = async (): Promise<Ended> => {
    const child = spawn(file, args, {
      env: facts.env,
      // A group of its own has no terminal either, so that nothing it starts can wait for one.
      detached: posix,
      windowsHide: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    kill = () => (posix ? killGroup(child.pid) : void child.kill('SIGKILL'))
    const stdout = collect(child.stdout)
    const stderr = collect(child.stderr)
    try {
      const [code] = (await once(child, 'exit')) as [number | null]
      const open = [child.stdout, child.stderr].filter((stream) => !stream.readableEnded)
      const drained = Promise.all(open.map((stream) => once(stream, 'end')))
      // A process left in the background may hold the outputs open for as long as it lives.
      await Promise.race([drained, pause(DRAIN_MS)])
      return { code, stdout: stdout(), stderr: stderr() }
    } catch (error) {
      throw new ConfigProblem(`${file} cannot be run: ${messageOf(error)}`, { cause: error })
    } finally {
      child.stdout.destroy()
      child.stderr.destroy()
    }
  }
  const tooSlow = (): Error => new ConfigProblem(`${file} did not end within ${timeoutMs / 1000} s`)
  try {
    return await race(run, callerLeaves(signal, file), { afterMs: timeoutMs, error: tooSlow })
  } catch (error) {
    kill()
    throw error
  }
}

function collect(stream: NodeJS.ReadableStream): () => string {
  const chunks: Buffer[] = []
  let size = 0
  stream.on('data', (chunk: Buffer) => {
    if (size < MOST_OUTPUT) chunks.push(chunk)
    size += chunk.length
  })
  return () => Buffer.concat(chunks).toString('utf8')
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    // It may have ended just now.
    if (systemCode(error) !== 'ESRCH') throw error
  }
}
