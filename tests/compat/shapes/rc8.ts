/** The host's provider classes as 0.1.0-rc.8 has them; 0.1.1-rc.2 is the same to the letter. */
import { Service, type Context } from '@deepseek-ai/cordis'
import * as fileReference from '@deepseek-ai/dsh-file-reference-local'
import {
  FsError,
  FsTargetKey,
  FsVersion,
  type FsDirEntry,
  type FsEditOutcome,
  type FsEditRequest,
  type FsInfo,
  type FsPathInfo,
  type FsTarget,
  type FsWriteIntent,
  type FsWriteOutcome,
} from '@deepseek-ai/dsh-fs'
import * as sandboxPackage from '@deepseek-ai/dsh-sandbox'
import type {
  ConfinedArgv,
  SandboxExecutionPolicy,
  SandboxMode,
  SandboxPolicy,
} from '@deepseek-ai/dsh-sandbox'
import type {
  SubprocessHandle,
  SubprocessSpawnSpec,
  SubprocessTerminalHandle,
  SubprocessTerminalSpawnSpec,
} from '@deepseek-ai/dsh-subprocess'
import * as tools from '@deepseek-ai/dsh-tools'
import { recorded, type Answer } from './recorded.ts'
import type { ClassShape, Shape } from './shape.ts'

export abstract class FileSystem extends Service {
  constructor(ctx: Context) {
    super(ctx, 'fs')
  }
  get sandboxMode(): SandboxMode | undefined {
    return undefined
  }
  abstract resolve(path: string, opts?: { cwd?: string; signal?: AbortSignal }): Promise<FsTarget>
  abstract processPath(target: FsTarget): string
  abstract fileUrl(target: FsTarget): string
  abstract contains(parent: FsTarget, child: FsTarget): boolean
  abstract stat(target: FsTarget, signal?: AbortSignal): Promise<FsInfo | undefined>
  abstract lstat(path: string, opts?: { cwd?: string }, signal?: AbortSignal): Promise<FsPathInfo | undefined>
  abstract readText(target: FsTarget, signal?: AbortSignal): Promise<string>
  abstract streamText(target: FsTarget, signal?: AbortSignal): Promise<AsyncIterable<string>>
  abstract readBytes(target: FsTarget, signal: AbortSignal | undefined, maxBytes: number): Promise<Uint8Array>
  abstract listDir(target: FsTarget, signal?: AbortSignal): Promise<FsDirEntry[]>
  abstract writeText(
    target: FsTarget,
    content: string,
    expected?: FsWriteIntent,
    signal?: AbortSignal,
    sandboxPolicy?: SandboxExecutionPolicy,
  ): Promise<FsWriteOutcome>
  abstract editText(
    target: FsTarget,
    edit: FsEditRequest,
    expected?: { version: FsVersion },
    signal?: AbortSignal,
    sandboxPolicy?: SandboxExecutionPolicy,
  ): Promise<FsEditOutcome>
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
  abstract spawn(spec: SubprocessSpawnSpec): SubprocessHandle
  abstract spawnTerminal(spec: SubprocessTerminalSpawnSpec): Promise<SubprocessTerminalHandle>
}

export abstract class SandboxProvider extends Service {
  constructor(ctx: Context) {
    super(ctx, 'sandbox')
  }
  abstract confine(argv: readonly string[], policy: SandboxPolicy): ConfinedArgv
}

/** Names an abstract class adds to those of every service. The compiler holds the lists below to them. */
export type MethodsOf<T> = Exclude<keyof T, keyof Service | 'sandboxMode'>

export const FILE_SYSTEM = {
  resolve: 'promise',
  processPath: 'value',
  fileUrl: 'value',
  contains: 'value',
  stat: 'promise',
  lstat: 'promise',
  readText: 'promise',
  streamText: 'promise',
  readBytes: 'promise',
  listDir: 'promise',
  writeText: 'promise',
  editText: 'promise',
} as const satisfies Record<MethodsOf<FileSystem>, Answer>

const SUBPROCESS = {
  resolveExecutable: 'promise',
  spawn: 'value',
  spawnTerminal: 'promise',
} as const satisfies Record<MethodsOf<SubprocessRuntime>, Answer>

const SANDBOX = { confine: 'value' } as const satisfies Record<MethodsOf<SandboxProvider>, Answer>

const fileSystem: ClassShape = {
  abstract: FILE_SYSTEM,
  concrete: {},
  reserved: ['config', 'internals', 'locks', 'withLock', 'versionAfterWrite', 'defaultMode', 'checkedTarget'],
}
const subprocess: ClassShape = {
  abstract: SUBPROCESS,
  concrete: {},
  reserved: [
    'live',
    'terminals',
    'internals',
    'terminalInspector',
    'terminateForHostExit',
    'disposeManagedProcesses',
    'executableCandidates',
  ],
}
const sandbox: ClassShape = {
  abstract: SANDBOX,
  concrete: {},
  reserved: [
    'internals',
    'runnerCommand',
    'configuredRunnerFailureSignatures',
    'probeTimeoutMs',
    'selectedRunner',
    'workspaceGrants',
    'tempCapabilities',
    'runnerArgv',
    'windowsAclRunnerArgv',
    'materializeAclGrant',
    'revokeAclGrants',
    'removeTempDir',
    'selectRunner',
    'chainVerdict',
    'probeRunner',
    'landlockLauncher',
    'seatbeltExec',
    'windowsAclRunnerInvocation',
  ],
}

class SandboxedFileSystem extends recorded(FileSystem, FILE_SYSTEM) {
  static inject = ['sandboxPolicy']
  get sandboxMode(): SandboxMode {
    return 'workspace-write'
  }
}
class LocalSubprocessRuntime extends recorded(SubprocessRuntime, SUBPROCESS) {}
class LocalSandboxProvider extends recorded(SandboxProvider, SANDBOX) {}

export const rc8: Shape = {
  versions: ['0.1.0-rc.8', '0.1.1-rc.2'],
  fileSystem,
  subprocess,
  sandbox,
  modules: {
    '@deepseek-ai/dsh-fs': { FileSystem, default: FileSystem, FsError, FsTargetKey, FsVersion },
    '@deepseek-ai/dsh-fs-sandbox': { SandboxedFileSystem, default: SandboxedFileSystem },
    '@deepseek-ai/dsh-subprocess-local': { LocalSubprocessRuntime, default: LocalSubprocessRuntime },
    '@deepseek-ai/dsh-sandbox': { ...sandboxPackage, SandboxProvider, default: SandboxProvider },
    '@deepseek-ai/dsh-sandbox-local': { LocalSandboxProvider, default: LocalSandboxProvider },
    // The same in every version that could be read.
    '@deepseek-ai/dsh-file-reference-local': { ...fileReference },
    '@deepseek-ai/dsh-tools': { ...tools },
  },
}
