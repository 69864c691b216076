/**
 * A Cordis context with nothing of DSH but the rows a scenario loads: what state each row is in, what was
 * logged, and what the host's own check of a finished start would say.
 */
import { Context, type Fiber } from '@deepseek-ai/cordis'
import { nestedPackage } from '../project/checkout.ts'

export interface Row {
  readonly name: string
  readonly fiber: Fiber
}

/** Cordis's own numbers; its enum is gone at run time. */
const STATES = ['pending', 'loading', 'active', 'failed', 'disposed', 'unloading'] as const
export type RowState = (typeof STATES)[number]

/** The part of the loader that the host's check looks at. */
interface LoaderLike {
  readonly loader: {
    entries(): readonly { fiber: Fiber; disabled: false; options: { name: string } }[]
  }
}

interface AppBoot {
  assertEntriesActivated(ctx: LoaderLike, program: string): Promise<void>
}

export class BareHost {
  readonly ctx = new Context()
  readonly #rows: Row[] = []

  /** Load a row and let everything settle. A row that fails is told by its state and the log. */
  async load(name: string, plugin: unknown, config: object = {}): Promise<Row> {
    const { ctx } = this
    const load = ctx.plugin as (plugin: unknown, config: object) => Fiber
    const row = { name, fiber: load.call(ctx, plugin, config) }
    this.#rows.push(row)
    await this.settle()
    return row
  }

  async unload(row: Row): Promise<void> {
    this.#rows.splice(this.#rows.indexOf(row), 1)
    await row.fiber.dispose()
    await this.settle()
  }

  async settle(): Promise<void> {
    await Promise.allSettled(this.#rows.map((row) => row.fiber.await()))
  }

  stateOf(row: Row): RowState {
    return STATES[row.fiber.state] ?? 'disposed'
  }

  /** A service as another plugin gets it; undefined while nobody provides it. */
  service<T>(name: string): T | undefined {
    return (this.ctx as unknown as { get(name: string): T | undefined }).get(name)
  }

  /** How many listen to an event of the host. */
  listeners(event: string): number {
    const { dispatch } = this.ctx.events as unknown as { dispatch(mode: string, args: unknown[]): unknown[] }
    return dispatch.call(this.ctx.events, 'emit', [event]).length
  }

  /** Everything logged as an error so far, one text an error. */
  errors(): string[] {
    return this.ctx.logger.buffer
      .filter((message) => message.type === 'error')
      .map(({ args }) => String(args[0] instanceof Error ? args[0].message : args[0]))
  }

  /** What the host prints and stops with after a start that left rows behind; undefined for a good one. */
  async complaint(): Promise<string | undefined> {
    const { assertEntriesActivated } = (await import(nestedPackage('@deepseek-ai/dsh-app-boot'))) as AppBoot
    const entries = this.#rows.map(({ name, fiber }) => ({
      fiber,
      disabled: false as const,
      options: { name },
    }))
    try {
      await assertEntriesActivated({ loader: { entries: () => entries } }, 'dsh')
      return undefined
    } catch (complaint) {
      return (complaint as Error).message
    }
  }

  async close(): Promise<void> {
    for (const row of this.#rows.splice(0).toReversed()) await row.fiber.dispose()
  }
}
