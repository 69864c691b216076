/**
 * Ripgrep's list of files in the order of their last change, without its own `--sort=modified`: up to version 13 it
 * looks at every file of the tree for that (measured: 0.2 s for 20,000 files, of which 40 were wanted), alone and one
 * after another. Here ripgrep lists with all processors, the machine's `stat` tells the times of what it found, and
 * the order is made where it is read.
 */
import type { Readable } from 'node:stream'
import { LISTED_TIMES } from '../shell/scripts.ts'
import type { MachineSession } from '../session.ts'

const SORT = '--sort=modified'

/**
 * @param argv - ripgrep's.
 * @returns what to run instead, whose output is for `inOrderOfTime`; undefined where ripgrep itself has to do it.
 */
export function timesArgv(argv: readonly string[], { shell }: MachineSession): string[] | undefined {
  const [program, ...words] = argv
  const separator = words.indexOf('--')
  const options = separator < 0 ? words : words.slice(0, separator)
  const asked = options.includes('--files') && options.includes(SORT) && !options.includes('--null')
  if (!asked || program === undefined || shell?.stat !== 'gnu' || shell.find !== 'gnu') return undefined
  const others = options.filter((option) => option !== SORT)
  const operands = words.slice(options.length)
  return ['/bin/sh', '-c', LISTED_TIMES, 'sh', program, '--null', ...others, ...operands]
}

interface Listed {
  readonly seconds: number
  readonly nanoseconds: number
  readonly path: Buffer
}

/** @returns a line for each file, the one that was changed first before the others; of one time, by their paths. */
export async function inOrderOfTime(output: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of output) chunks.push(chunk as Buffer)
  const all = Buffer.concat(chunks)
  const listed: Listed[] = []
  for (let from = 0; from < all.length;) {
    const end = all.indexOf(0, from)
    if (end < 0) break
    const [, seconds = '', nanoseconds = ''] =
      /^(-?\d+)\.(\d+) /.exec(all.toString('latin1', from, Math.min(end, from + 32))) ?? []
    const path = all.subarray(from + seconds.length + nanoseconds.length + 2, end)
    listed.push({ seconds: Number(seconds), nanoseconds: Number(nanoseconds), path })
    from = end + 1
  }
  listed.sort(
    (a, b) => a.seconds - b.seconds || a.nanoseconds - b.nanoseconds || Buffer.compare(a.path, b.path),
  )
  const end = Buffer.from('\n')
  return Buffer.concat(listed.flatMap(({ path }) => [path, end]))
}
