/**
 * Runs one of our own short scripts on a machine and takes the lines that it marks; whatever login scripts
 * print before, after, beside or between them never enters the answer.
 */
import { race } from '../../base/race.ts'
import type { Exec } from '../../ssh/connection/link.ts'
import { LinkLostError } from '../../ssh/errors.ts'
import type { Start } from './command-line.ts'
import { randomMark } from './marked.ts'
import { openScript } from './open-script.ts'

/** A script that took so much longer than any small request may take is reported instead of waited for. */
const LONGER_MS = 5000
const LONGEST_ANSWER = 256 * 1024
/** What is kept of either stream when there is no answer, in bytes. */
const KEPT = 4096

export type MarkedAnswer =
  | { readonly kind: 'answer'; readonly lines: readonly string[] }
  /** The script did not run to its end; `said` is the first line of what came instead, empty when nothing came. */
  | { readonly kind: 'none'; readonly said: string }

/**
 * @param start - makes the command line for a mark.
 * @throws ChannelError when the server runs no commands; LinkLostError when it does not end in time.
 */
export async function askMarked(
  exec: Exec,
  start: (mark: string) => Start,
  signal: AbortSignal | undefined,
): Promise<MarkedAnswer> {
  const mark = randomMark()
  const { output, errors } = await runToEnd(exec, start(mark), signal)
  return markedLines(output, mark, errors)
}

/** Whether the login shell runs anything at all: every one, also those of Windows, prints a plain word. */
export async function printsAWord(exec: Exec, signal: AbortSignal | undefined): Promise<boolean> {
  const mark = randomMark()
  const { output } = await runToEnd(exec, { commandLine: `echo ${mark}`, preamble: '' }, signal)
  return output.includes(mark)
}

async function runToEnd(
  exec: Exec,
  start: Start,
  signal: AbortSignal | undefined,
): Promise<{ readonly output: string; readonly errors: string }> {
  const channel = await openScript(exec, start, { signal })
  const { owner } = channel
  const { machine, dead, requestMs } = owner
  channel.stdin.end()
  const output = collect(channel.stdout, LONGEST_ANSWER)
  const errors = collect(channel.stderr, KEPT)
  const answerMs = requestMs + LONGER_MS
  let verdict: Promise<void> | undefined
  await race(() => channel.closed, [], {
    afterMs: answerMs,
    error: () => {
      channel.close()
      verdict = owner.suspect(answerMs)
      const reason = `the login shell did not finish a probe within ${answerMs / 1000} s`
      return new LinkLostError(reason, { machine })
    },
  }).catch(async (error: unknown) => {
    // Whoever hears of it may try again at once: by then it is known whether the line is dead.
    await verdict
    throw error
  })
  dead.throwIfAborted()
  return { output: output(), errors: errors() }
}

/** @param errors - the other stream, looked at for an explanation alone. */
export function markedLines(output: string, mark: string, errors: string): MarkedAnswer {
  const lines = output
    .split(mark)
    .slice(1)
    .map((piece) => piece.split('\n', 1)[0] ?? '')
  if (lines.at(-1) === 'end') return { kind: 'answer', lines: lines.slice(0, -1) }
  const said = `${output}\n${errors}`.split(/\r?\n/).find((line) => line.trim() !== '')
  return { kind: 'none', said: said?.trim().slice(0, 200) ?? '' }
}

function collect(stream: NodeJS.ReadableStream, limit: number): () => string {
  const chunks: Buffer[] = []
  let bytes = 0
  stream.on('data', (chunk: Buffer) => {
    if (bytes < limit) chunks.push(chunk)
    bytes += chunk.length
  })
  return () => Buffer.concat(chunks).toString('utf8')
}
