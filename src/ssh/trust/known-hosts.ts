/**
 * The lines of known_hosts files (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT) and which of them speak of a host.
 * Decides nothing about trust.
 */
import { createHmac } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { messageOf, systemCode } from '../../base/failure.ts'
import { matchesHostList } from '../config/patterns.ts'
import { keyType, MalformedKeyError } from './fingerprint.ts'

export interface KnownHostLine {
  readonly file: string
  /** Counted from 1. */
  readonly line: number
  readonly marker: 'none' | 'cert-authority' | 'revoked'
  /** Patterns separated by commas, or one hashed name. */
  readonly names: string
  readonly type: string
  readonly blob: Uint8Array
}

/** Where a connection goes, for looking up and writing down its key. */
export interface KeyTarget {
  readonly host: string
  readonly port: number
  /** HostKeyAlias: used in place of host and port. */
  readonly alias?: string
}

export const DEFAULT_PORT = 22
export const HASH_MAGIC = '|1|'

/** The name that a target is looked up and written down by: `host`, or `[host]:port`. */
export function lookupName({ host, port, alias }: KeyTarget): string {
  if (alias !== undefined) return alias.toLowerCase()
  const name = host.toLowerCase()
  return port === DEFAULT_PORT || port === 0 ? name : `[${name}]:${port}`
}

/** Lines that cannot be read as one entry are passed over, as `ssh` does. */
export function parseKnownHosts(text: string, file: string): KnownHostLine[] {
  const lines: KnownHostLine[] = []
  for (const [index, content] of text.split('\n').entries()) {
    const entry = parseLine(content)
    if (entry !== undefined) lines.push({ ...entry, file, line: index + 1 })
  }
  return lines
}

function parseLine(content: string): Omit<KnownHostLine, 'file' | 'line'> | undefined {
  const text = content.replace(/^[ \t]+/, '').replace(/\r$/, '')
  if (text === '' || text.startsWith('#')) return undefined
  const words = text.split(/[ \t]+/)
  const marker = text.startsWith('@') ? words.shift() : 'none'
  const [names = '', type = '', key = ''] = words
  const kind = marker === 'none' ? marker : marker?.slice(1)
  if (kind !== 'none' && kind !== 'cert-authority' && kind !== 'revoked') return undefined
  const blob = decodeKey(type, key)
  return blob === undefined ? undefined : { marker: kind, names, type, blob }
}

function decodeKey(type: string, key: string): Uint8Array | undefined {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(key)) return undefined
  const blob = Buffer.from(key, 'base64')
  try {
    return keyType(blob) === type ? blob : undefined
  } catch (error) {
    if (error instanceof MalformedKeyError) return undefined
    throw error
  }
}

/** True when the names of a line cover this name (`lookupName`). */
export function coversName(names: string, name: string): boolean {
  return names.startsWith('|') ? hashCovers(names, name) : matchesHostList(name, names)
}

function hashCovers(names: string, name: string): boolean {
  const [, magic, salt = '', hash = '', ...more] = names.split('|')
  if (magic !== '1' || more.length > 0) return false
  const key = Buffer.from(salt, 'base64')
  return key.length === 20 && hashName(name, key) === hash
}

/** HMAC-SHA1 of a name under a salt, in base64. */
export function hashName(name: string, salt: Uint8Array): string {
  return createHmac('sha1', salt).update(name).digest('base64')
}

export interface KnownHostsFiles {
  readonly user: readonly string[]
  readonly global: readonly string[]
}

export interface KnownHosts {
  /** In the order of the files, the user's first. */
  readonly lines: readonly KnownHostLine[]
  /** Files that are there but cannot be read, with the reason: what they know is missing here. */
  readonly unreadable: readonly string[]
}

/** A file that is not there is an empty one. */
export async function readKnownHosts(files: KnownHostsFiles): Promise<KnownHosts> {
  const lines: KnownHostLine[] = []
  const unreadable: string[] = []
  for (const file of [...files.user, ...files.global]) {
    try {
      lines.push(...parseKnownHosts(await readFile(file, 'utf8'), file))
    } catch (error) {
      const code = systemCode(error)
      if (code === undefined) throw error
      if (code !== 'ENOENT' && code !== 'ENOTDIR') unreadable.push(`${file}: ${messageOf(error)}`)
    }
  }
  return { lines, unreadable }
}
