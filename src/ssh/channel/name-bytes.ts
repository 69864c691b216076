/**
 * Names that are not UTF-8 on their way through ssh2, which knows names only as text: there, a byte that does
 * not fit into UTF-8 is a NUL and the byte without its highest bit. No name on a machine holds a NUL. Packets
 * are changed on both sides of the library; most hold nothing to change and pass as they are.
 */
import { isUtf8 } from 'node:buffer'
import { bytesOfText, strayOf, textOfBytes, withStrays } from '../../base/name-bytes.ts'

/** How many paths requests begin with, by their types (draft-ietf-secsh-filexfer-02, section 3). */
const PATHS: Readonly<Record<number, number>> = {
  3: 1, // open
  7: 1, // lstat
  9: 1, // setstat
  11: 1, // opendir
  13: 1, // remove
  14: 1, // mkdir
  15: 1, // rmdir
  16: 1, // realpath
  17: 1, // stat
  18: 2, // rename
  19: 1, // readlink
  20: 2, // symlink
}
const EXTENDED = 200
/** The same of extensions (OpenSSH's PROTOCOL, section 4). */
const EXTENSION_PATHS: Readonly<Record<string, number>> = {
  'posix-rename@openssh.com': 2,
  'hardlink@openssh.com': 2,
  'statvfs@openssh.com': 1,
}
const NAME = 104
/** A packet's length, type and number. */
const HEAD = 9
/** What the library takes for a packet (`OPENSSH_MAX_PKT_LEN`); of longer ones it has words of its own. */
const LONGEST_PACKET = 256 * 1024
/** Bytes of the attributes that may follow a name, by their flags. */
const ATTRIBUTES = [
  [0x1, 8],
  [0x2, 8],
  [0x4, 4],
  [0x8, 8],
] as const
const ATTRIBUTE_EXTENSIONS = 0x8000_0000

/** A path as the library is to have it. */
export function forLibrary(path: string): string {
  return withStrays(path, (byte) => `\0${String.fromCharCode(byte & 0x7f)}`)
}

/** A name as the library gave it. */
export function fromLibrary(name: string): string {
  return name.replace(/\0([^])/g, (_both, low: string) => strayOf(low.charCodeAt(0) | 0x80))
}

/** A whole packet of the library's, with the paths that the machine knows. */
export function toServer(packet: Buffer): Buffer {
  const { at, paths } = pathsOf(packet)
  const fields: Buffer[] = []
  let rest = at
  let changed = false
  for (let count = 0; count < paths; count += 1) {
    const end = rest + 4 + packet.readUInt32BE(rest)
    const path = packet.subarray(rest + 4, end)
    const strange = path.includes(0)
    changed ||= strange
    fields.push(field(strange ? bytesOfText(fromLibrary(path.toString('utf8'))) : path))
    rest = end
  }
  return changed ? field(Buffer.concat([packet.subarray(4, at), ...fields, packet.subarray(rest)])) : packet
}

/** Where the paths of a request begin, and how many there are. */
function pathsOf(packet: Buffer): { readonly at: number; readonly paths: number } {
  const type = packet.readUInt8(4)
  if (type !== EXTENDED) return { at: HEAD, paths: PATHS[type] ?? 0 }
  const at = HEAD + 4 + packet.readUInt32BE(HEAD)
  return { at, paths: EXTENSION_PATHS[packet.toString('latin1', HEAD + 4, at)] ?? 0 }
}

/** The server's bytes on their way to the library, with names that the library can keep. */
export class FromServer {
  /** The beginning of a packet whose type has not come yet. */
  #head: Buffer = Buffer.alloc(0)
  /** Bytes of the present packet that are still to come. */
  #left = 0
  /** What has come of a packet of names. */
  #names: Buffer[] | undefined

  /** @returns what the library is to be given, in order. */
  push(chunk: Buffer): Buffer[] {
    const bytes = this.#head.length === 0 ? chunk : Buffer.concat([this.#head, chunk])
    this.#head = Buffer.alloc(0)
    const given: Buffer[] = []
    /** From here on nothing was given yet: what passes unchanged passes in one piece. */
    let from = 0
    let at = 0
    while (at < bytes.length) {
      if (this.#left === 0 && !this.#begins(bytes, at)) break
      const end = Math.min(at + this.#left, bytes.length)
      this.#left -= end - at
      if (this.#names !== undefined) {
        given.push(bytes.subarray(from, at))
        from = end
        this.#names.push(bytes.subarray(at, end))
        if (this.#left === 0) {
          given.push(withNames(Buffer.concat(this.#names)))
          this.#names = undefined
        }
      }
      at = end
    }
    this.#head = Buffer.from(bytes.subarray(at))
    given.push(bytes.subarray(from, at))
    return given.filter((piece) => piece.length > 0)
  }

  /** @returns false when too little of the packet is here to tell what it is. */
  #begins(bytes: Buffer, at: number): boolean {
    if (bytes.length - at < 4) return false
    const length = bytes.readUInt32BE(at)
    if (length < 1 || length > LONGEST_PACKET) {
      // Not SFTP. The library says so.
      this.#left = Infinity
      return true
    }
    if (bytes.length - at < 5) return false
    this.#left = 4 + length
    if (bytes.readUInt8(at + 4) === NAME) this.#names = []
    return true
  }
}

/** A packet of names; one that is not what it says is passed as it is, for the library to refuse. */
function withNames(packet: Buffer): Buffer {
  const entries: { readonly name: Buffer; readonly attributes: Buffer }[] = []
  try {
    let at = HEAD + 4
    for (let left = packet.readUInt32BE(HEAD); left > 0; left -= 1) {
      const named = at + 4 + packet.readUInt32BE(at)
      const told = named + 4 + packet.readUInt32BE(named)
      const name = packet.subarray(at + 4, named)
      at = attributesEnd(packet, told)
      entries.push({ name, attributes: packet.subarray(told, at) })
    }
  } catch (error) {
    if (error instanceof RangeError) return packet
    throw error
  }
  if (entries.every(({ name }) => isUtf8(name))) return packet
  const fields = entries.flatMap(({ name, attributes }) => [
    field(Buffer.from(forLibrary(textOfBytes(name)), 'utf8')),
    // The line for people that comes with a name: nobody reads it.
    field(Buffer.alloc(0)),
    attributes,
  ])
  const changed = field(Buffer.concat([packet.subarray(4, HEAD + 4), ...fields]))
  return changed.length > 4 + LONGEST_PACKET ? packet : changed
}

function attributesEnd(packet: Buffer, start: number): number {
  const flags = packet.readUInt32BE(start)
  let at = start + 4
  for (const [flag, bytes] of ATTRIBUTES) if ((flags & flag) !== 0) at += bytes
  if ((flags & ATTRIBUTE_EXTENSIONS) === 0) return at
  const strings = 2 * packet.readUInt32BE(at)
  at += 4
  for (let left = strings; left > 0; left -= 1) at += 4 + packet.readUInt32BE(at)
  return at
}

/** Bytes with their length before them; a whole packet is one, too. */
function field(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}
