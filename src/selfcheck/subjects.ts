/**
 * The services under examination as bare instances: of the very classes that the host's rows use, but
 * made in a context that has no registry, no events and no effects. So nothing is registered, the host's
 * own services stay as they are, and there is nothing to dispose of.
 */
import { tmpdir } from 'node:os'
import type { Context } from '@deepseek-ai/cordis'
import type { SandboxExecutionPolicy } from '@deepseek-ai/dsh-sandbox'
import PresenceFileSystem from '../seams/fs.ts'
import PresenceSandbox from '../seams/sandbox.ts'
import PresenceSubprocess from '../seams/subprocess.ts'

export interface Subjects {
  readonly fs: PresenceFileSystem
  readonly subprocess: PresenceSubprocess
  readonly sandbox: PresenceSandbox
}

/** The policy of calls that bring none of their own: what a check needs to do, it may do. */
const UNFENCED: SandboxExecutionPolicy = { mode: 'danger-full-access', workspaceRoot: tmpdir() }

/** `ctx` must have shared its Presence already: the instances use the same one, and keep no hold of it. */
export function bareSubjects(ctx: Context): Subjects {
  const bare = bareContext(ctx)
  return {
    fs: new PresenceFileSystem(bare, PresenceFileSystem.Config({ cwd: tmpdir() })),
    subprocess: new PresenceSubprocess(bare),
    sandbox: new PresenceSandbox(bare, PresenceSandbox.Config({})),
  }
}

function bareContext({ root, logger }: Context): Context {
  const nothing = (): void => undefined
  const bare = {
    root,
    logger,
    reflect: { provide: nothing },
    effect: nothing,
    inject: nothing,
    on: nothing,
    sandboxPolicy: { defaultMode: UNFENCED.mode, resolve: () => UNFENCED },
  }
  return bare as unknown as Context
}
