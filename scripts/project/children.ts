/**
 * Child processes of the scripts and rigs. Each one leads a process group of its own, so that ending
 * it ends what it started, and none of them outlives this process.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { atTheEnd } from './endings.ts'
import { processTable } from './process-table.ts'

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface Outcome extends Exit {
  readonly stdout: string
  readonly stderr: string
}

export interface ChildOptions {
  readonly cwd?: string
  readonly env?: NodeJS.ProcessEnv
  /** What the child gets to read; its standard input is empty otherwise. */
  readonly input?: string
  /** `pipe`: its standard input stays open, for the caller to write to. */
  readonly stdin?: 'pipe'
  /** `pipe` (the default): for the caller to read; `inherit`: onto this process's own output. */
  readonly output?: 'pipe' | 'inherit'
}

export interface RunOptions extends ChildOptions {
  /** Milliseconds after which the child is ended and the call fails. */
  readonly timeoutMs?: number
}

export interface Child {
  readonly pid: number
  readonly process: ChildProcess
  /** Settles once the child has ended; never rejects. */
  readonly ended: Promise<Exit>
  /** SIGTERM to the whole group, SIGKILL to what is left after the grace. Idempotent. */
  stop(graceMs?: number): Promise<void>
}

/**
 * Start a child in its own process group.
 * @throws when it cannot be started (no such program, no such folder), with the program's name.
 */
export async function startChild(argv: readonly string[], options: ChildOptions = {}): Promise<Child> {
  const [command, ...args] = argv
  const output = options.output ?? 'pipe'
  if (command === undefined) throw new Error('a command to start is needed')
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: options.env ?? process.env,
    stdio: [options.input === undefined ? (options.stdin ?? 'ignore') : 'pipe', output, output],
    detached: process.platform !== 'win32',
  })
  const ended = new Promise<Exit>((resolve) =>
    child.once('exit', (code, signal) => resolve({ code, signal })),
  )
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', (cause) => reject(new Error(`${command} could not be started`, { cause })))
  })
  child.on('error', (late) => console.error(`presence: ${command}:`, late))
  const pid = child.pid
  if (pid === undefined) throw new Error(`${command} was started without a process id`)
  if (options.input !== undefined) {
    // A child that ends without reading its input is not a failure of ours.
    child.stdin?.on('error', (_unread) => undefined)
    child.stdin?.end(options.input)
  }
  const forget = atTheEnd({
    release: () => stop(),
    atExit: () => void signalGroup(pid, 'SIGKILL'),
  })
  void ended.then(() => (signalGroup(pid, 0) ? undefined : forget()))

  const stop = async (graceMs = 5000): Promise<void> => {
    if (signalGroup(pid, 'SIGTERM')) {
      const gone = await groupIsGone(pid, graceMs)
      if (!gone) {
        signalGroup(pid, 'SIGKILL')
        await groupIsGone(pid, 2000)
      }
    }
    forget()
  }
  return { pid, process: child, ended, stop }
}

/** Run a child to its end and collect what it prints. */
export async function run(argv: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  const child = await startChild(argv, options)
  const [out, err] = [collect(child.process.stdout), collect(child.process.stderr)]
  let late = false
  let stopping: Promise<void> | undefined
  const timer =
    options.timeoutMs === undefined
      ? undefined
      : setTimeout(() => {
          late = true
          stopping = child.stop(1000)
        }, options.timeoutMs)
  const exit = await child.ended
  clearTimeout(timer)
  await stopping
  const [stdout, stderr] = await Promise.all([out, err])
  if (late) {
    throw new Error(`${argv.join(' ')}: not finished after ${options.timeoutMs} ms\n${stdout}${stderr}`)
  }
  return { ...exit, stdout, stderr }
}

/**
 * Run a child with this process's own output.
 * @throws when it does not end with exit code 0.
 */
export async function runVisibly(argv: readonly string[], options: ChildOptions = {}): Promise<void> {
  const exit = await runInSight(argv, options)
  if (exit.code !== 0) {
    throw new Error(`${argv.join(' ')} ended with ${exit.signal ?? `exit code ${String(exit.code)}`}`)
  }
}

/** As `runVisibly`, for a caller who judges the exit code. */
export async function runInSight(argv: readonly string[], options: ChildOptions = {}): Promise<Exit> {
  const child = await startChild(argv, { ...options, output: 'inherit' })
  return child.ended
}

async function collect(stream: NodeJS.ReadableStream | null): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of stream ?? []) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString('utf8')
}

/** @returns false when the group has no process any more. Signal 0 only asks. */
function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(process.platform === 'win32' ? pid : -pid, signal)
  } catch (failure) {
    if ((failure as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw failure
  }
}

async function groupIsGone(pid: number, withinMs: number): Promise<boolean> {
  const until = Date.now() + withinMs
  while (await groupLives(pid)) {
    if (Date.now() > until) return false
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  return true
}

/** Members that have ended and only wait to be collected by their parent do not count. */
async function groupLives(pid: number): Promise<boolean> {
  if (!signalGroup(pid, 0)) return false
  if (process.platform === 'win32') return true
  return (await processTable()).some((entry) => entry.group === pid && !entry.ended)
}
