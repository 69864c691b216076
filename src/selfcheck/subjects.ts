/**
 * The services under examination as bare instances: objects with the classes' methods and the fields
 * that their constructors would have filled, but never constructed, so that nothing is registered and
 * the host's own services stay as they are.
 */
import { tmpdir } from 'node:os'
import type { SandboxExecutionPolicy } from '@deepseek-ai/dsh-sandbox'
import type { Presence } from '../core/presence.ts'
import PresenceFileSystem from '../seams/fs.ts'
import PresenceSandbox from '../seams/sandbox.ts'
import PresenceSubprocess from '../seams/subprocess.ts'

export interface Subjects {
  readonly fs: PresenceFileSystem
  readonly subprocess: PresenceSubprocess
  readonly sandbox: PresenceSandbox
}

const DIFF_LIMIT_BYTES = 1024 * 1024

/** The policy of calls that bring none of their own: everything a check needs to do, it may do. */
const UNFENCED: SandboxExecutionPolicy = { mode: 'danger-full-access', workspaceRoot: tmpdir() }

export function bareSubjects(presence: Presence): Subjects {
  return {
    fs: bare(PresenceFileSystem.prototype, {
      presence,
      diffLimit: DIFF_LIMIT_BYTES,
      ctx: { sandboxPolicy: { resolve: () => UNFENCED } },
      // Fields of the host's base classes.
      defaultMode: UNFENCED.mode,
      config: { cwd: tmpdir(), diffBasisMaxBytes: DIFF_LIMIT_BYTES },
      internals: {},
      locks: new Map(),
    }),
    subprocess: bare(PresenceSubprocess.prototype, {
      presence,
      running: new Set(),
      // Fields of the host's base class.
      live: new Set(),
      terminals: new Set(),
      internals: {},
    }),
    sandbox: bare(PresenceSandbox.prototype, { presence }),
  }
}

function bare<Service extends object>(prototype: Service, fields: object): Service {
  return Object.assign(Object.create(prototype) as Service, fields)
}
