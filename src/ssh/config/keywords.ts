/**
 * The keywords that decide something for Presence, and the values each takes; and the names of all the
 * others that OpenSSH knows, which are passed over in silence. Values come out as `ssh -G` spells them.
 *
 * Source: ssh_config(5) of OpenSSH 9.2 to 10.x, and `ssh -G` by experiment.
 */

/** How a keyword's value is checked and kept. */
interface Rule {
  /** The name it is kept under: aliases share one. */
  readonly name: string
  /**
   * `first`: the first value holds. `each`: every line adds one. `all`: the first line's words hold.
   * `line`: as `first`, but the rest of the line byte for byte.
   */
  readonly keep: 'first' | 'each' | 'all' | 'line'
  /** The value as kept, or undefined when it is not one. */
  readonly read: (word: string) => string | undefined
}

const text = (word: string): string | undefined => (word === '' ? undefined : word)

const number = (least: number, most: number) => (word: string) =>
  /^\+?\d{1,10}$/.test(word) && Number(word) >= least && Number(word) <= most
    ? String(Number(word))
    : undefined

const choice =
  (...values: string[]) =>
  (word: string) =>
    values.includes(word.toLowerCase()) ? word.toLowerCase() : undefined

const flag = (word: string): string | undefined =>
  ({ yes: 'yes', true: 'yes', no: 'no', false: 'no' })[word.toLowerCase()]

const SECONDS: Readonly<Record<string, number>> = { '': 1, s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 }

/** `90`, `1m30s`, `2h` in seconds; `none` as it is. */
function time(word: string): string | undefined {
  if (word === 'none') return word
  if (!/^(\d+[smhdw])*(\d+[smhdw]?)$/i.test(word)) return undefined
  const parts = [...word.toLowerCase().matchAll(/(\d+)([smhdw]?)/g)]
  const total = parts.reduce((sum, [, count, unit = '']) => sum + Number(count) * (SECONDS[unit] ?? 1), 0)
  return total <= 0x7fff_ffff ? String(total) : undefined
}

const NUMBER_MOST = 0x7fff_ffff
const RULES = new Map<string, Rule>()
const rule = (keep: Rule['keep'], read: Rule['read'], name: string, ...aliases: string[]): void => {
  for (const spelling of [name, ...aliases]) RULES.set(spelling, { name, keep, read })
}

rule('first', text, 'hostname')
rule('first', text, 'user')
rule('first', number(1, 65_535), 'port')
rule('first', choice('any', 'inet', 'inet6'), 'addressfamily')
rule('first', text, 'bindaddress')
rule('first', time, 'connecttimeout')
rule('first', time, 'serveraliveinterval', 'protocolkeepalives', 'setuptimeout')
rule('first', number(0, NUMBER_MOST), 'serveralivecountmax')
rule('first', choice('yes', 'true', 'no', 'false', 'off', 'ask', 'accept-new'), 'stricthostkeychecking')
rule('all', text, 'userknownhostsfile')
rule('all', text, 'globalknownhostsfile')
rule('first', text, 'hostkeyalias')
rule('first', flag, 'hashknownhosts')
rule('all', text, 'revokedhostkeys')
rule('each', text, 'identityfile', 'identityfile2')
rule('each', text, 'certificatefile')
rule('first', flag, 'identitiesonly')
rule('first', text, 'identityagent')
rule('first', text, 'pkcs11provider', 'smartcarddevice')
rule('first', text, 'preferredauthentications')
rule(
  'first',
  choice('yes', 'true', 'no', 'false', 'unbound', 'host-bound'),
  'pubkeyauthentication',
  'dsaauthentication',
)
rule('first', flag, 'passwordauthentication')
rule(
  'first',
  flag,
  'kbdinteractiveauthentication',
  'challengeresponseauthentication',
  'skeyauthentication',
  'tisauthentication',
)
rule('first', flag, 'batchmode')
rule('first', number(0, NUMBER_MOST), 'numberofpasswordprompts')
rule('first', text, 'ciphers')
rule('first', text, 'macs')
rule('first', text, 'kexalgorithms')
rule('first', text, 'hostkeyalgorithms')
rule('line', text, 'proxyjump')
rule('line', text, 'proxycommand')
rule('first', flag, 'proxyusefdpass')
rule('all', (word) => (word.includes('=') ? word : undefined), 'setenv')
rule('first', choice('yes', 'true', 'no', 'false', 'always'), 'canonicalizehostname')
rule('first', text, 'ignoreunknown')
rule('first', text, 'tag')

const PASSED_OVER = new Set(
  `addkeystoagent afstokenpassing bindinterface canonicaldomains canonicalizefallbacklocal
  canonicalizemaxdots canonicalizepermittedcnames casignaturealgorithms channeltimeout checkhostip cipher
  clearallforwardings compression compressionlevel connectionattempts controlmaster controlpath
  controlpersist dynamicforward enableescapecommandline enablesshkeysign escapechar exitonforwardfailure
  fallbacktorsh fingerprinthash forkafterauthentication forwardagent forwardx11 forwardx11timeout
  forwardx11trusted gatewayports globalknownhostsfile2 gssapiauthentication gssapiclientidentity
  gssapidelegatecredentials gssapikexalgorithms gssapikeyexchange gssapirenewalforcesrekey
  gssapiserveridentity gssapitrustdns hostbasedacceptedalgorithms hostbasedauthentication hostbasedkeytypes
  ipqos kbdinteractivedevices keepalive kerberosauthentication kerberostgtpassing knownhostscommand
  localcommand localforward logfacility loglevel logverbose nohostauthenticationforlocalhost
  obscurekeystroketiming permitlocalcommand permitremoteopen protocol
  pubkeyacceptedalgorithms pubkeyacceptedkeytypes refuseconnection rekeylimit remotecommand remoteforward
  requesttty requiredrsasize rhostsauthentication rhostsrsaauthentication rsaauthentication
  securitykeyprovider sendenv sessiontype stdinnull streamlocalbindmask
  streamlocalbindunlink syslogfacility tcpkeepalive tunnel tunneldevice updatehostkeys usekeychain
  userknownhostsfile2 useprivilegedport useroaming usersh verifyhostkeydns versionaddendum visualhostkey
  warnweakcrypto xauthlocation`.split(/\s+/),
)

/** What a line sets: values under a name, nothing that concerns us, or what is wrong with it. */
export type Setting =
  | { readonly kind: 'values'; readonly name: string; readonly keep: Rule['keep']; readonly values: string[] }
  | { readonly kind: 'passed-over' }
  | { readonly kind: 'unknown-keyword' }
  | { readonly kind: 'bad-value'; readonly problem: string }

/** Read one line that is not Host, Match or Include; `words` are its arguments, `rest` is their source. */
export function readSetting(keyword: string, words: readonly string[], rest: string): Setting {
  const found = RULES.get(keyword)
  if (found === undefined) return { kind: PASSED_OVER.has(keyword) ? 'passed-over' : 'unknown-keyword' }
  const { name, keep, read } = found
  const line = rest.replace(/^[ \t\r\n=]+/, '')
  if (keep === 'line' ? line === '' : words.length === 0) return bad(`${keyword} has no value`)
  if (keep === 'line') return { kind: 'values', name, keep, values: [line] }
  if (keep !== 'all' && words.length > 1) return bad(`${keyword} has more than one value`)
  const values = words.map(read)
  const wrong = values.indexOf(undefined)
  if (wrong >= 0) return bad(`${keyword} cannot be "${words[wrong]}"`)
  const known = values.filter((value) => value !== undefined)
  // To OpenSSH that is "not set yet", so that a later line may still set it.
  if (read === time && known.includes('none')) return { kind: 'passed-over' }
  if (keep === 'all' && name !== 'setenv' && known.length > 1 && known.some((value) => isNone(value))) {
    return bad(`${keyword} has "none" beside other values`)
  }
  return { kind: 'values', name, keep, values: known }
}

export function isNone(value: string): boolean {
  return value.toLowerCase() === 'none'
}

/**
 * True when an unknown keyword looks like a mistyped `Host` or `Match`. The lines below such a line must
 * not fall to the block above it, where they would lead other names to this machine.
 */
export function resemblesBlock(keyword: string): boolean {
  return ['host', 'match'].some((block) => distance(keyword.replace(/[^a-z]/g, ''), block) <= 2)
}

/** How many letters must be added, dropped or changed. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 1; i <= from.length; i++) {
    const above = row
    row = [i]
    for (let j = 1; j <= to.length; j++) {
      const changed = (above[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1)
      row.push(Math.min(changed, (above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1))
    }
  }
  return row[to.length] ?? 0
}

function bad(problem: string): Setting {
  return { kind: 'bad-value', problem }
}
