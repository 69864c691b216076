/**
 * The criteria of a Match line (ssh_config(5), Match): reading them, and deciding whether they hold for
 * one destination. Runs nothing itself; `exec` is the caller's.
 */
import { BlockList, isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { matchesHostList, matchesList } from './patterns.ts'

const WITHOUT_ARGUMENT = ['all', 'canonical', 'final'] as const
const WITH_ARGUMENT = [
  'host',
  'originalhost',
  'user',
  'localuser',
  'localnetwork',
  'tagged',
  'command',
  'sessiontype',
  'version',
  'exec',
] as const

export interface Criterion {
  readonly name: (typeof WITHOUT_ARGUMENT)[number] | (typeof WITH_ARGUMENT)[number]
  readonly negated: boolean
  /** Empty for `all`, `canonical` and `final`. */
  readonly argument: string
}

/** What the criteria are held against. */
export interface MatchSubject {
  /** The name to dial as far as the lines above have decided it. */
  readonly host: string
  readonly originalHost: string
  readonly user: string
  readonly localUser: string
  readonly tag: string
  readonly secondPass: boolean
}

/** @returns the criteria, or what is wrong with them. */
export function readCriteria(words: readonly string[]): readonly Criterion[] | { readonly problem: string } {
  const criteria: Criterion[] = []
  const rest = [...words]
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    const negated = word.startsWith('!')
    const [attribute = '', attached] = split(negated ? word.slice(1) : word)
    const bare = WITHOUT_ARGUMENT.find((name) => name === attribute.toLowerCase())
    if (bare !== undefined) {
      if (bare === 'all' && (rest.length > 0 || criteria.length > 1)) {
        return { problem: '"all" cannot be combined with other criteria' }
      }
      criteria.push({ name: bare, negated, argument: '' })
      continue
    }
    const name = WITH_ARGUMENT.find((known) => known === attribute.toLowerCase())
    if (name === undefined) return { problem: `"${word}" is not a known criterion` }
    const argument = attached ?? rest.shift()
    if (argument === undefined || (argument === '' && name !== 'tagged' && name !== 'command')) {
      return { problem: `"${word}" has no value` }
    }
    criteria.push({ name, negated, argument })
  }
  return criteria.length === 0 ? { problem: 'there are no criteria' } : criteria
}

/** True when the line wants the configuration read a second time (ssh_config(5), Match final). */
export function asksSecondPass(criteria: readonly Criterion[]): boolean {
  return criteria.some(({ name, negated }) => name === 'final' && !negated)
}

/**
 * Criteria are decided from left to right; `exec` is asked only when all before it hold. Where it cannot be
 * told (undefined), neither it nor its negation holds.
 */
export async function criteriaHold(
  criteria: readonly Criterion[],
  subject: MatchSubject,
  exec: (command: string) => Promise<boolean | undefined>,
): Promise<boolean> {
  for (const { name, negated, argument } of criteria) {
    const holds = name === 'exec' ? await exec(argument) : holdsFor(name, argument, subject)
    if (holds === undefined || holds === negated) return false
  }
  return true
}

function holdsFor(
  name: Exclude<Criterion['name'], 'exec'>,
  argument: string,
  subject: MatchSubject,
): boolean {
  switch (name) {
    case 'all':
      return true
    case 'canonical':
    case 'final':
      return subject.secondPass
    case 'host':
      return matchesHostList(subject.host, argument)
    case 'originalhost':
      return matchesHostList(subject.originalHost, argument)
    case 'user':
      return matchesList(subject.user, argument)
    case 'localuser':
      return matchesList(subject.localUser, argument)
    case 'localnetwork':
      return onLocalNetwork(argument)
    case 'tagged':
      return subject.tag === '' ? argument === '' : matchesList(subject.tag, argument)
    case 'command':
      // There is no command yet when a connection is made.
      return argument === ''
    case 'sessiontype':
      return matchesList('shell', argument)
    case 'version':
      // Of OpenSSH, which is not what runs here.
      return false
  }
}

function onLocalNetwork(networks: string): boolean {
  const list = new BlockList()
  for (const network of networks.split(',')) {
    const [address = '', prefix] = network.split('/', 2)
    const version = isIP(address)
    if (version === 0) continue
    const most = version === 4 ? 32 : 128
    const bits = prefix === undefined ? most : Number(prefix)
    if (Number.isInteger(bits) && bits >= 0 && bits <= most) {
      list.addSubnet(address, bits, version === 4 ? 'ipv4' : 'ipv6')
    }
  }
  return Object.values(networkInterfaces())
    .flat()
    .some((own) => own !== undefined && list.check(own.address, own.family === 'IPv4' ? 'ipv4' : 'ipv6'))
}

/** `user=bob` as well as `user bob`; the names themselves hold no `=`. */
function split(word: string): [string, string | undefined] {
  const at = word.indexOf('=')
  return at < 0 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)]
}
