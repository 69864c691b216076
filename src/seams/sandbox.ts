/**
 * `ctx.sandbox` for both worlds: the host's local provider for local workspaces; for remote ones the
 * command is marked with its policy, and the machine's own means confine it when it starts there. The
 * host's local wrapper never reaches a machine.
 */
import type { Context } from '@deepseek-ai/cordis'
import { SandboxUnavailableError, type ConfinedArgv, type SandboxPolicy } from '@deepseek-ai/dsh-sandbox'
import { LocalSandboxProvider, type Config } from '@deepseek-ai/dsh-sandbox-local'
import { sharePresence, type Presence } from '../core/presence.ts'
import { StrayPathError } from '../places/errors.ts'
import type { Place } from '../places/place.ts'
import { confinementOf, NOT_CONFINED, waysOut } from '../remote/confine.ts'
import { markConfined } from './confined-argv.ts'
import type { HostConfine, LaterConfineArguments } from './facts.ts'
import { UNCONFINED_EXIT, UNCONFINED_SIGNATURE } from './told-failure.ts'

/** What a write into a read-only bind says, whoever made the bind. */
const DENIAL_SIGNATURES = ['read-only file system']
/** What says that a command was not run because confining it failed; each prints nothing else of its own. */
const RUNNER_FAILURES = [
  { allowedExitCodes: [UNCONFINED_EXIT], fatalSignatures: [UNCONFINED_SIGNATURE, NOT_CONFINED] },
  { fatalSignatures: ['bwrap: '] },
  { allowedExitCodes: [1], fatalSignatures: ['unshare: '] },
]

export default class PresenceSandbox extends LocalSandboxProvider {
  // No `#private` members in services: the host hands them out behind a proxy.
  private readonly presence: Presence

  constructor(ctx: Context, config: Config) {
    super(ctx, config)
    this.presence = sharePresence(ctx, 'sandbox')
  }

  /**
   * Not `async` although later hosts await it: the earliest ones take the answer as it is.
   * @throws SandboxUnavailableError when the machine is known to have no means of confinement.
   */
  override confine(
    argv: readonly string[],
    policy: SandboxPolicy,
    ...later: LaterConfineArguments
  ): ConfinedArgv {
    const world = this.presenceWorld(policy)
    if (world === undefined) return (super.confine as HostConfine).call(this, argv, policy, ...later)
    if (world.place === undefined) return this.presenceStray(argv, policy, world.machine)
    const { place } = world
    const machine = this.presence.machine(place.machine)
    const unconfined = this.presence.machines.get(place.machine)?.unconfined === true
    const session = machine.current
    // Without a shell nothing will run at all; the start itself tells why, in better words.
    const confinement = session?.shell === undefined ? undefined : confinementOf(session.shell, unconfined)
    if (confinement === 'none') throw new SandboxUnavailableError(policy.mode, waysOut(place.machine))
    return {
      argv: markConfined({
        machine: place.machine,
        policy: { mode: policy.mode, root: place.path },
        argv,
      }),
      // Namespaces are partial (docs/decisions/confinement.md), and so is what has not been probed yet.
      enforcement: confinement === 'bwrap' ? 'full' : 'partial',
      denialSignatures: confinement === 'unconfined-by-switch' ? [] : DENIAL_SIGNATURES,
      runnerFailureRules: RUNNER_FAILURES,
    }
  }

  private presenceWorld(policy: SandboxPolicy): { place: Place | undefined; machine: string } | undefined {
    try {
      const place = this.presence.mounts.placeOf(policy.workspaceRoot)
      return place === undefined ? undefined : { place, machine: place.machine }
    } catch (error) {
      if (!(error instanceof StrayPathError)) throw error
      return { place: undefined, machine: error.machine ?? '' }
    }
  }

  /**
   * The workspace is of a machine that is not known any more. The command is marked for it, so that it can
   * run nowhere, and its start says what is wrong: here there would only be talk of missing sandboxes.
   */
  private presenceStray(argv: readonly string[], policy: SandboxPolicy, machine: string): ConfinedArgv {
    return {
      argv: markConfined({ machine, policy: { mode: policy.mode, root: undefined }, argv }),
      enforcement: 'partial',
      denialSignatures: [],
      runnerFailureRules: [],
    }
  }
}
