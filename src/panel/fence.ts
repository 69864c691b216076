/**
 * Who may speak to the panel at all: a program on this computer that names it by a loopback name, and
 * no page of another site. The host applies no such fence to plugin routes. The secret, which keeps
 * out what passes the fence but never read our session, is in `secret.ts`.
 */
import { RequestError } from './errors.ts'
import { soleHeader, type PanelRequest } from './request.ts'

/** @throws RequestError `forbidden` with a sentence that says which rule refused. */
export function checkFence(request: PanelRequest): void {
  checkPeer(request)
  const host = checkHost(request)
  checkOrigin(request, host)
  checkFetchSite(request)
}

function checkPeer(request: PanelRequest): void {
  if (request.peer.kind === 'admitted') return
  if (!isLoopbackAddress(request.peer.address)) throw forbidden('only this computer may use this address')
}

function checkHost(request: PanelRequest): Authority {
  const value = soleHeader(request, 'host')
  if (value === undefined || value === null) throw forbidden('exactly one Host header is needed')
  const host = parseAuthority(value)
  if (host === undefined || !isLoopbackName(host.name)) {
    throw forbidden('the Host header must be a loopback name: localhost, 127.x.x.x or [::1]')
  }
  return host
}

function checkOrigin(request: PanelRequest, host: Authority): void {
  const value = soleHeader(request, 'origin')
  if (value === undefined) return
  const parts = value === null ? null : /^(https?):\/\/([^/]+)$/i.exec(value)
  const origin = parts?.[2] === undefined ? undefined : parseAuthority(parts[2])
  const defaultPort = parts?.[1]?.toLowerCase() === 'https' ? 443 : 80
  if (
    origin === undefined ||
    origin.name !== host.name ||
    (origin.port ?? defaultPort) !== (host.port ?? defaultPort)
  ) {
    throw forbidden('the Origin header must be the address of this page')
  }
}

/** Another port of `localhost` is the same site to a browser, and still not this page. */
function checkFetchSite(request: PanelRequest): void {
  const value = soleHeader(request, 'sec-fetch-site')
  if (value === undefined || value === 'same-origin' || value === 'none') return
  throw forbidden('a page of another origin may not call this address')
}

export interface Authority {
  /** In lower case; an IPv6 address keeps its brackets. */
  readonly name: string
  readonly port: number | undefined
}

/**
 * `name[:port]` of a Host header (RFC 9110, section 7.2). Anything more than that is not one: user
 * information, a path, a list, white space, a trailing dot.
 */
export function parseAuthority(text: string): Authority | undefined {
  const parts = /^(\[[0-9a-f:.]+\]|[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::([0-9]{1,5}))?$/i.exec(text)
  if (parts?.[1] === undefined) return undefined
  const port = parts[2] === undefined ? undefined : Number(parts[2])
  if (port !== undefined && (port < 1 || port > 65535)) return undefined
  return { name: parts[1].toLowerCase(), port }
}

/** A name of this computer as browsers send it: they have already made `127.1` or `0x7f.1` canonical. */
export function isLoopbackName(name: string): boolean {
  return name === 'localhost' || name === '[::1]' || isLoopbackIpv4(name)
}

/** The remote address of a socket, as Node prints it. */
export function isLoopbackAddress(address: string | undefined): boolean {
  if (address === undefined) return false
  return address === '::1' || isLoopbackIpv4(address.toLowerCase().replace(/^::ffff:/, ''))
}

function isLoopbackIpv4(text: string): boolean {
  const parts = /^127\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)
  return (
    parts !== null && parts.slice(1).every((octet) => Number(octet) <= 255 && String(Number(octet)) === octet)
  )
}

function forbidden(why: string): RequestError {
  return new RequestError(`Refused: ${why}.`, 'forbidden')
}
