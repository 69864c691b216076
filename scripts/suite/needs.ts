/**
 * What the suite needs of the machine it runs on, and how to get it there. A missing program is
 * installed or named, never worked around: a test that did not run has proved nothing.
 */
import { run, runVisibly } from '../project/children.ts'
import { findProgram } from '../project/programs.ts'

interface Need {
  readonly program: string
  /** The Debian package that has it. */
  readonly debian: string
}

const NEEDS: readonly Need[] = [
  { program: 'sshd', debian: 'openssh-server' },
  { program: 'ssh', debian: 'openssh-client' },
  { program: 'sftp', debian: 'openssh-client' },
  { program: 'ssh-keygen', debian: 'openssh-client' },
  { program: 'ssh-agent', debian: 'openssh-client' },
  { program: 'ssh-add', debian: 'openssh-client' },
  { program: 'rg', debian: 'ripgrep' },
  { program: 'bwrap', debian: 'bubblewrap' },
  { program: 'dropbear', debian: 'dropbear-bin' },
  { program: 'busybox', debian: 'busybox' },
  { program: 'fish', debian: 'fish' },
  { program: 'tcsh', debian: 'tcsh' },
  { program: 'zsh', debian: 'zsh' },
  { program: 'chromium', debian: 'chromium' },
  { program: 'pgrep', debian: 'procps' },
  { program: 'ss', debian: 'iproute2' },
  { program: 'inotifywait', debian: 'inotify-tools' },
]

/** A second account, for what must be refused to the one that runs the suite. */
const OTHER_USER = 'tester'

/** @throws with the one command to type when something is missing and cannot be installed here. */
export async function provideNeeds(): Promise<void> {
  const missing = missingPackages()
  const root = process.getuid?.() === 0
  if (missing.length > 0) {
    const install = `apt-get install -y --no-install-recommends ${missing.join(' ')}`
    if (!root || findProgram('apt-get') === undefined) {
      throw new Error(`the suite needs programs that this machine lacks. As root, run:\n  ${install}`)
    }
    console.error(`Installing what the suite needs: ${missing.join(', ')}`)
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
    await runVisibly(['apt-get', 'update', '-qq'], { env })
    await runVisibly(install.split(' '), { env })
    const still = missingPackages()
    if (still.length > 0) throw new Error(`still missing after the installation: ${still.join(', ')}`)
  }
  if (root) await provideOtherUser()
}

function missingPackages(): string[] {
  return [
    ...new Set(NEEDS.filter((need) => findProgram(need.program) === undefined).map((need) => need.debian)),
  ]
}

async function provideOtherUser(): Promise<void> {
  const known = await run(['id', '-u', OTHER_USER])
  if (known.code === 0) return
  await runVisibly(['useradd', '--create-home', '--shell', '/bin/bash', OTHER_USER])
  // An account without any password counts as locked and sshd refuses it without PAM.
  await runVisibly(['usermod', '--password', '*', OTHER_USER])
}
