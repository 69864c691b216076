/** The demo machine with a fresh copy of the sample project on it, as a target. */
import { cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseProbe } from '../../src/remote/capabilities.ts'
import { startProbe } from '../../src/remote/shell/command-line.ts'
import { markedLines } from '../../src/remote/shell/marked-answer.ts'
import { randomMark } from '../../src/remote/shell/marked.ts'
import { PROBE } from '../../src/remote/shell/scripts.ts'
import { witnessOf } from '../machine/independent.ts'
import { startMachine } from '../machine/start.ts'
import type { DemoMachine } from '../machine/machine.ts'
import { SAMPLE, SAMPLE_NAME } from './sample.ts'
import type { Target } from './target.ts'

export async function demoTarget(folder: string): Promise<Target> {
  const machine = await startMachine({ folder })
  const project = join(machine.home, SAMPLE_NAME)
  await rm(project, { recursive: true, force: true })
  await cp(SAMPLE, project, { recursive: true })
  await makeRepository(project)
  const confined = await canConfine(machine)
  return {
    alias: machine.alias,
    folder: project,
    entry: {
      host: machine.host,
      port: machine.port,
      user: machine.user,
      identityFile: machine.identityFile,
      knownHostsFile: machine.knownHostsFile,
      ...(confined ? {} : { unconfined: true }),
    },
    witness: witnessOf(machine),
    about: [
      machine.kind === 'openssh'
        ? `an OpenSSH server of this computer, for account ${machine.user}, on ${machine.host}:${machine.port}`
        : `an SSH server inside this program (no sshd is installed here), on ${machine.host}:${machine.port}`,
      ...(confined
        ? []
        : ['this computer can confine no commands: the demo machine is set to run them unconfined']),
    ],
  }
}

/**
 * What `git init` makes, without needing git: the demo lies inside this checkout, and a project of its own
 * must end where its repository does, or the agent would be given this checkout's instructions too.
 */
async function makeRepository(project: string): Promise<void> {
  const git = join(project, '.git')
  await Promise.all(
    ['objects/info', 'objects/pack', 'refs/heads', 'refs/tags'].map((folder) =>
      mkdir(join(git, folder), { recursive: true }),
    ),
  )
  await writeFile(join(git, 'HEAD'), 'ref: refs/heads/main\n')
  await writeFile(join(git, 'config'), '[core]\n\trepositoryformatversion = 0\n\tbare = false\n')
}

/** Tried by use, as Presence itself does: what is installed may still not be allowed to work. */
async function canConfine(machine: DemoMachine): Promise<boolean> {
  const mark = randomMark()
  const { stdout } = await machine.run(startProbe(PROBE, mark).commandLine)
  const answer = markedLines(stdout, mark, '')
  return answer.kind === 'answer' && parseProbe(answer.lines).confiner !== undefined
}
