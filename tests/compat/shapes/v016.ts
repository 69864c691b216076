/**
 * The host's provider classes as 0.1.6 has them: ranges and watches of files, a control channel beside
 * the streams of a process and no process id, terminals that are resized, and a `confine` to wait for.
 */
import type { Duplex } from 'node:stream'
import { Service, type Context } from '@deepseek-ai/cordis'
import type { FsTarget } from '@deepseek-ai/dsh-fs'
import {
  approveEscalation,
  ESCALATION_TARGETS,
  escalationHintMarker,
  sandboxDenialMarker,
  SandboxUnavailableError,
  validateEscalationArgs,
  WIDER_MODES,
  type ConfinedArgv,
  type SandboxMode,
  type SandboxPolicy,
} from '@deepseek-ai/dsh-sandbox'
import type {
  SubprocessHandle as Rc8Handle,
  SubprocessSpawnSpec as Rc8Spec,
  SubprocessStdio,
  SubprocessTerminalHandle as Rc8TerminalHandle,
  SubprocessTerminalSpawnSpec as Rc8TerminalSpec,
} from '@deepseek-ai/dsh-subprocess'
import { defineTool } from '@deepseek-ai/dsh-tools'
import * as earlier from './rc8.ts'
import { rc8, type MethodsOf } from './rc8.ts'
import { recorded, type Answer } from './recorded.ts'
import type { ClassShape, Shape } from './shape.ts'

export abstract class FileSystem extends earlier.FileSystem {
  abstract readByteRange(
    target: FsTarget,
    range: { offset: number; length: number },
    signal?: AbortSignal,
  ): Promise<Uint8Array>
  abstract watch(
    target: FsTarget,
    changed: (error?: Error) => void,
    signal: AbortSignal,
  ): Promise<() => Promise<void>>
  processPathFromHostPath(_hostPath: string): string | undefined {
    return undefined
  }
}

export interface SubprocessSpawnSpec extends Omit<Rc8Spec, 'stdio'> {
  stdio: SubprocessStdio & { control?: 'pipe' }
}
export interface SubprocessHandle extends Omit<Rc8Handle, 'pid'> {
  readonly control: Duplex | undefined
}
export interface SubprocessTerminalSpawnSpec extends Rc8TerminalSpec {
  terminalType: string
}
export interface SubprocessTerminalHandle extends Rc8TerminalHandle {
  resize(cols: number, rows: number): Promise<void>
}

export abstract class SubprocessRuntime extends Service {
  constructor(ctx: Context) {
    super(ctx, 'subprocess')
  }
  abstract resolveExecutable(
    command: string,
    env?: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<string>
  abstract terminalEnvironment(
    signal?: AbortSignal,
  ): Promise<{ platform: 'posix' | 'windows'; defaultShell?: string }>
  abstract spawn(spec: SubprocessSpawnSpec): SubprocessHandle
  abstract spawnTerminal(spec: SubprocessTerminalSpawnSpec): Promise<SubprocessTerminalHandle>
}

export abstract class SandboxProvider extends Service {
  constructor(ctx: Context) {
    super(ctx, 'sandbox')
  }
  abstract confine(
    argv: readonly string[],
    policy: SandboxPolicy,
    signal?: AbortSignal,
  ): Promise<ConfinedArgv>
}

const FILE_SYSTEM = {
  ...earlier.FILE_SYSTEM,
  readByteRange: 'promise',
  watch: 'promise',
} as const satisfies Record<Exclude<MethodsOf<FileSystem>, 'processPathFromHostPath'>, Answer>

export const SUBPROCESS = {
  resolveExecutable: 'promise',
  terminalEnvironment: 'promise',
  spawn: 'value',
  spawnTerminal: 'promise',
} as const satisfies Record<MethodsOf<SubprocessRuntime>, Answer>

export const SANDBOX = { confine: 'promise' } as const satisfies Record<MethodsOf<SandboxProvider>, Answer>

const fileSystem: ClassShape = {
  abstract: FILE_SYSTEM,
  concrete: { processPathFromHostPath: 'value' },
  reserved: rc8.fileSystem.reserved,
}
const subprocess: ClassShape = {
  abstract: SUBPROCESS,
  concrete: {},
  reserved: [
    ...rc8.subprocess.reserved,
    'controlChannels',
    'fallbackWarningIssued',
    'linuxDeepProbePassed',
    'reportSpillFailure',
    'selectContainmentMode',
    'warnFallback',
  ],
}
const sandbox: ClassShape = { abstract: SANDBOX, concrete: {}, reserved: rc8.sandbox.reserved }

class SandboxedFileSystem extends recorded(FileSystem, { ...FILE_SYSTEM, ...fileSystem.concrete }) {
  static inject = ['sandboxPolicy']
  get sandboxMode(): SandboxMode {
    return 'workspace-write'
  }
}
class LocalSubprocessRuntime extends recorded(SubprocessRuntime, SUBPROCESS) {}
class LocalSandboxProvider extends recorded(SandboxProvider, SANDBOX) {}

export const v016: Shape = {
  // 0.1.2 to 0.1.6-alpha.1 lie between: they have ranges, and no watch.
  versions: ['0.1.6-alpha.2'],
  fileSystem,
  subprocess,
  sandbox,
  modules: {
    ...rc8.modules,
    '@deepseek-ai/dsh-fs': { ...rc8.modules['@deepseek-ai/dsh-fs'], FileSystem, default: FileSystem },
    '@deepseek-ai/dsh-fs-sandbox': { SandboxedFileSystem, default: SandboxedFileSystem },
    '@deepseek-ai/dsh-subprocess-local': { LocalSubprocessRuntime, default: LocalSubprocessRuntime },
    // Only what was seen in these versions: a name that is missing here may be missing there.
    '@deepseek-ai/dsh-sandbox': {
      SandboxProvider,
      default: SandboxProvider,
      SandboxUnavailableError,
      approveEscalation,
      ESCALATION_TARGETS,
      escalationHintMarker,
      sandboxDenialMarker,
      validateEscalationArgs,
      WIDER_MODES,
    },
    '@deepseek-ai/dsh-tools': { defineTool },
    '@deepseek-ai/dsh-sandbox-local': { LocalSandboxProvider, default: LocalSandboxProvider },
  },
}
