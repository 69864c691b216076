/** Machines that lack a program which this computer has. */
import { realpathSync } from 'node:fs'
import { findProgram } from '../project/programs.ts'

/** Argv in front of a server's own that hides a program from all it starts. Needs bubblewrap. */
export function hiding(program: string): string[] {
  const found = findProgram(program)
  const hidden = found === undefined ? [] : ['--ro-bind', '/dev/null', realpathSync(found)]
  // sshd as root changes accounts, which a sandbox would forbid it.
  const privileges = process.getuid?.() === 0 ? ['--cap-add', 'ALL'] : []
  return ['bwrap', '--die-with-parent', '--dev-bind', '/', '/', ...hidden, ...privileges, '--']
}
