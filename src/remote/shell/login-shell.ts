/** Which shell an account logs in to, as far as its answers tell. Names only: how it quotes is tested. */
import type { LoginShell } from './command-line.ts'

/** `sh`: a POSIX shell under that name alone. `tcsh` stands for every C shell, `busybox` for its `ash`. */
export type ShellKind =
  'sh' | 'bash' | 'dash' | 'zsh' | 'ksh' | 'fish' | 'tcsh' | 'busybox' | 'nologin' | 'unknown'

const KINDS: readonly (readonly [RegExp, ShellKind])[] = [
  [/^r?bash[\d.-]*$/, 'bash'],
  [/^dash$/, 'dash'],
  [/^r?zsh[\d.-]*$/, 'zsh'],
  [/^(ksh|ksh93|rksh|mksh|pdksh|lksh|oksh)$/, 'ksh'],
  [/^fish$/, 'fish'],
  [/^(t?csh|bsd-csh)$/, 'tcsh'],
  [/^(busybox|ash)$/, 'busybox'],
  [/^sh$/, 'sh'],
]

const NOT_POSIX: ReadonlySet<ShellKind> = new Set(['fish', 'tcsh'])

/**
 * @param path - what the account's `SHELL` says.
 * @param program - the same with every link followed.
 * @param quoting - how it was seen to quote; a name that contradicts it was set by a script and is not believed.
 */
export function shellKindOf(path: string, program: string, quoting: LoginShell): ShellKind {
  const named = byName(program) ?? byName(path) ?? 'unknown'
  if (quoting === 'unknown' || named === 'unknown') return named
  return NOT_POSIX.has(named) === (quoting === 'foreign') ? named : 'unknown'
}

/** @param entry - the last field of an account's line in `/etc/passwd`. */
export function refuses(entry: string): boolean {
  return /\/(nologin|false)$/.test(entry)
}

function byName(path: string): ShellKind | undefined {
  const name = path.slice(path.lastIndexOf('/') + 1)
  return KINDS.find(([names]) => names.test(name))?.[1]
}
