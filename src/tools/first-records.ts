/** The first records that a program prints: enough of them, and the program is ended. */
import type { Readable } from 'node:stream'

/** A record that is longer is cut; no line of a text is. */
const LONGEST_RECORD = 32 * 1024 * 1024

export interface FirstRecords<T> {
  readonly results: readonly T[]
  /** The program would have printed more of them. */
  readonly more: boolean
}

/**
 * Read records until `most` of them are results, then call `enough` and read no more.
 * @param separator - the byte that ends a record.
 * @param parse - undefined for a record that is no result. `cut`: the record's end is missing.
 * @returns a function that gives what was found; to be called when the stream has ended.
 */
export function firstRecords<T>(
  stream: Readable,
  options: {
    readonly separator: number
    readonly most: number
    readonly parse: (record: string, cut: boolean) => T | undefined
    readonly enough: () => void
  },
): () => FirstRecords<T> {
  const { separator, most, parse, enough } = options
  const results: T[] = []
  let parts: Buffer[] = []
  let length = 0
  let more = false
  const finish = (): void => {
    const cut = length > LONGEST_RECORD
    const result = parse(Buffer.concat(parts).toString('utf8'), cut)
    parts = []
    length = 0
    if (result === undefined) return
    if (results.length < most) results.push(result)
    else {
      more = true
      enough()
    }
  }
  stream.on('data', (chunk: Buffer) => {
    let from = 0
    while (!more) {
      const end = chunk.indexOf(separator, from)
      const part = chunk.subarray(from, end < 0 ? undefined : end)
      if (length <= LONGEST_RECORD) parts.push(part)
      length += part.length
      if (end < 0) return
      finish()
      from = end + 1
    }
  })
  return () => {
    if (!more && length > 0) finish()
    return { results, more }
  }
}
