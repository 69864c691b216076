/**
 * Room for one more command. A server allows a few sessions on a connection, and a terminal keeps one for
 * as long as it is open: when those of the main link are taken, commands go over further connections.
 */
import { rest } from '../../base/race.ts'
import { SharedAttempt } from '../../base/shared-attempt.ts'
import type { ExecChannel } from '../channel/exec.ts'
import { ChannelError } from '../errors.ts'
import { QueueLeft } from './channel-slots.ts'
import type { ExecOptions, Link } from './link.ts'

/** More connections than this, beside the main one, would look like an attack to some servers. */
const MOST_SPARES = 3
/** A burst of short commands is through by then; only what stays for long makes others wait longer. */
const WAIT_MS = 1000
/** What stays for long is refused when it finds no place: it would wait for something else like it. */
const LASTING_WAIT_MS = 30_000

export class SpareLinks {
  readonly #main: Link
  readonly #opening: SharedAttempt<Link>
  readonly #spares = new Set<Link>()
  readonly #yielding = new Set<() => void>()
  /** Those that yield before anything else is done to make room. */
  readonly #modest = new Set<() => void>()

  /** @param connect - makes one more connection to the same machine, without asking anybody anything. */
  constructor(main: Link, connect: (signal: AbortSignal) => Promise<Link>) {
    this.#main = main
    this.#opening = new SharedAttempt(`one more connection to ${main.machine}`, async (signal) => {
      const link = await connect(signal)
      this.#spares.add(link)
      link.dead.addEventListener('abort', () => this.#spares.delete(link))
      // Made while the main link was closed: nobody will close it then.
      if (!this.#main.alive) link.end()
      return link
    })
  }

  /** As `Link.exec`, on the first link that has room. */
  async exec(command: string, options: ExecOptions = {}): Promise<ExecChannel> {
    const { yields, modest = false, wakes } = options
    const channel = await (modest ? this.#atOnce(command, options) : this.#place(command, options))
    if (yields !== undefined) {
      const yielding = modest ? this.#modest : this.#yielding
      const forget = (): void => void yielding.delete(yields)
      yielding.add(yields)
      void channel.closed.then(forget)
      wakes?.addEventListener('abort', forget, { once: true })
    }
    return channel
  }

  async #atOnce(command: string, options: ExecOptions): Promise<ExecChannel> {
    try {
      const link = this.#roomy(options)
      if (link === undefined) throw new QueueLeft()
      return await link.exec(command, { ...options, leaveQueue: AbortSignal.abort() })
    } catch (error) {
      if (!(error instanceof QueueLeft)) throw error
      throw new ChannelError('its SSH server has no room for it now', 'refused', {
        machine: this.#main.machine,
        cause: error,
      })
    }
  }

  async #place(command: string, options: ExecOptions): Promise<ExecChannel> {
    const began = performance.now()
    const roomy = this.#roomy(options)
    if (roomy === undefined) this.#askTheModest()
    const further = roomy === undefined && options.urgent === true ? await this.#oneMore(options) : undefined
    let link = roomy ?? further ?? this.#queueing(options) ?? this.#main
    for (;;) {
      const elsewhere = new AbortController()
      const attempt = link.exec(command, { ...options, leaveQueue: elsewhere.signal })
      const next = await this.#better(link, attempt, options, began)
      if (next === undefined) return attempt
      elsewhere.abort()
      try {
        return await attempt
      } catch (error) {
        if (!(error instanceof QueueLeft)) throw error
      }
      if (next instanceof ChannelError) throw next
      link = next
    }
  }

  /** @returns where to go instead, or why to give up; undefined when the attempt has settled first. */
  async #better(
    link: Link,
    attempt: Promise<ExecChannel>,
    options: ExecOptions,
    began: number,
  ): Promise<Link | ChannelError | undefined> {
    const settled = attempt.then(
      () => true,
      (_thrownToTheCaller: unknown) => true,
    )
    for (;;) {
      if (await Promise.race([settled, rest(WAIT_MS).then(() => false)])) return undefined
      if (this.#askTheModest()) continue
      const other =
        this.#roomy(options, link) ??
        (await this.#oneMore(options)) ??
        (link.isHopeless(options) ? this.#queueing(options) : undefined)
      if (other !== undefined) return other
      for (const yields of this.#yielding) yields()
      if (options.lasting === true && performance.now() - began > LASTING_WAIT_MS) {
        return new ChannelError(
          'all the sessions that its SSH server allows are in use; close a terminal or end a command',
          'refused',
          { machine: link.machine },
        )
      }
    }
  }

  /** Close spares that are idle for at least `idleMs`. */
  closeIdle(idleMs: number): void {
    for (const link of this.#spares) if (link.idleMs >= idleMs) link.end()
  }

  end(): void {
    for (const link of this.#spares) link.end()
  }

  /** @returns whether there was one that may have made room. */
  #askTheModest(): boolean {
    const asked = [...this.#modest]
    this.#modest.clear()
    for (const yields of asked) yields()
    return asked.length > 0
  }

  #roomy(options: ExecOptions, except?: Link): Link | undefined {
    return [this.#main, ...this.#spares].find(
      (link) => link.alive && link !== except && link.hasRoom(options),
    )
  }

  /** The link whose queue is the shortest to wait in. */
  #queueing(options: ExecOptions): Link | undefined {
    return [this.#main, ...this.#spares]
      .filter((link) => link.alive && !link.isHopeless(options))
      .toSorted((a, b) => a.commandsRunning - b.commandsRunning)[0]
  }

  /** @returns undefined when there shall be no more, or none could be made: the queue remains. */
  async #oneMore({ signal, urgent = false }: ExecOptions): Promise<Link | undefined> {
    const most = MOST_SPARES + (urgent ? 1 : 0)
    // A person would be asked again for each connection.
    if (this.#spares.size >= most || this.#main.facts.method === 'keyboard-interactive') return undefined
    return this.#opening.join(signal).catch((_theQueueRemains: unknown) => undefined)
  }
}
