/**
 * The host's provider classes as 0.2.1 has them: a watch that providers may leave out, and terminals
 * that tell whether their shell is busy. Everything else is as in 0.1.6.
 */
import { FsError, type FsTarget } from '@deepseek-ai/dsh-fs'
import type { SandboxMode } from '@deepseek-ai/dsh-sandbox'
import * as first from './rc8.ts'
import { rc8, type MethodsOf } from './rc8.ts'
import { recorded, type Answer } from './recorded.ts'
import type { ClassShape, Shape } from './shape.ts'
import * as earlier from './v016.ts'
import { v016 } from './v016.ts'

export abstract class FileSystem extends first.FileSystem {
  abstract readByteRange(
    target: FsTarget,
    range: { offset: number; length: number },
    signal?: AbortSignal,
  ): Promise<Uint8Array>
  watch(
    _target: FsTarget,
    _changed: (error?: Error) => void,
    signal: AbortSignal,
  ): Promise<() => Promise<void>> {
    signal.throwIfAborted()
    return Promise.reject(
      new FsError('Filesystem watching is not supported by this provider.', 'FS_IO_ERROR'),
    )
  }
  processPathFromHostPath(_hostPath: string): string | undefined {
    return undefined
  }
}

export interface SubprocessTerminalSpawnSpec extends earlier.SubprocessTerminalSpawnSpec {
  shellActivity?: boolean | undefined
}
export interface SubprocessTerminalHandle extends earlier.SubprocessTerminalHandle {
  inspectActivity(): Promise<{ state: 'idle' | 'busy' | 'unknown'; revision: number }>
}

export abstract class SubprocessRuntime extends earlier.SubprocessRuntime {
  abstract override spawnTerminal(spec: SubprocessTerminalSpawnSpec): Promise<SubprocessTerminalHandle>
}

const FILE_SYSTEM = {
  ...first.FILE_SYSTEM,
  readByteRange: 'promise',
} as const satisfies Record<Exclude<MethodsOf<FileSystem>, 'watch' | 'processPathFromHostPath'>, Answer>

const fileSystem: ClassShape = {
  abstract: FILE_SYSTEM,
  concrete: { watch: 'promise', processPathFromHostPath: 'value' },
  reserved: rc8.fileSystem.reserved,
}

class SandboxedFileSystem extends recorded(FileSystem, { ...FILE_SYSTEM, ...fileSystem.concrete }) {
  static inject = ['sandboxPolicy']
  get sandboxMode(): SandboxMode {
    return 'workspace-write'
  }
}
class LocalSubprocessRuntime extends recorded(SubprocessRuntime, earlier.SUBPROCESS) {}

export const v021: Shape = {
  // The classes are these since 0.1.7.
  versions: ['0.1.7-alpha.2', '0.2.0-rc.2', '0.2.1-alpha.1', '0.2.1-alpha.2'],
  fileSystem,
  subprocess: v016.subprocess,
  sandbox: v016.sandbox,
  modules: {
    ...v016.modules,
    '@deepseek-ai/dsh-fs': { ...rc8.modules['@deepseek-ai/dsh-fs'], FileSystem, default: FileSystem },
    '@deepseek-ai/dsh-fs-sandbox': { SandboxedFileSystem, default: SandboxedFileSystem },
    '@deepseek-ai/dsh-subprocess-local': { LocalSubprocessRuntime, default: LocalSubprocessRuntime },
  },
}
