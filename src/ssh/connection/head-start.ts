/**
 * What of a connection can begin before its settings are certain. The judge of the settings is a program
 * that takes as long to start as a near server to answer; our own evaluation foretells its answer at once.
 * Nothing is said to the server before the answer: an attempt that began wrongly is dropped unused.
 */
import { diesWith, race, type WayOut } from '../../base/race.ts'
import { collectIdentities, type Identities } from '../auth/identities.ts'
import type { AuthSettings, MachineSettings } from '../config/settings.ts'
import type { Stage } from '../errors.ts'
import type { Carrier } from './carrier.ts'
import { dial } from './dial.ts'

export interface HeadStartNeeds {
  /** The settings as they most likely are; undefined where that cannot be told without running something. */
  readonly forecast?: (machine: string) => Promise<MachineSettings | undefined>
  readonly env: NodeJS.ProcessEnv
  readonly platform: NodeJS.Platform
}

interface Begun {
  readonly settings: MachineSettings
  readonly carrier: Promise<Carrier>
  readonly identities: Promise<Identities>
}

export class HeadStart {
  readonly #dropped = new AbortController()
  readonly #begun: Promise<Begun | undefined>
  #enter: (stage: Stage) => void = (stage) => void (this.#stage = stage)
  #stage: Stage = 'dns'
  #taken = false

  constructor(machine: string, needs: HeadStartNeeds) {
    this.#begun = this.#begin(machine, needs)
  }

  /** The identities, if they were collected for these settings. */
  async identities(auth: AuthSettings): Promise<Identities | undefined> {
    const begun = await this.#begun
    return begun !== undefined && isSame(begun.settings.auth, auth) ? begun.identities : undefined
  }

  /**
   * The open socket, if it leads where these settings want it; only once.
   * @throws as `dial`.
   */
  async carrier(
    settings: MachineSettings,
    ways: readonly WayOut[],
    enter: (stage: Stage) => void,
  ): Promise<Carrier | undefined> {
    const begun = await this.#begun
    if (begun === undefined || this.#taken || !isSame(wayTo(begun.settings), wayTo(settings)))
      return undefined
    this.#taken = true
    enter(this.#stage)
    this.#enter = enter
    try {
      const carrier = await race(() => begun.carrier, ways)
      // It may have been closed while nobody looked.
      return carrier.stream.destroyed ? undefined : carrier
    } catch (error) {
      this.#abandon(begun)
      throw error
    }
  }

  /** End what nobody took. */
  drop(): void {
    if (this.#taken) return
    this.#taken = true
    void this.#begun.then((begun) => begun !== undefined && this.#abandon(begun))
  }

  async #begin(machine: string, needs: HeadStartNeeds): Promise<Begun | undefined> {
    const settings = await needs.forecast?.(machine)
    // A machine behind a proxy is never dialled directly, not even to no purpose.
    if (settings === undefined || this.#taken || isBehindProxy(settings)) return undefined
    const carrier = dial(settings, [diesWith(this.#dropped.signal)], (stage) => this.#enter(stage))
    const identities = collectIdentities(settings.auth, needs.env, needs.platform)
    // Whoever takes them hears of their failure; nobody need take them.
    carrier.catch((_heardByTheTaker: unknown) => undefined)
    identities.catch((_heardByTheTaker: unknown) => undefined)
    return { settings, carrier, identities }
  }

  #abandon(begun: Begun): void {
    this.#dropped.abort(new Error('the attempt was given up'))
    begun.carrier.then(
      (carrier) => carrier.close(),
      (_itFailedAnyway: unknown) => undefined,
    )
  }
}

function isBehindProxy({ proxyJump, proxyCommand }: MachineSettings): boolean {
  return proxyJump.length > 0 || proxyCommand !== undefined
}

function wayTo(settings: MachineSettings): unknown {
  const { host, port, addressFamily, bindAddress } = settings
  return [host, port, addressFamily, bindAddress ?? null, isBehindProxy(settings)]
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
