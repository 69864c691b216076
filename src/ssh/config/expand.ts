/**
 * What a value may stand for: `%` tokens, `${VARIABLES}` and `~` (ssh_config(5), TOKENS and ENVIRONMENT
 * VARIABLES). Which keyword takes which of them is the caller's knowledge.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { LocalFacts } from './facts.ts'
import { ConfigProblem } from './problem.ts'

/** A value names something that is not there: an unknown token, an unset variable, a stranger's home. */
export class ExpansionError extends ConfigProblem {}

/** Token letter to text. */
export type Tokens = ReadonlyMap<string, string>

/** @throws ExpansionError for a token that is not among `tokens`. */
export function expandTokens(text: string, tokens: Tokens): string {
  return text.replace(/%(.|$)/gsu, (found, letter: string) => {
    if (letter === '%') return '%'
    const value = tokens.get(letter)
    if (value === undefined) throw new ExpansionError(`"${text}" holds the unknown token "${found}"`)
    return value
  })
}

/**
 * Tokens and `${VARIABLES}` in one pass, so that the text of a variable is never read for tokens.
 * @throws ExpansionError for an unknown token, an unset variable, and `${` without its end.
 */
export function expandAll(text: string, tokens: Tokens, env: LocalFacts['env']): string {
  let result = ''
  let rest = text
  for (let at = rest.indexOf('${'); at >= 0; at = rest.indexOf('${')) {
    const end = rest.indexOf('}', at)
    const name = rest.slice(at + 2, end)
    if (end < 0 || name === '') throw new ExpansionError(`"${text}" holds a malformed \${VARIABLE}`)
    const value = env[name]
    if (value === undefined) throw new ExpansionError(`"${text}" names the unset variable ${name}`)
    result += expandTokens(rest.slice(0, at), tokens) + value
    rest = rest.slice(end + 1)
  }
  return result + expandTokens(rest, tokens)
}

/**
 * A leading `~` or `~name` as that user's home.
 * @throws ExpansionError when there is no such user.
 */
export function expandTilde(path: string, facts: LocalFacts): string {
  const found = /^~([^/\\]*)[/\\]*(.*)$/s.exec(path)
  if (found === null) return path
  const [, name = '', below = ''] = found
  const home = name === '' || name === facts.user ? facts.home : homeOf(name, facts)
  return `${home}${/[/\\]$/.test(home) ? '' : '/'}${below}`
}

function homeOf(name: string, facts: LocalFacts): string {
  // Node has no getpwnam; what is not in the plain file (directory services) cannot be asked for.
  const lines = facts.platform === 'win32' ? [] : readFileSync('/etc/passwd', 'utf8').split('\n')
  const home = lines.map((line) => line.split(':')).find((fields) => fields[0] === name)?.[5]
  if (home === undefined) throw new ExpansionError(`"~${name}" names an unknown user`)
  return home
}

/** The values that most tokens stand for, once the destination is known. */
export interface Destination {
  /** As typed. */
  readonly typed: string
  /** As dialled. */
  readonly host: string
  readonly port: string
  readonly user: string
  /** HostKeyAlias, where one is set. */
  readonly keyAlias: string | undefined
  /** ProxyJump, or an empty text. */
  readonly jump: string
}

/** Tokens of CertificateFile, IdentityAgent, IdentityFile, UserKnownHostsFile and `Match exec`. */
export function allTokens(destination: Destination, facts: LocalFacts): Tokens {
  const { typed, host, port, user, keyAlias, jump } = destination
  const connection = createHash('sha1').update(`${facts.hostname}${host}${port}${user}${jump}`).digest('hex')
  return new Map([
    ['C', connection],
    ['d', facts.home],
    ['h', host],
    ['i', facts.uid],
    ['j', jump],
    ['k', keyAlias ?? typed],
    ['L', facts.hostname.replace(/\..*$/s, '')],
    ['l', facts.hostname],
    ['n', typed],
    ['p', port],
    ['r', user],
    ['u', facts.user],
  ])
}

/** Tokens of ProxyCommand and ProxyJump. */
export function proxyTokens(destination: Destination): Tokens {
  const { typed, host, port, user, keyAlias } = destination
  return new Map([
    ['h', host],
    ['k', keyAlias ?? typed],
    ['n', typed],
    ['p', port],
    ['r', user],
  ])
}
