/**
 * Destinations as people type them: `[user@]host[:port]` for a jump host, `[user@]host` for `ssh` itself,
 * and `ssh://[user@]host[:port]` for both.
 */
import { isIP, SocketAddress } from 'node:net'

export interface ParsedDestination {
  /** Without brackets. */
  readonly host: string
  readonly user: string | undefined
  readonly port: number | undefined
}

/** What `ssh` takes as its destination: only the URI form carries a port. */
export function parseDestination(text: string): ParsedDestination | undefined {
  if (text.startsWith('ssh://')) return parseUri(text)
  const { user, rest } = splitUser(text)
  return user === '' || rest === '' ? undefined : { host: rest, user, port: undefined }
}

/** One jump host, as ProxyJump lists them. */
export function parseJumpHost(text: string): ParsedDestination | undefined {
  if (text.startsWith('ssh://')) return parseUri(text)
  const { user, rest } = splitUser(text)
  const place = splitPort(rest)
  return place === undefined || user === '' ? undefined : { ...place, user }
}

/** `[user@]host[:port]`, with brackets where the host is an IPv6 address. */
export function formatJumpHost({ host, user, port }: ParsedDestination): string {
  const bracketed = host.includes(':') ? `[${host}]` : host
  return `${user === undefined ? '' : `${user}@`}${bracketed}${port === undefined ? '' : `:${port}`}`
}

/**
 * Characters that no host name has and a shell would act upon: the typed name reaches ProxyCommand
 * through `%n` and `%h`. The same set as OpenSSH 9.6 and later refuse.
 */
export function isSafeHostName(name: string): boolean {
  return name !== '' && !name.startsWith('-') && !/['`"$\\;&<>|(){},\s\p{Cc}]/u.test(name)
}

/** As `isSafeHostName`, for the typed user name; `\` is let through for Windows domains. */
export function isSafeUserName(name: string): boolean {
  return !/^-|['`";&<>|(){}\p{Cc}]|\s-|\\$/u.test(name)
}

/**
 * A host as `ssh` looks it up: an address in its canonical spelling, unless AddressFamily shuts it out, and
 * a name in lower case.
 */
export function canonicalHost(host: string, family: string | undefined): string {
  const address = family === 'inet' ? canonicalIPv4(host) : canonicalIPv6(host)
  const either = address ?? (family === undefined || family === 'any' ? canonicalIPv4(host) : undefined)
  // What only looks like an address (a scope behind `%`) keeps its case.
  return either ?? (/[%:]/.test(host) ? host : host.toLowerCase())
}

function canonicalIPv6(host: string): string | undefined {
  const [address = '', zone] = host.split('%', 2)
  if (isIP(address) !== 6) return undefined
  const canonical = new SocketAddress({ address, family: 'ipv6' }).address
  return zone === undefined ? canonical : `${canonical}%${zone}`
}

/** Short, octal and hexadecimal spellings (127.1, 0x7f.1) are addresses too. */
function canonicalIPv4(host: string): string | undefined {
  if (!/^(0x[0-9a-f]+|\d+)(\.(0x[0-9a-f]+|\d+)){0,3}$/i.test(host)) return undefined
  return URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : undefined
}

function parseUri(text: string): ParsedDestination | undefined {
  const body = text.slice('ssh://'.length).replace(/\/$/, '')
  const at = body.indexOf('@')
  const place = splitPort(body.slice(at + 1))
  if (place === undefined || /[/]/.test(place.host)) return undefined
  if (at < 0) return { ...place, user: undefined }
  const user = decodeUser(body.slice(0, at).replace(/;.*$/s, ''))
  return user === undefined || user === '' ? undefined : { ...place, user }
}

function decodeUser(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch (malformed) {
    if (malformed instanceof URIError) return undefined
    throw malformed
  }
}

function splitUser(text: string): { user: string | undefined; rest: string } {
  const at = text.lastIndexOf('@')
  return at < 0 ? { user: undefined, rest: text } : { user: text.slice(0, at), rest: text.slice(at + 1) }
}

function splitPort(text: string): { host: string; port: number | undefined } | undefined {
  const found = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d*))?$/.exec(text)
  const host = found?.[1] ?? found?.[2]
  if (host === undefined) return undefined
  if (found?.[3] === undefined || found[3] === '') return { host, port: undefined }
  const port = Number(found[3])
  return port >= 1 && port <= 65_535 ? { host, port } : undefined
}
