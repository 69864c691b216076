/** Machines without ripgrep, with one or another set of basic programs first on the PATH of their commands. */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { findProgram } from '../../scripts/project/programs.ts'
import { startOpenSsh, type OpenSshOptions } from '../../scripts/machine/openssh.ts'
import { rigOf, type Rig } from './rig.ts'

export type Userland = 'gnu' | 'busybox' | 'bsd-like'

/** What a search may use of busybox; its shell is the system's own. */
const APPLETS = [
  'find',
  'grep',
  'xargs',
  'cat',
  'stat',
  'nice',
  'uname',
  'id',
  'tr',
  'head',
  'wc',
  'readlink',
]

/** GNU's programs with the options of BSD's: what those do not know is refused, what only they know works. */
const BSD_LIKE: Readonly<Record<string, string>> = {
  find: `
for a do case $a in -printf) echo "find: -printf: unknown primary or operator" >&2; exit 1 ;; esac; done
if [ "$1" = -f ]; then shift; fi
exec /usr/bin/find "$@"
`,
  stat: `
l=
while :; do
  case $1 in
    -L) l=-L; shift ;;
    -f) f=$2; shift 2; break ;;
    *) echo "stat: illegal option" >&2; exit 1 ;;
  esac
done
case $f in
  %Fm) exec /usr/bin/stat $l -c %.9Y "$@" ;;
  *) printf '%o ' "0x$(/usr/bin/stat $l -c %f "$@")" && exec /usr/bin/stat $l -c '%u %g %Y' "$@" ;;
esac
`,
  grep: `
for a do case $a in -*[PZ]*) case $a in -e*) ;; *) echo "grep: unknown option" >&2; exit 2 ;; esac ;; esac; break; done
exec /usr/bin/grep "$@"
`,
}

/** Argv in front of a server's own that hides a program from all it starts. */
export function hiding(program: string): string[] {
  return replacing({ [program]: '/dev/null' })
}

/** Argv in front of a server's own that puts a file in the place of each program, for all it starts. */
export function replacing(programs: Readonly<Record<string, string>>): string[] {
  const hidden = Object.entries(programs).flatMap(([program, by]) => {
    const found = findProgram(program)
    return found === undefined ? [] : ['--ro-bind', by, realpathSync(found)]
  })
  // sshd as root changes accounts, which a sandbox would forbid it.
  const privileges = process.getuid?.() === 0 ? ['--cap-add', 'ALL'] : []
  return ['bwrap', '--die-with-parent', '--dev-bind', '/', '/', ...hidden, ...privileges, '--']
}

/** Put the programs of a userland into a machine's own `bin`; a ripgrep that the rig put there goes. */
export function furnish(bin: string, userland: Userland): void {
  rmSync(join(bin, 'rg'), { force: true })
  if (userland === 'busybox') {
    const busybox = findProgram('busybox')
    if (busybox === undefined) throw new Error('busybox is not installed')
    const has = new Set(execFileSync(busybox, ['--list'], { encoding: 'utf8' }).split('\n'))
    for (const applet of APPLETS.filter((name) => has.has(name))) symlinkSync(busybox, join(bin, applet))
  }
  if (userland === 'bsd-like') {
    for (const [name, script] of Object.entries(BSD_LIKE)) {
      writeFileSync(join(bin, name), `#!/bin/sh${script}`)
      chmodSync(join(bin, name), 0o755)
    }
  }
}

export async function startRigWithoutRipgrep(
  userland: Userland,
  options: Partial<OpenSshOptions> = {},
): Promise<Rig> {
  const folder = mkdtempSync('/var/tmp/presence-rig-')
  const server = await startOpenSsh({ folder, within: hiding('rg'), ...options })
  furnish(join(dirname(server.home), 'bin'), userland)
  return rigOf(folder, server)
}
