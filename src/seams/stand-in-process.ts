/** Processes that never were, for handles that must be there all the same: one that fails, one that says a few words and ends. */
import { PassThrough, Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import type { SubprocessOutputMode } from '@deepseek-ai/dsh-subprocess'
import type { ProcessLike } from './remote-handle.ts'
import type { ToldFailure } from './told-failure.ts'

/** Its failure is all there is to tell. */
export function failedProcess(error: Error): ProcessLike {
  return { ...nothing(), stderr: new PassThrough().end(), done: Promise.reject(error) }
}

/** @param mode - where the words go; the process has ended once they are there. */
export function answeredProcess({ text, exitCode }: ToldFailure, mode: SubprocessOutputMode): ProcessLike {
  const stderr = Readable.from([Buffer.from(text)])
  const facts = { exitCode, signal: null }
  // Piped words wait in the stream for whoever reads it, and perhaps nobody does.
  const done = mode === 'pipe' ? Promise.resolve(facts) : finished(stderr).then(() => facts)
  return { ...nothing(), stderr, done }
}

function nothing(): Omit<ProcessLike, 'stderr' | 'done'> {
  return {
    stdin: undefined,
    stdout: new PassThrough().end(),
    terminate: () => undefined,
    awaitGroup: () => Promise.resolve(true),
  }
}
