/**
 * What one machine can do, probed once a connection. Commands and SFTP are independent of each other:
 * an account may have only one of them. Facts only; what to do without them is decided elsewhere.
 */
import { ChannelError } from '../ssh/errors.ts'
import type { Extensions } from '../ssh/channel/sftp-protocol.ts'
import type { SftpWay } from '../ssh/channel/sftp.ts'
import type { Exec } from '../ssh/connection/link.ts'
import { quotingOf, startProbe, type LoginShell } from './shell/command-line.ts'
import { shellKindOf, type ShellKind } from './shell/login-shell.ts'
import { askMarked, printsAWord } from './shell/marked-answer.ts'
import { PROBE } from './shell/scripts.ts'

/** How `stat` is asked for nanoseconds there: GNU's `-c %.9Y`, BSD's `-f %Fm`; busybox's knows whole seconds. */
export type StatFlavour = 'gnu' | 'bsd' | 'busybox' | 'none'

/** Whose `find` it is, by what it understands: GNU's `-printf`, BSD's `-f`, or only what busybox's has. */
export type FindFlavour = 'gnu' | 'bsd' | 'busybox' | 'none'

export interface Shell {
  /** How the login shell quotes. */
  readonly loginShell: LoginShell
  readonly kind: ShellKind
  /** Path of the login shell, as the account's environment names it. */
  readonly path: string
  /** Physical path of the login folder. */
  readonly home: string
  readonly os: string
  /** What the machine calls itself: its host name and, where it has one, its machine id. */
  readonly host: string
  readonly user: string
  readonly uid: number
  /** Physical path of the temporary folder, e.g. `/tmp`. */
  readonly tmp: string
  readonly stat: StatFlavour
  readonly find: FindFlavour
  /** What identifies `/` and the home, as the script `IDENTIFY` prints it. */
  readonly identities: readonly [root: string, home: string]
  /** What commands can be confined by, as a use of it has shown; undefined where there is nothing. */
  readonly confiner: Confiner | undefined
  /** What commands find set; empty text where it is not. */
  readonly locale: Locale
  /** Absolute paths of programs, where the machine has them. */
  readonly programs: Readonly<Record<'bash' | 'rg' | 'git' | 'setsid' | 'find', string | undefined>>
}

/** `program` is an absolute path: what stands earlier on the PATH of a later command is not meant. */
export type Confiner =
  | { readonly means: 'bwrap'; readonly program: string }
  /** User namespaces by `unshare`; some can only show the account as root in there. */
  | { readonly means: 'namespaces'; readonly program: string; readonly shownAs: 'own' | 'root' }

export interface Locale {
  readonly lang: string
  readonly lcAll: string
  /** Name of the character encoding, e.g. `UTF-8`; empty where the machine cannot tell. */
  readonly charmap: string
  readonly utf8: boolean
}

export type ShellAnswer =
  /** The account runs commands, and there is a POSIX shell for them. */
  | { readonly kind: 'shell'; readonly shell: Shell }
  /** Commands cannot be run; `reason` is for a person. */
  | { readonly kind: 'none'; readonly reason: string }

export type SftpAnswer =
  | { readonly kind: 'sftp'; readonly extensions: Extensions; readonly way: SftpWay }
  /** The machine has none for this account; `reason` is for a person. */
  | { readonly kind: 'none'; readonly reason: string }
  /** It did not come up in time, which may be different the next time. */
  | { readonly kind: 'unknown'; readonly reason: string }

/** Whether SFTP and commands see the same folders. */
export type Roots =
  /** `start` is where SFTP begins; commands begin in the shell's home. */
  | { readonly kind: 'same'; readonly start: string }
  | { readonly kind: 'different'; readonly start: string; readonly home: string }
  /** One of the two is not there, or could not be asked. */
  | { readonly kind: 'unknown' }

export interface Capabilities {
  readonly commands: ShellAnswer
  /** Of an account that runs no commands, `nologin` when that is known to be the reason. */
  readonly loginShell: ShellKind
  readonly sftp: SftpAnswer
  readonly roots: Roots
  /** What a person should hear of it. */
  readonly warnings: readonly string[]
}

/** @throws LinkLostError when the connection dies or the probe does not answer. */
export async function probeShell(exec: Exec, signal: AbortSignal | undefined): Promise<ShellAnswer> {
  const probe = (): ReturnType<typeof askMarked> => askMarked(exec, (mark) => startProbe(PROBE, mark), signal)
  try {
    // Asked twice before it is believed: some servers drop a command now and then.
    const answer = await probe().catch((error: unknown) => {
      if (isNoExec(error)) return probe()
      throw error
    })
    if (answer.kind === 'answer') return { kind: 'shell', shell: parseProbe(answer.lines) }
    return await whyNoShell(exec, answer.said, signal)
  } catch (error) {
    if (isNoExec(error)) return { kind: 'none', reason: error.message }
    throw error
  }
}

function isNoExec(error: unknown): error is ChannelError {
  return error instanceof ChannelError && error.code === 'no-exec'
}

/** @param lines - `key=value` each. */
export function parseProbe(lines: readonly string[]): Shell {
  const facts = new Map<string, string>()
  for (const line of lines) {
    const equals = line.indexOf('=')
    if (equals > 0) facts.set(line.slice(0, equals), line.slice(equals + 1))
  }
  const text = (key: string): string => facts.get(key) ?? ''
  const program = (key: string): string | undefined => (text(key).startsWith('/') ? text(key) : undefined)
  const loginShell = quotingOf(text('words'))
  return {
    loginShell,
    kind: shellKindOf(text('shell'), text('program'), loginShell),
    path: text('shell'),
    home: text('home') || '/',
    os: text('os') || 'unknown',
    host: text('host'),
    user: text('user'),
    uid: Number.parseInt(text('uid'), 10),
    tmp: text('tmp') || '/tmp',
    stat: flavour(text('stat')),
    find: flavour(text('finds')),
    identities: [text('root-is'), text('home-is')],
    confiner: confinerOf(text('confiner')),
    locale: localeOf(text),
    programs: {
      bash: program('bash'),
      rg: program('rg'),
      git: program('git'),
      setsid: program('setsid'),
      find: program('find'),
    },
  }
}

/** @param found - kind and program; what is no absolute path (an alias, say) is none. */
function confinerOf(found: string): Confiner | undefined {
  const [, kind, program] = /^(bwrap|own|root) (\/.*)$/.exec(found) ?? []
  if (program === undefined) return undefined
  if (kind === 'own' || kind === 'root') return { means: 'namespaces', program, shownAs: kind }
  return { means: 'bwrap', program }
}

function flavour(text: string): StatFlavour & FindFlavour {
  return text === 'gnu' || text === 'bsd' || text === 'busybox' ? text : 'none'
}

/** POSIX lets LC_ALL win over LC_CTYPE, and that over LANG; `locale` knows whether the machine has it at all. */
function localeOf(text: (key: string) => string): Locale {
  const [lang, lcAll, charmap] = [text('lang'), text('lc_all'), text('charmap')]
  const effective = lcAll || text('lc_ctype') || lang
  return { lang, lcAll, charmap, utf8: /utf-?8/i.test(charmap || effective) }
}

/** The probe printed nothing of ours: is it the account that runs nothing, or is there no POSIX shell? */
async function whyNoShell(exec: Exec, said: string, signal: AbortSignal | undefined): Promise<ShellAnswer> {
  const what = (await printsAWord(exec, signal))
    ? 'its login shell runs commands, but there is no POSIX shell (/bin/sh) to run them with'
    : 'this account runs no commands'
  const words = said === '' ? ' (its login shell ended without a word)' : `; it says: ${said}`
  return { kind: 'none', reason: `${what}${words}` }
}
