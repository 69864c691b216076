/**
 * The host's own `bash` for sessions on a machine while the host itself runs on Windows, where it mounts
 * only `pwsh`. It is given to those sessions alone, and only to those that have a shell at all; whatever it
 * starts goes through our seams to the machine, with the host's own modes, approval, jobs and cards.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { messageOf } from '../base/failure.ts'
import { SEAMS, type Presence } from '../core/presence.ts'

/** Packages of every host, whatever it runs on; the first has the class, the second is a plugin. */
const EXECUTOR = '@deepseek-ai/dsh-bash-sandbox'
const TOOL = '@deepseek-ai/dsh-tool-bash'
/** As the host's own row for POSIX has it. */
const CONFIG = { timeoutMs: 60_000 }

/** What a command of the executor says of where it runs. */
interface Spec {
  readonly workdir: string
}

interface ExecutorClass {
  new (
    ctx: Context,
    config: unknown,
  ): {
    run(spec: Spec): Promise<unknown>
    start(spec: Spec): unknown
  }
  Config(config: object): unknown
}

interface Plugging {
  isolate(name: string): Plugging
  plugin(row: unknown, config: unknown): void
}

/**
 * @param ctx - has `agents` and `tools`.
 * @param load - imports a package of the host. By name only and when it is needed: a host that lacks one
 * starts all the same.
 */
export function bashOnWindows(
  ctx: Context,
  presence: Presence,
  load: (name: string) => Promise<unknown> = (name) => import(name),
): void {
  const loading = Promise.all([load(EXECUTOR), load(TOOL)]).then(
    ([executor, tool]) => ({ executor: executorFor(presence, executor as { default: ExecutorClass }), tool }),
    (error: unknown) => {
      ctx.logger.warn(`presence: sessions on machines have no "bash" on Windows: ${messageOf(error)}`)
      return undefined
    },
  )
  const mounted = new Map<Agent, () => Promise<unknown>>()
  const decide = (agent: Agent): void => {
    if (mounted.has(agent) || !isFor(ctx, presence, agent)) return
    const fiber = agent.ctx.inject(['tools', 'subprocess', 'sandbox', 'sandboxPolicy'], async (scope) => {
      const loaded = await loading
      if (loaded === undefined) return
      // The host's `shell` is PowerShell's, and so are the settings of that name.
      const apart = (scope as unknown as Plugging).isolate('shell').isolate('settings')
      apart.plugin(loaded.executor, loaded.executor.Config(CONFIG))
      apart.plugin(loaded.tool, {})
      withoutPwsh(scope)
    })
    mounted.set(agent, () => Promise.resolve(fiber.dispose()))
  }
  ctx.effect(() => {
    for (const agent of ctx.agents.list()) decide(agent)
    return async () => {
      await Promise.all([...mounted.values()].map((dispose) => dispose()))
    }
  }, 'presence: bash on Windows')
  ctx.on('agent/created', ({ agent }) => decide(agent))
  ctx.on('agent/disposed', ({ agent }) => void mounted.delete(agent))
}

function isFor(ctx: Context, presence: Presence, agent: Agent): boolean {
  const { cwd } = agent.session.header
  if (cwd === undefined || presence.mounts.locate(cwd).world !== 'remote') return false
  // Without the seams a command would run here.
  if (!SEAMS.every((seam) => presence.seams.has(seam))) return false
  // A preset without a shell is to stay without one.
  return ctx.tools.get('pwsh', agent) !== undefined && ctx.tools.get('bash', agent) === undefined
}

/** PowerShell is this computer's: for such a session it could only fail. */
function withoutPwsh(scope: Context): void {
  const why = 'the commands of this session run on its machine: use bash'
  scope.tools.guard(({ name }) => (name === 'pwsh' ? why : undefined))
  try {
    scope.tools.restrict({ deny: ['pwsh'] })
  } catch (_itIsTheSessionsOwn) {
    // Only what a session inherits can be hidden from it.
    scope.logger.debug('presence: pwsh stays in view, and is denied')
  }
}

/** The host's executor, which refuses what would run on this computer. */
function executorFor(presence: Presence, { default: Executor }: { default: ExecutorClass }): ExecutorClass {
  const refuse = ({ workdir }: Spec): void => {
    if (presence.mounts.placeOf(workdir) !== undefined) return
    if (workdir.startsWith('/') && !presence.isLocalPlace(workdir)) return
    throw new Error(`"${workdir}" is on this computer, and the commands of this session run on its machine`)
  }
  return class BashOnMachines extends Executor {
    override run(spec: Spec): Promise<unknown> {
      refuse(spec)
      return super.run(spec)
    }

    override start(spec: Spec): unknown {
      refuse(spec)
      return super.start(spec)
    }
  }
}
