/**
 * Generates configurations that `ssh` accepts, from a seed: files, Includes, Host and Match blocks, and
 * every keyword that decides something, in all the spellings that the format allows.
 */

export interface GeneratedConfig {
  /** Path below the case's folder to content; `main` is the one to begin with. */
  readonly files: ReadonlyMap<string, string>
  /** A name to resolve. */
  readonly alias: string
}

export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** 0 or more, below `limit`. */
  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit
  }

  chance(percent: number): boolean {
    return this.below(100) < percent
  }

  pick<T>(choices: readonly T[]): T {
    const choice = choices[this.below(choices.length)]
    if (choice === undefined) throw new Error('nothing to pick from')
    return choice
  }
}

const ALIASES = [
  'web1',
  'web2',
  'db1',
  'db9',
  'nas',
  'box',
  'UPPER',
  'upper',
  'a.example.com',
  '10.0.0.7',
  'new_1',
]
const PATTERNS = ['*', 'web*', 'db?', 'd*1', '*.example.com', '10.0.?.*', 'U*', '?????', 'real-*', '**b*1']
const HOSTNAMES = [
  'real-%h.example.org',
  '%h',
  '%h.lan',
  '10.1.2.3',
  '127.1',
  '0x7f.1',
  '::1',
  '0:0::0001',
  'fe80::1%%lo',
  'MiXeD.Example',
  'a%%b',
  '[::1]',
]
const PATHS = [
  '~/k_%h',
  '/keys/%r@%n:%p',
  '${KEYDIR}/id',
  '${KEYDIR}/${KEYDIR}%%h',
  '%d/.ssh/%u-%i-%L-%l',
  'rel/key',
  '"~/with blank"',
  '~root/x',
  '~/a//b',
  '~',
  '/k/%k',
  "'/single quoted'",
  '/esc\\ aped',
  '/back\\slash',
  '"/quo\\"te"',
  'half"/quoted part"/x',
  '#notcomment'.slice(1),
]
const FLAGS = ['yes', 'no', 'true', 'false', 'YES', 'No']

type Line = (random: Random) => string
const oneOf =
  (keyword: string, ...values: string[]): Line =>
  (random) =>
    write(random, keyword, random.pick(values))
const flag = (keyword: string): Line => oneOf(keyword, ...FLAGS)
const algorithms =
  (keyword: string, wildcards: boolean, ...names: string[]): Line =>
  (random) => {
    const operator = random.pick(['', '+', '-', '^'])
    const list = Array.from({ length: 1 + random.below(3) }, () => random.pick(names))
    if (operator === '-' && random.chance(30)) list.push('*sha1*')
    if (wildcards && random.chance(30)) list.push('ssh-ed25519*')
    return write(random, keyword, operator + list.join(','))
  }

const LINES: readonly Line[] = [
  oneOf('HostName', ...HOSTNAMES),
  oneOf('HostName', ...HOSTNAMES),
  oneOf('User', 'alice', 'bob', 'DOM\\carol', '"two words"', "'o\"brien'", '%u'),
  oneOf('User', 'alice', 'bob'),
  oneOf('Port', '22', '2222', '42201', '65535'),
  oneOf('AddressFamily', 'any', 'inet', 'inet6', 'INET6'),
  oneOf('BindAddress', '127.0.0.1', '::1'),
  oneOf('ConnectTimeout', '5', '1m', '2h30m', 'none', '0', '1M10S'),
  oneOf('ServerAliveInterval', '0', '15', '1m', '300', 'none'),
  oneOf('ServerAliveCountMax', '0', '1', '7'),
  oneOf('StrictHostKeyChecking', 'yes', 'no', 'off', 'ask', 'accept-new', 'ACCEPT-NEW', 'true', 'false'),
  oneOf(
    'UserKnownHostsFile',
    '~/.ssh/kh /etc/kh2',
    'none',
    '/dev/null',
    '"/with blank/kh" ~/b',
    '%d/kh_%k ${KEYDIR}/kh',
    '~/%h_%p_%r',
  ),
  oneOf('GlobalKnownHostsFile', '/etc/kh', '/a /b', 'none', '~/raw%h'),
  oneOf('HostKeyAlias', 'Key-Name', 'other'),
  flag('HashKnownHosts'),
  (random) => write(random, 'IdentityFile', random.pick(PATHS)),
  (random) => write(random, 'IdentityFile', random.pick(PATHS)),
  oneOf('IdentityFile', 'none', 'NONE', '/same', '/same'),
  (random) => write(random, 'CertificateFile', random.pick(PATHS)),
  flag('IdentitiesOnly'),
  oneOf(
    'IdentityAgent',
    'none',
    'SSH_AUTH_SOCK',
    '$MYSOCK',
    '${MYSOCK}',
    '$UNSET',
    '~/agent',
    '/run/%u.sock',
  ),
  oneOf('PreferredAuthentications', 'publickey', 'password,publickey', 'keyboard-interactive,password'),
  oneOf('PubkeyAuthentication', ...FLAGS, 'unbound', 'host-bound'),
  flag('PasswordAuthentication'),
  flag('KbdInteractiveAuthentication'),
  flag('ChallengeResponseAuthentication'),
  flag('BatchMode'),
  oneOf('NumberOfPasswordPrompts', '0', '1', '5'),
  algorithms('Ciphers', false, 'aes128-ctr', 'aes256-gcm@openssh.com', '3des-cbc', 'aes256-cbc'),
  algorithms('MACs', false, 'hmac-sha2-256', 'hmac-sha1', 'hmac-md5', 'umac-64@openssh.com'),
  algorithms(
    'KexAlgorithms',
    false,
    'curve25519-sha256',
    'diffie-hellman-group14-sha1',
    'sntrup761x25519-sha512@openssh.com',
    'ecdh-sha2-nistp256',
  ),
  algorithms('HostKeyAlgorithms', true, 'ssh-ed25519', 'ssh-rsa', 'rsa-sha2-256', 'ecdsa-sha2-nistp256'),
  oneOf(
    'ProxyJump',
    'none',
    'jump',
    'user@jump:2200',
    'a,b@c:22,[::1]:99',
    'ssh://u@j:5',
    '[fe80::2]',
    '10.0.0.1',
    'up.%h',
    'u@[2001:db8::1]:42201',
  ),
  oneOf(
    'ProxyCommand',
    'none',
    'ssh -o StrictHostKeyChecking=no -W %h:%p jump',
    'nc -x "quoted arg" %h %p # kept',
    "sh -c 'exec nc %h  %p' 100%% %r@%n",
    'cmd=1   spaced   ',
  ),
  oneOf('SetEnv', 'A=1 B="x y"', 'FOO=bar', 'A=2 A=3', '"C=a b" D=', 'E=x=y'),
  oneOf('ForwardAgent', 'yes', 'no'),
  oneOf('SendEnv', 'LANG LC_*', '-LANG'),
  oneOf('ControlPath', '~/.ssh/%C', 'none'),
  oneOf('LocalForward', '8080 localhost:80'),
  oneOf('LogLevel', 'QUIET', 'ERROR'),
  oneOf('RequestTTY', 'no', 'force'),
  oneOf('Compression', 'no', 'yes'),
  // Costs ssh a second run each time, so it is kept rare.
  (random) => (random.chance(15) ? write(random, 'UseKeychain', 'yes') : ''),
]

const MATCHES: readonly string[] = [
  'all',
  '!all',
  'host web*,!web2',
  'host "real-*"',
  'host=db1',
  'originalhost box,nas',
  'originalhost UPPER',
  '!originalhost web1',
  'user alice',
  'user root host *',
  'localuser root,!x',
  'localuser nobody',
  'final',
  'canonical',
  'final host *.example.org',
  'canonical all',
  'host *1 all',
  'exec true',
  'exec "false"',
  'exec "test %h = web1"',
  'exec "test %p%r = 22root"',
  '!exec "test %n = box"',
  'host nothing exec "exit 0"',
  'HOST web1 User *',
]

/** One configuration; the same seed gives the same one. */
export function generateConfig(seed: number, folder: string): GeneratedConfig {
  const random = new Random(seed)
  const files = new Map<string, string>()
  const includable = ['conf.d/10-a.conf', 'conf.d/20-b.conf', 'conf.d/c.other', 'deep/x.conf'].filter(() =>
    random.chance(50),
  )
  for (const name of includable) {
    const nested = name.startsWith('conf.d') && random.chance(40) ? [`${folder}/deep/x.conf`] : []
    files.set(name, generateFile(random, nested, 1 + random.below(2)))
  }
  const includes = [
    `${folder}/conf.d/*.conf`,
    `${folder}/conf.d/[0-1]*.conf`,
    `"${folder}/conf.d/?0-*" ${folder}/deep/x.conf`,
    `${folder}/conf.d/c.other`,
    `${folder}/missing/*.conf`,
    `${folder}/missing.conf`,
    `${folder}/*/*`,
  ]
  files.set('main', generateFile(random, random.chance(60) ? includes : [], 3 + random.below(5)))
  return { files, alias: random.pick(ALIASES) }
}

function generateFile(random: Random, includes: readonly string[], blocks: number): string {
  const lines: string[] = []
  const body = (most: number): void => {
    for (let left = random.below(most + 1); left > 0; left--) {
      lines.push(random.pick(LINES)(random))
      if (random.chance(10)) lines.push(random.pick(['', '   ', "# Bob's box", '\t# unbalanced "', '#']))
    }
    if (includes.length > 0 && random.chance(50)) lines.push(write(random, 'Include', random.pick(includes)))
  }
  if (random.chance(40)) body(4)
  for (let block = 0; block < blocks; block++) {
    lines.push(random.chance(30) ? write(random, 'Match', random.pick(MATCHES)) : hostLine(random))
    body(10)
  }
  const text = lines.join(random.chance(10) ? '\r\n' : '\n')
  return random.chance(90) ? `${text}\n` : text
}

function hostLine(random: Random): string {
  const patterns = Array.from({ length: 1 + random.below(3) }, () => {
    const pattern = random.chance(50) ? random.pick(ALIASES) : random.pick(PATTERNS)
    const negated = random.chance(15) ? `!${pattern}` : pattern
    return random.chance(10) ? `"${negated}"` : negated
  })
  return write(random, 'Host', patterns.join(random.pick([' ', '  ', '\t'])))
}

/** A line in one of the spellings that mean the same. */
function write(random: Random, keyword: string, value: string): string {
  const spelled = random.pick([keyword, keyword, keyword.toLowerCase(), keyword.toUpperCase()])
  const separator = random.pick([' ', ' ', '=', ' = ', '\t', '   '])
  const indent = random.pick(['', '  ', '\t', ' \t '])
  // OpenSSH takes `ProxyJump none # more` for a host called "none", which nobody can have meant.
  const comment =
    /^(ProxyCommand|Match)$/.test(keyword) || value === 'none'
      ? ''
      : random.pick(['', '', '', ' # more', "\t# it's", ' #'])
  const end = random.pick(['', '', ' ', '\t '])
  // `Match =all` and a Match criterion with its own `=` are read in another way by older versions.
  return `${indent}${spelled}${keyword === 'Match' ? ' ' : separator}${value}${comment}${end}`
}

const PIECES = [
  'a',
  'b',
  ' ',
  ' ',
  '\t',
  '"',
  "'",
  '\\',
  '#',
  '=',
  '%%',
  'x y',
  '"q r"',
  "'s t'",
  '\\ ',
  '\\"',
  ' #',
  ',',
]

/** One line of arbitrary quoting and separators; `ssh` refuses about half of them. */
export function generateLine(seed: number): string {
  const random = new Random(seed)
  // Blanks in relative paths of UserKnownHostsFile cannot be told apart in what `ssh -G` prints.
  const keyword = random.pick(['User', 'ProxyCommand x', 'IdentityFile', 'SetEnv', '"User"', 'BindAddress'])
  const separator = random.pick([' ', ' ', '=', ' = ', '\t', '==', '= ', ' =', '"', '  ', '\r'])
  const value = Array.from({ length: 1 + random.below(8) }, () => random.pick(PIECES)).join('')
  return random.pick(['', ' ', '\t', '=', ' = ']) + keyword + separator + value
}
