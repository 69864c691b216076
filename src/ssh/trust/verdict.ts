/**
 * What the known_hosts files say about a key that a server presents, by OpenSSH's rules. Says what is the
 * case; what follows from it (ask, refuse, go on) is decided elsewhere.
 *
 * A non-standard port is looked up as `[host]:port`. An entry without a port counts for it only when there
 * is no entry with the port, and then only in favour: the same key is known, another one means nothing.
 */
import { describeKey, type KeyDescription } from './fingerprint.ts'
import {
  coversName,
  lookupName,
  readKnownHosts,
  type KeyTarget,
  type KnownHostLine,
  type KnownHostsFiles,
} from './known-hosts.ts'

export type Verdict =
  | { readonly kind: 'known'; readonly file: string; readonly line: number }
  /** Nothing is known of this host. `unreadable` files may have known more. */
  | { readonly kind: 'unknown'; readonly unreadable: readonly string[] }
  /**
   * Keys of this host are known, but none of this type. OpenSSH itself refuses this as a changed key; it
   * must never be accepted without a person's word.
   */
  | { readonly kind: 'new-type'; readonly known: readonly KnownKey[]; readonly unreadable: readonly string[] }
  /** Another key of the same type is known, at this place. */
  | ({ readonly kind: 'changed'; readonly expected: KeyDescription } & Place)
  /** The key is marked `@revoked` at this place, whatever else is known of it. */
  | ({ readonly kind: 'revoked' } & Place)

interface Place {
  readonly file: string
  /** Counted from 1. */
  readonly line: number
}

export type KnownKey = KeyDescription & Place

/**
 * @param blob The key in its wire format.
 * @throws MalformedKeyError when `blob` is not a key.
 */
export async function judgeKey(
  blob: Uint8Array,
  target: KeyTarget,
  files: KnownHostsFiles,
): Promise<Verdict> {
  const { type } = describeKey(blob)
  const { lines, unreadable } = await readKnownHosts(files)
  const same = (line: KnownHostLine): boolean => Buffer.compare(line.blob, blob) === 0
  const here = linesFor(lookupName(target), lines)
  const portless = portlessLines(target, lines)

  // Stricter than OpenSSH, which does not look for @revoked without the port.
  const revoked = [...here, ...portless].find((line) => line.marker === 'revoked' && same(line))
  if (revoked !== undefined) return { kind: 'revoked', ...placeOf(revoked) }

  const plain = here.filter(isPlain)
  const match = plain.find(same) ?? (plain.length === 0 ? portless.filter(isPlain).find(same) : undefined)
  if (match !== undefined) return { kind: 'known', ...placeOf(match) }

  const other = plain.find((line) => line.type === type)
  if (other !== undefined) return { kind: 'changed', expected: describeKey(other.blob), ...placeOf(other) }
  if (plain.length === 0) return { kind: 'unknown', unreadable }
  const known = plain.map((line) => ({ ...describeKey(line.blob), ...placeOf(line) }))
  return { kind: 'new-type', known, unreadable }
}

/**
 * The types of the keys that are known and not revoked for a target, in the order of the files: algorithms
 * for these are to be offered first, so that the server shows a key that can be compared.
 */
export async function knownKeyTypes(target: KeyTarget, files: KnownHostsFiles): Promise<string[]> {
  const { lines } = await readKnownHosts(files)
  const here = linesFor(lookupName(target), lines)
  const relevant = here.some(isPlain) ? here : [...here, ...portlessLines(target, lines)]
  const revoked = relevant.filter((line) => line.marker === 'revoked')
  const isRevoked = (line: KnownHostLine): boolean =>
    revoked.some((other) => Buffer.compare(other.blob, line.blob) === 0)
  const usable = relevant.filter((line) => isPlain(line) && !isRevoked(line))
  return [...new Set(usable.map((line) => line.type))]
}

function linesFor(name: string, lines: readonly KnownHostLine[]): KnownHostLine[] {
  return lines.filter((line) => coversName(line.names, name))
}

/** The lines for the host without its port, where that is another name. */
function portlessLines(target: KeyTarget, lines: readonly KnownHostLine[]): KnownHostLine[] {
  const name = lookupName({ ...target, port: 0 })
  return name === lookupName(target) ? [] : linesFor(name, lines)
}

/** A line that vouches for a host's own key; a certificate authority's never does. */
function isPlain(line: KnownHostLine): boolean {
  return line.marker === 'none'
}

function placeOf({ file, line }: KnownHostLine): Place {
  return { file, line }
}
