/**
 * What one machine can do, probed once a connection. Commands and SFTP are independent of each other:
 * an account may have only one of them. Facts only; what to do without them is decided elsewhere.
 */
import { startScript, loginShellOf, type LoginShell } from './shell/command-line.ts'
import { randomMark } from './shell/marked.ts'
import { PROBE } from './shell/scripts.ts'
import { ChannelError } from '../ssh/errors.ts'
import type { Exec } from '../ssh/connection/link.ts'
import { race } from '../base/race.ts'
import { LinkLostError } from '../ssh/errors.ts'

/** How `stat` prints nanoseconds there: GNU's `-c %.9Y`, BSD's `-f %Fm`, whole seconds only, or no stat. */
export type StatFlavour = 'gnu' | 'bsd' | 'plain' | 'none'

export interface Shell {
  readonly loginShell: LoginShell
  /** Physical path of the login folder. */
  readonly home: string
  readonly os: string
  readonly user: string
  readonly uid: number
  /** Physical path of the temporary folder, e.g. `/tmp`. */
  readonly tmp: string
  readonly stat: StatFlavour
  /** A use of bubblewrap with the profile we need succeeded. */
  readonly bwrap: boolean
  /** Absolute paths of programs, where the machine has them. */
  readonly programs: Readonly<Record<'bash' | 'rg' | 'git' | 'setsid' | 'find', string | undefined>>
}

export type ShellAnswer =
  | { readonly kind: 'shell'; readonly shell: Shell }
  /** Commands cannot be run; `reason` is for a person. */
  | { readonly kind: 'none'; readonly reason: string }

/** A probe that took longer than this is reported instead of waited for. */
const PROBE_MS = 20_000
const LONGEST_ANSWER = 256 * 1024

/** @throws LinkLostError when the connection dies or the probe does not answer. */
export async function probeShell(
  machine: string,
  exec: Exec,
  signal: AbortSignal | undefined,
): Promise<ShellAnswer> {
  const mark = randomMark()
  const start = startScript(PROBE, [mark], 'unknown')
  try {
    const channel = await exec(start.commandLine, { signal })
    channel.stdin.end(start.preamble)
    const output: Buffer[] = []
    let bytes = 0
    channel.stdout.on('data', (chunk: Buffer) => {
      if (bytes < LONGEST_ANSWER) output.push(chunk)
      bytes += chunk.length
    })
    const errors: Buffer[] = []
    channel.stderr.on('data', (chunk: Buffer) => errors.length < 16 && errors.push(chunk))
    await race(() => channel.closed, [], {
      afterMs: PROBE_MS,
      error: () => {
        channel.close()
        return new LinkLostError(`the login shell did not finish a probe within ${PROBE_MS / 1000} s`, {
          machine,
        })
      },
    })
    if (channel.owner.dead.aborted) throw channel.owner.dead.reason
    return parseProbe(Buffer.concat(output).toString('utf8'), mark, Buffer.concat(errors).toString('utf8'))
  } catch (error) {
    if (error instanceof ChannelError && error.code === 'no-exec')
      return { kind: 'none', reason: error.message }
    throw error
  }
}

/** Read the lines between the marks; anything else that was printed is not looked at. */
export function parseProbe(output: string, mark: string, errorOutput: string): ShellAnswer {
  const begin = output.indexOf(`${mark}\n`)
  const end = begin < 0 ? -1 : output.indexOf(mark, begin + mark.length)
  if (end < 0) {
    const said = `${output}\n${errorOutput}`.split('\n').find((line) => line.trim() !== '')
    return {
      kind: 'none',
      reason:
        said === undefined
          ? 'this account runs no commands (its login shell ended without a word)'
          : `this account runs no commands; it says: ${said.trim().slice(0, 200)}`,
    }
  }
  const facts = new Map<string, string>()
  for (const line of output.slice(begin + mark.length + 1, end).split('\n')) {
    const equals = line.indexOf('=')
    if (equals > 0) facts.set(line.slice(0, equals), line.slice(equals + 1))
  }
  const text = (key: string): string => facts.get(key) ?? ''
  const program = (key: string): string | undefined => (text(key).startsWith('/') ? text(key) : undefined)
  const stat = text('stat')
  return {
    kind: 'shell',
    shell: {
      loginShell: loginShellOf(text('shell')),
      home: text('home') || '/',
      os: text('os') || 'unknown',
      user: text('user'),
      uid: Number.parseInt(text('uid'), 10),
      tmp: text('tmp') || '/tmp',
      stat: stat === 'gnu' || stat === 'bsd' || stat === 'plain' ? stat : 'none',
      bwrap: text('bwrap') === 'yes',
      programs: {
        bash: program('bash'),
        rg: program('rg'),
        git: program('git'),
        setsid: program('setsid'),
        find: program('find'),
      },
    },
  }
}
