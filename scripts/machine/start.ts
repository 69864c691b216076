/** The machine for demo and tests: the installed sshd when there is one, the embedded server otherwise. */
import { startEmbedded } from './embedded.ts'
import { sshdInstalled, startOpenSsh } from './openssh.ts'
import type { DemoMachine, MachineOptions } from './machine.ts'

export function startMachine(options: MachineOptions): Promise<DemoMachine> {
  return sshdInstalled() ? startOpenSsh(options) : startEmbedded(options)
}
