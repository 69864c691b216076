/** Listing a folder in one question to the helper shell, links followed and versions told. */
import { textOfBytes } from '../../../base/name-bytes.ts'
import { quote } from '../../../base/shell-word.ts'
import { childOf, type RemotePath } from '../../../base/remote-path.ts'
import type { MachineSession } from '../../session.ts'
import { answerOf } from './helper-answer.ts'
import type { ListedEntry } from '../listed-entry.ts'
import { parseShellStat } from './shell-stat.ts'

/** The letters of `find` for types, as the bits of a mode (inode(7)). */
const TYPE_BITS: Readonly<Record<string, number>> = {
  f: 0o100000,
  d: 0o040000,
  p: 0o010000,
  c: 0o020000,
  b: 0o060000,
  s: 0o140000,
}
/** `find` tells a tenth digit behind the point, which is always 0. */
const TIME = /^(-?\d+\.\d{9})\d*$/
/** Fields before the name, in a record of `list`. */
const FIELDS = 7

/**
 * @param folder - canonical.
 * @returns undefined when the helper cannot tell, or something is out of the ordinary.
 * @throws CancelledError.
 */
export async function listByShell(
  session: MachineSession,
  folder: RemotePath,
  signal?: AbortSignal,
): Promise<ListedEntry[] | undefined> {
  const answer = await answerOf(session, `d=${quote(folder)}; list`, { signal })
  return answer === undefined || answer.status !== 0 ? undefined : parseListing(folder, answer.output)
}

/** @returns undefined when something is out of the ordinary. */
export function parseListing(folder: RemotePath, output: Buffer): ListedEntry[] | undefined {
  const links: string[] = []
  const targets: RemotePath[] = []
  const followed = new Map<string, string>()
  const seen: ListedEntry[] = []
  for (const record of records(output)) {
    const rest = record.slice(1)
    switch (record[0]) {
      case 'E': {
        const entry = plainEntry(folder, rest)
        if (entry === undefined) return undefined
        seen.push(entry)
        break
      }
      case 'B':
        seen.push({
          name: rest,
          type: 'other',
          size: 0,
          isLink: true,
          path: childOf(folder, rest),
          version: undefined,
        })
        break
      case 'L':
        links.push(rest)
        break
      case 'S': {
        const name = /^(?:\S+ ){5}\.\/(.*)$/s.exec(rest)?.[1]
        if (name !== undefined) followed.set(name, rest.split(' ', 5).join(' '))
        break
      }
      case '/':
        targets.push(record as RemotePath)
        break
      default:
        return undefined
    }
  }
  // The targets are told in the order of the links; with one missing it is not known whose they are.
  if (targets.length !== links.length) return undefined
  for (const [index, name] of links.entries()) {
    const stat = parseShellStat(followed.get(name) ?? '')
    const path = targets[index]
    if (stat === undefined || path === undefined) return undefined
    const { type, size, version } = stat
    seen.push({ name, type: type === 'symlink' ? 'other' : type, size, isLink: true, path, version })
  }
  return seen
}

function* records(output: Buffer): Generator<string> {
  for (let at = 0; at < output.length;) {
    const end = output.indexOf(0, at)
    if (end < 0) return
    yield textOfBytes(output.subarray(at, end))
    at = end + 1
  }
}

function plainEntry(folder: RemotePath, record: string): ListedEntry | undefined {
  const fields = record.split(' ', FIELDS)
  const [letter = '', size, permissions = '', device, inode, changed = '', altered = ''] = fields
  const bits = TYPE_BITS[letter]
  const [mtime, ctime] = [TIME.exec(changed)?.[1], TIME.exec(altered)?.[1]]
  const name = record.slice(fields.join(' ').length + 1)
  if (bits === undefined || mtime === undefined || ctime === undefined || name === '') return undefined
  const mode = (bits | Number.parseInt(permissions, 8)).toString(16)
  return {
    name,
    type: letter === 'f' ? 'file' : letter === 'd' ? 'directory' : 'other',
    size: Number(size),
    isLink: false,
    path: childOf(folder, name),
    version: `x:${device}:${inode}:${size}:${mtime}:${ctime}:${mode}`,
  }
}
