/** What `presence_terminal` does, one function an action. */
import { WIDER_MODES } from '@deepseek-ai/dsh-sandbox'
import type { ToolRunContext } from '@deepseek-ai/dsh-tools'
import { pause } from '../base/race.ts'
import { openTerminal } from '../core/commands.ts'
import { FileError } from '../remote/files/errors.ts'
import type { TerminalSignal } from '../remote/process/terminal.ts'
import type { TerminalSize } from '../ssh/channel/exec.ts'
import { boundedText } from './bounded.ts'
import type { ToolDeps } from './deps.ts'
import { ToolCallError } from './errors.ts'
import { NamedTerminal, type ReadEnd, type ReadUntil } from './named-terminal.ts'
import { policyFor, type PermissionArguments } from './permission.ts'
import { shownPlace, targetOf } from './target.ts'
import type { TerminalKey } from './terminal-keys.ts'
import { MOST_TERMINALS } from './terminals.ts'

export const TERMINAL_ACTIONS = ['start', 'write', 'read', 'resize', 'signal', 'close', 'list'] as const

export const TERMINAL_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGKILL', 'SIGTSTP', 'SIGHUP'] as const

export interface TerminalArguments extends PermissionArguments {
  readonly name: string
  readonly command?: string
  readonly host?: string
  readonly workdir?: string
  readonly text?: string
  readonly key?: string
  readonly rows?: number
  readonly cols?: number
  readonly signal?: string
  readonly until: ReadUntil
}

export interface TerminalAnswer {
  /** Which terminal where, and how it stands. */
  readonly head: string
  readonly output: string
}

type Action = (args: TerminalArguments, exec: ToolRunContext) => Promise<TerminalAnswer>

const SIZE = { type: 'xterm-256color', rows: 30, cols: 120 }
const LARGEST_SIDE = 1000
const GRACE_MS = 2000
const SHOWN_CHARACTERS = 30_000
/** How long an answer waits for word of what runs in the foreground. */
const HINT_MS = 1000

const WHY: Readonly<Record<ReadEnd, string>> = {
  marker: '',
  quiet: '',
  timeout: '; the wait was over, read again for more',
  ended: '',
}

export function terminalActions({
  ctx,
  presence,
  terminals,
}: ToolDeps): Record<(typeof TERMINAL_ACTIONS)[number], Action> {
  /** Terminals of calls without an agent are nobody else's either. */
  const ownerOf = (exec: ToolRunContext): object => exec.agent ?? ctx

  const found = (args: TerminalArguments, exec: ToolRunContext): NamedTerminal => {
    const terminal = terminals.get(ownerOf(exec), args.name)
    if (terminal !== undefined) return terminal
    const open = terminals.list(ownerOf(exec)).map((other) => `"${other.name}"`)
    const others = open.length === 0 ? 'none is open' : `open: ${open.join(', ')}`
    throw new ToolCallError(`there is no terminal "${args.name}" (${others}). Begin with action start`)
  }

  const readOf = async (
    terminal: NamedTerminal,
    until: ReadUntil,
    exec: ToolRunContext,
  ): Promise<TerminalAnswer> => {
    const { text, dropped, why } = await terminal.read(until, exec.signal)
    const lost = dropped === 0 ? '' : `… ${dropped} earlier characters were not kept …\n`
    return {
      head: `${await standing(terminal)}${WHY[why]}`,
      output: `${lost}${boundedText(text, SHOWN_CHARACTERS).text}`.replace(/\n+$/, ''),
    }
  }

  return {
    async start(args, exec) {
      const policy = await policyFor(ctx, presence, exec, args, 'command')
      const place = targetOf(presence, exec, { host: args.host, path: args.workdir }, '.')
      const owner = ownerOf(exec)
      const terminal = await terminals.open(owner, args.name, async () => {
        const session = await presence.machine(place.machine).session(exec.signal)
        const shell = session.requireShell().programs.bash === undefined ? 'sh' : 'bash'
        const argv = args.command === undefined ? [shell, '-i'] : [shell, '-c', args.command]
        const remote = await openTerminal(
          presence,
          place,
          { argv, env: {}, size: sizeOf(args), graceMs: GRACE_MS },
          policy,
          exec.signal,
        )
        return new NamedTerminal(args.name, place, args.command ?? shell, policy.mode, remote)
      })
      if (terminal === 'taken') {
        throw new ToolCallError(
          `the terminal "${args.name}" is open already. Use it, close it, or give another name`,
          place.machine,
        )
      }
      if (terminal === 'full') {
        throw new ToolCallError(
          `${MOST_TERMINALS} terminals are open, which is the most. Close one`,
          place.machine,
        )
      }
      return readOf(terminal, args.until, exec)
    },

    async write(args, exec) {
      const terminal = found(args, exec)
      // What is typed acts under the mode the terminal was started with: the session must still have it.
      const { mode } = await policyFor(ctx, presence, exec, args, 'command')
      if (WIDER_MODES[mode]?.includes(terminal.mode) === true) {
        throw new FileError(
          `the terminal "${args.name}" runs under ${terminal.mode} mode, and this call under ${mode}. Give sandbox_permissions "${terminal.mode}" and a justification, or start another terminal`,
          'sandbox-denied',
          { machine: terminal.place.machine },
        )
      }
      if (terminal.end !== undefined) throw gone(terminal)
      await terminal.type(args.text ?? '', (args.key ?? 'enter') as TerminalKey)
      return readOf(terminal, args.until, exec)
    },

    read: (args, exec) => readOf(found(args, exec), args.until, exec),

    async resize(args, exec) {
      const terminal = found(args, exec)
      if (terminal.end !== undefined) throw gone(terminal)
      const { rows, cols } = sizeOf(args)
      terminal.remote.resize(rows, cols)
      return { head: `${await standing(terminal)}; ${rows} lines of ${cols} columns`, output: '' }
    },

    async signal(args, exec) {
      const terminal = found(args, exec)
      if (terminal.end !== undefined) throw gone(terminal)
      const signal = (args.signal ?? 'SIGINT') as TerminalSignal
      const group = await terminal.remote.signalForeground(signal)
      const answer = await readOf(terminal, args.until, exec)
      return { ...answer, head: `${signal} sent to process group ${group}. ${answer.head}` }
    },

    async close(args, exec) {
      const terminal = found(args, exec)
      await terminals.close(ownerOf(exec), args.name)
      const { text } = await terminal.read({ marker: undefined, quietMs: 0, timeoutMs: 0 }, exec.signal)
      return {
        head: `closed "${args.name}" on ${terminal.place.machine}`,
        output: boundedText(text, SHOWN_CHARACTERS).text.replace(/\n+$/, ''),
      }
    },

    async list(_args, exec) {
      const open = terminals.list(ownerOf(exec))
      const lines = await Promise.all(open.map((terminal) => standing(terminal)))
      return { head: lines.length === 0 ? 'no terminal is open' : lines.join('\n'), output: '' }
    },
  }
}

function gone(terminal: NamedTerminal): ToolCallError {
  return new ToolCallError(
    `the terminal "${terminal.name}" has ended (${terminal.end ?? ''}). Read what it printed last, or start it again`,
    terminal.place.machine,
  )
}

async function standing(terminal: NamedTerminal): Promise<string> {
  const about = `terminal "${terminal.name}" (${terminal.command}) in ${shownPlace(terminal.place)}`
  if (terminal.end !== undefined) return `${about}: ${terminal.end}`
  // Only a hint; a machine that cannot tell it, or not soon, is no reason to fail or to wait.
  const foreground = await Promise.race([
    terminal.remote.foreground().catch((_unknown: unknown) => undefined),
    pause(HINT_MS).then(() => undefined),
  ])
  return `${about}: ${foreground?.inputWaiting === true ? 'waits for input' : 'running'}`
}

function sizeOf(args: { readonly rows?: number; readonly cols?: number }): TerminalSize {
  const side = (given: number | undefined, otherwise: number): number =>
    Math.min(Math.max(given ?? otherwise, 1), LARGEST_SIDE)
  return { ...SIZE, rows: side(args.rows, SIZE.rows), cols: side(args.cols, SIZE.cols) }
}
