/** Machines that lack a program which this computer has, or have another in its place. */
import { realpathSync } from 'node:fs'
import { findProgram } from '../project/programs.ts'

/** Argv in front of a server's own that hides a program from all it starts. Needs bubblewrap. */
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
