/**
 * One connection to one machine together with what was learnt over it: capabilities and the helper
 * shell live exactly as long as the link they were probed on.
 */
import type { Exec, Link } from '../ssh/connection/link.ts'
import type { MachineConnection } from '../ssh/connection/machine-connection.ts'
import type { SftpChannel } from '../ssh/channel/sftp.ts'
import { SharedAttempt } from '../base/shared-attempt.ts'
import { ChannelError } from '../ssh/errors.ts'
import { probeShell, type Shell, type ShellAnswer } from './capabilities.ts'
import { HelperShell } from './shell/helper-shell.ts'

export class MachineSession {
  readonly link: Link
  /** False when the machine said that it has no SFTP. */
  readonly sftpAvailable: boolean
  /** Run a command line through the login shell, wherever there is room for it. */
  readonly exec: Exec
  readonly #shellAnswer: ShellAnswer
  readonly #openingHelper: SharedAttempt<HelperShell>
  #helper: HelperShell | undefined

  /** Probe a fresh link; SFTP is opened beside the probe, since both will be wanted. */
  static async begin(
    connection: MachineConnection,
    link: Link,
    signal?: AbortSignal,
  ): Promise<MachineSession> {
    const opening = link.sftp(signal).then(
      () => true,
      // Whoever needs SFTP is told the reason then; without it commands still work.
      (error: unknown) => !(error instanceof ChannelError),
    )
    const exec: Exec = (command, options) => connection.exec(link, command, options)
    const answer = await probeShell(link.machine, exec, signal)
    return new MachineSession(exec, link, answer, await opening)
  }

  private constructor(exec: Exec, link: Link, shellAnswer: ShellAnswer, sftpAvailable: boolean) {
    this.exec = exec
    this.link = link
    this.sftpAvailable = sftpAvailable
    this.#shellAnswer = shellAnswer
    this.#openingHelper = new SharedAttempt(`starting a helper shell on ${link.machine}`, async (signal) => {
      const helper = await HelperShell.open(this.exec, this.requireShell().loginShell, signal)
      this.#helper = helper
      return helper
    })
  }

  get machine(): string {
    return this.link.machine
  }

  /** Facts of the shell, or undefined when the account runs no commands. */
  get shell(): Shell | undefined {
    return this.#shellAnswer.kind === 'shell' ? this.#shellAnswer.shell : undefined
  }

  /** @throws ChannelError `no-exec` when the account runs no commands. */
  requireShell(): Shell {
    if (this.#shellAnswer.kind === 'shell') return this.#shellAnswer.shell
    throw new ChannelError(this.#shellAnswer.reason, 'no-exec', { machine: this.machine })
  }

  sftp(signal?: AbortSignal): Promise<SftpChannel> {
    return this.link.sftp(signal)
  }

  async helper(signal?: AbortSignal): Promise<HelperShell> {
    if (this.#helper?.usable === true) return this.#helper
    return this.#openingHelper.join(signal)
  }
}
