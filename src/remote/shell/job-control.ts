/**
 * A program in a process group of its own on a terminal that another process shares with it. Under
 * bubblewrap that other process is bubblewrap itself: Ctrl-C at the program would end it, and with it all.
 */
import type { Shell } from '../capabilities.ts'

/**
 * Runs its arguments as the one job of a shell with job control, in the foreground, and ends as they do.
 * Nothing could bring a stopped job back, so it goes on at once (148 and its neighbours: stopped by a signal).
 */
const ONE_JOB = `
again() {
  case $s in 14[789]|150) fg >/dev/null 2>&1; s=$?; again ;; esac
}
"$@"
s=$?
again
exec 2>/dev/null
exit "$s"
`

/** bash has job control only when it is interactive; other shells have it when they are told. */
export function inForegroundGroup(argv: readonly string[], { programs }: Shell): string[] {
  const shell =
    programs.bash === undefined ? ['/bin/sh', '-m'] : [programs.bash, '--norc', '--noprofile', '-i']
  return [...shell, '-c', ONE_JOB, 'presence', ...argv]
}
