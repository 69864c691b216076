/**
 * One connection to one machine together with what was learnt over it: capabilities and the helper
 * shell live exactly as long as the link they were probed on.
 */
import { Emitter } from '../base/emitter.ts'
import { messageOf } from '../base/failure.ts'
import { SharedAttempt } from '../base/shared-attempt.ts'
import type { SftpChannel } from '../ssh/channel/sftp.ts'
import type { Lease } from '../ssh/connection/bulk-lane.ts'
import type { ExecChannel } from '../ssh/channel/exec.ts'
import type { Exec, ExecOptions, Link } from '../ssh/connection/link.ts'
import type { MachineConnection } from '../ssh/connection/machine-connection.ts'
import { ChannelError } from '../ssh/errors.ts'
import {
  probeShell,
  type Capabilities,
  type Roots,
  type SftpAnswer,
  type Shell,
  type ShellAnswer,
} from './capabilities.ts'
import { hasNoLogin } from './refused-login.ts'
import { compareRoots } from './roots.ts'
import { ReadyShells } from './process/ready-shells.ts'
import { FILE_FUNCTIONS } from './shell/file-functions.ts'
import { startScript } from './shell/command-line.ts'
import { HelperShell } from './shell/helper-shell.ts'
import { openScript } from './shell/open-script.ts'
import { READY } from './shell/scripts.ts'

export class MachineSession {
  readonly link: Link
  readonly capabilities: Capabilities
  /** Run a command line through the login shell, wherever there is room for it. */
  readonly exec: Exec
  /** A command or a terminal of ours begins or has ended: it may change anything; or one begins that only reads. */
  readonly commands = new Emitter<'begins' | 'ended' | 'reads'>()
  /** For commands: each takes one. */
  readonly shells: ReadyShells
  readonly #usable: ShellAnswer
  readonly #openingHelper: SharedAttempt<HelperShell>
  #helper: HelperShell | undefined
  /** Whether the machine's programs do all that publishing needs; a fact of the machine. */
  #able: Promise<boolean> | undefined

  /** Probe a fresh link; SFTP is opened beside the probe, since both will be wanted. */
  static async begin(
    connection: MachineConnection,
    link: Link,
    signal?: AbortSignal,
  ): Promise<MachineSession> {
    const exec: Exec = (command, options) => connection.exec(link, command, options)
    // Whoever needs SFTP is told the reason of its failure then; without it commands still work.
    const opening = link.sftp(signal).catch((error: unknown) => ({ error }))
    const commands = await probeShell(exec, signal)
    const opened = await opening
    const sftp = 'error' in opened ? undefined : opened
    const roots: Roots =
      sftp === undefined || commands.kind === 'none'
        ? { kind: 'unknown' }
        : await compareRoots(exec, sftp, commands.shell, signal)
    return new MachineSession(exec, link, {
      commands,
      loginShell: await loginShellOf(commands, sftp, link, signal),
      sftp:
        'error' in opened
          ? noSftp(opened.error)
          : { kind: 'sftp', extensions: opened.extensions, way: opened.way },
      roots,
      warnings: warningsOf(sftp, roots),
    })
  }

  private constructor(exec: Exec, link: Link, capabilities: Capabilities) {
    this.exec = exec
    this.link = link
    this.capabilities = capabilities
    const { commands, roots } = capabilities
    // A path must not mean one file to a tool that reads and another one to a command.
    this.#usable = roots.kind === 'different' ? { kind: 'none', reason: apart(roots) } : commands
    this.shells = new ReadyShells((options) => this.#openReady(options), !link.takesTurns)
    this.#openingHelper = new SharedAttempt(`starting a helper shell on ${link.machine}`, async (signal) => {
      const { loginShell } = this.requireShell()
      const functions = this.hasFileFunctions ? FILE_FUNCTIONS : ''
      const helper = await HelperShell.open(this.exec, loginShell, functions, signal)
      this.#helper = helper
      return helper
    })
  }

  get machine(): string {
    return this.link.machine
  }

  /** False when the machine said that it has no SFTP. */
  get sftpAvailable(): boolean {
    return this.capabilities.sftp.kind !== 'none'
  }

  /** Facts of the shell, or undefined when commands cannot be used. */
  get shell(): Shell | undefined {
    return this.#usable.kind === 'shell' ? this.#usable.shell : undefined
  }

  /** What searches there: the machine's ripgrep, our own engine with its basic programs, or nothing. */
  get searchEngine(): 'rg' | 'own' | 'none' {
    const { shell } = this
    if (shell === undefined) return 'none'
    if (shell.programs.rg !== undefined) return 'rg'
    return shell.find === 'none' ? 'none' : 'own'
  }

  /** Version tokens come from the machine's `stat`, beside what SFTP tells. */
  get hasExactVersions(): boolean {
    const stat = this.shell?.stat
    return stat === 'gnu' || stat === 'bsd'
  }

  /** The helper shell has the functions of `file-functions.ts`. */
  get hasFileFunctions(): boolean {
    return this.shell?.stat === 'gnu' && this.shell.find === 'gnu'
  }

  /** @throws ChannelError `no-exec` when commands cannot be used. */
  requireShell(): Shell {
    if (this.#usable.kind === 'shell') return this.#usable.shell
    throw new ChannelError(this.#usable.reason, 'no-exec', { machine: this.machine })
  }

  /** About how long an answer takes, in milliseconds; infinite as long as nothing was asked of its SFTP. */
  get roundTripMs(): number {
    return this.link.roundTripMs
  }

  sftp(signal?: AbortSignal): Promise<SftpChannel> {
    return this.link.sftp(signal)
  }

  /**
   * The helper where it has the functions for files, and everything that they rely on.
   * @returns undefined otherwise.
   */
  async fileHelper(): Promise<HelperShell | undefined> {
    if (!this.hasFileFunctions) return undefined
    const helper = await this.helper()
    this.#able ??= helper.run('able').then(({ output }) => output.toString('latin1') === 'dd place ')
    // Asked anew when there was no answer.
    const able = await this.#able.catch((error: unknown) => {
      this.#able = undefined
      throw error
    })
    return able ? helper : undefined
  }

  /** The helper shell where it is open, or can be at once; undefined when a question would wait for room. */
  async helperAtHand(signal?: AbortSignal): Promise<HelperShell | undefined> {
    if (this.#helper?.usable === true) return this.#helper
    if (this.shell === undefined || !this.link.hasRoom({ lasting: true })) return undefined
    return this.helper(signal)
  }

  /**
   * A channel for a transfer of about so many bytes. One that small requests do not use, where the machine has
   * such a one: if SFTP had to be started as a command, there is one only.
   */
  async bulkSftp(bytes: number, signal?: AbortSignal): Promise<Lease> {
    const { sftp } = this.capabilities
    if (sftp.kind === 'sftp' && sftp.way.kind === 'service') return this.link.bulkSftp(bytes, signal)
    return { sftp: await this.sftp(signal), shared: true, release: () => undefined }
  }

  #openReady(options: ExecOptions): Promise<ExecChannel> {
    const start = startScript(READY, [], this.requireShell().loginShell)
    return openScript(this.exec, start, { ...options, harmless: true })
  }

  async helper(signal?: AbortSignal): Promise<HelperShell> {
    if (this.#helper?.usable === true) return this.#helper
    return this.#openingHelper.join(signal)
  }
}

async function loginShellOf(
  commands: ShellAnswer,
  sftp: SftpChannel | undefined,
  { facts }: Link,
  signal: AbortSignal | undefined,
): Promise<Capabilities['loginShell']> {
  if (commands.kind === 'shell') return commands.shell.kind
  return (await hasNoLogin(sftp, facts.settings.user, commands.reason, signal)) ? 'nologin' : 'unknown'
}

function noSftp(error: unknown): SftpAnswer {
  return { kind: error instanceof ChannelError ? 'none' : 'unknown', reason: messageOf(error) }
}

function apart({ start, home }: Roots & { readonly kind: 'different' }): string {
  return (
    `commands are off, because its SFTP (which starts in ${start}) shows other folders than its shell ` +
    `(which starts in ${home}): the same path would mean two files`
  )
}

function warningsOf(sftp: SftpChannel | undefined, roots: Roots): string[] {
  const { way } = sftp ?? {}
  return [
    ...(way?.kind === 'program' ? [`files go through ${way.program}, run as a command: ${way.reason}`] : []),
    ...(roots.kind === 'different' ? [apart(roots)] : []),
  ]
}
