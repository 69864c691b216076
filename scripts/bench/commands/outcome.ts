/** A command of ours, waited for as the host waits for it. */
import type { Readable } from 'node:stream'
import type { ExitFacts } from '../../../src/ssh/channel/exec.ts'

/** Both a command and a search. */
interface Running {
  readonly stdout: Readable
  readonly stderr: Readable
  readonly done: Promise<ExitFacts>
}

export interface Outcome extends ExitFacts {
  readonly stdout: string
  readonly stderr: string
}

/** How long the host's tools let a command end by itself. */
export const GRACE_MS = 3000

/** Its end, with all that it printed. */
export async function outcomeOf(running: Running): Promise<Outcome> {
  const [stdout, stderr, exit] = await Promise.all([
    textOf(running.stdout),
    textOf(running.stderr),
    running.done,
  ])
  return { ...exit, stdout, stderr }
}

async function textOf(stream: Readable): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}
