/**
 * Reads tar archives as package managers write them, and replaces one file in one (ustar with the pax
 * and GNU long names; IEEE Std 1003.1 "pax", section ustar Interchange Format).
 */

export interface TarFile {
  readonly path: string
  readonly content: Buffer
  /** Offset of the file's own header block. */
  readonly header: number
}

const BLOCK = 512
const NAME_BYTES = 100
const SIZE = { at: 124, length: 12 }
const CHECKSUM = { at: 148, length: 8 }
const TYPE_AT = 156
const PREFIX = { at: 345, length: 155 }

export class TarError extends Error {}

/** The regular files of an archive. @throws TarError when it is cut off or its checksums do not fit. */
export function filesOf(archive: Buffer): TarFile[] {
  const files: TarFile[] = []
  let longName: string | undefined
  let ended = false
  for (let at = 0; at + BLOCK <= archive.length && !ended;) {
    const header = archive.subarray(at, at + BLOCK)
    ended = header.every((byte) => byte === 0)
    if (ended) break
    const size = numberIn(header, SIZE.at, SIZE.length)
    if (numberIn(header, CHECKSUM.at, CHECKSUM.length) !== checksum(header)) {
      throw new TarError(`the header at byte ${at} is damaged`)
    }
    const content = archive.subarray(at + BLOCK, at + BLOCK + size)
    if (content.length < size) throw new TarError('it is cut off')
    const type = String.fromCharCode(header[TYPE_AT] ?? 0)
    if (type === 'x') longName = paxPath(content) ?? longName
    else if (type === 'L') longName = textIn(content, 0, size)
    else {
      if (type === '0' || type === '\0') files.push({ path: longName ?? nameIn(header), content, header: at })
      longName = undefined
    }
    at += BLOCK + padded(size)
  }
  if (!ended) throw new TarError('it has no end')
  return files
}

/** A copy of the archive in which one file has another content. */
export function withContent(archive: Buffer, path: string, content: Buffer): Buffer {
  const file = filesOf(archive).find((one) => one.path === path)
  if (file === undefined) throw new TarError(`it has no ${path}`)
  const header = Buffer.from(archive.subarray(file.header, file.header + BLOCK))
  writeNumber(header, SIZE, content.length)
  writeNumber(header, CHECKSUM, checksum(header))
  const padding = Buffer.alloc(padded(content.length) - content.length)
  const rest = archive.subarray(file.header + BLOCK + padded(file.content.length))
  return Buffer.concat([archive.subarray(0, file.header), header, content, padding, rest])
}

function nameIn(header: Buffer): string {
  const name = textIn(header, 0, NAME_BYTES)
  const prefix = textIn(header, PREFIX.at, PREFIX.length)
  return prefix === '' ? name : `${prefix}/${name}`
}

/** "27 path=package/…\n" among the records of an extended header. */
function paxPath(records: Buffer): string | undefined {
  return /(?:^|\n)\d+ path=([^\n]*)\n/.exec(records.toString('utf8'))?.[1]
}

function textIn(bytes: Buffer, at: number, length: number): string {
  const text = bytes.toString('utf8', at, at + length)
  const end = text.indexOf('\0')
  return end < 0 ? text : text.slice(0, end)
}

function numberIn(header: Buffer, at: number, length: number): number {
  const digits = textIn(header, at, length).trim()
  if (!/^[0-7]+$/.test(digits)) throw new TarError(`"${digits}" is no number of a tar header`)
  return Number.parseInt(digits, 8)
}

function writeNumber(header: Buffer, field: { at: number; length: number }, value: number): void {
  header.write(`${value.toString(8).padStart(field.length - 1, '0')}\0`, field.at, 'latin1')
}

/** The sum of all bytes, those of the checksum itself counted as blanks. */
function checksum(header: Buffer): number {
  const blanks = CHECKSUM.length * ' '.charCodeAt(0)
  const own = header.subarray(CHECKSUM.at, CHECKSUM.at + CHECKSUM.length)
  const sum = (bytes: Buffer): number => bytes.reduce((total, byte) => total + byte, 0)
  return sum(header) - sum(own) + blanks
}

function padded(size: number): number {
  return Math.ceil(size / BLOCK) * BLOCK
}
