/**
 * What this host can do beyond the first version we know: every feature is looked for, never a version
 * number. The one place that asks; it decides nothing and knows no machine.
 */
import type { ConfinedArgv, SandboxPolicy } from '@deepseek-ai/dsh-sandbox'
import type { FsTarget } from '@deepseek-ai/dsh-fs'
import type { SubprocessStdio, SubprocessTerminalSpawnSpec } from '@deepseek-ai/dsh-subprocess'

/** Members of the host's file system that came later. A base class may have any of them, or none. */
export interface LaterFileSystem {
  readByteRange(
    target: FsTarget,
    range: { offset: number; length: number },
    signal?: AbortSignal,
  ): Promise<Uint8Array>
  watch(target: FsTarget, changed: (error?: Error) => void, signal: AbortSignal): Promise<() => Promise<void>>
  processPathFromHostPath(hostPath: string): string | undefined
}

/** What later hosts give `confine` beyond the command and its policy. */
export type LaterConfineArguments = readonly [signal?: AbortSignal]

/**
 * `confine` as any host's base class has it. Later ones answer with a promise and their callers await
 * it, the first ones take the answer as it is: an override that answers at once serves both.
 */
export type HostConfine = (
  argv: readonly string[],
  policy: SandboxPolicy,
  ...later: LaterConfineArguments
) => ConfinedArgv

/** The host's own method behind an override, or undefined on a host that does not have it. */
export function hostMethod<T, K extends keyof T & string>(
  base: { readonly prototype: object },
  name: K,
): T[K] | undefined {
  const method: unknown = Reflect.get(base.prototype, name)
  return typeof method === 'function' ? (method as T[K]) : undefined
}

/** Later hosts can ask for a byte channel beside the standard streams. */
export function wantsControl(stdio: SubprocessStdio): boolean {
  return Reflect.get(stdio, 'control') !== undefined
}

/** Later hosts say what the terminal is to be; the first ones know only the plainest. */
export function terminalTypeOf(spec: SubprocessTerminalSpawnSpec): string {
  const type: unknown = Reflect.get(spec, 'terminalType')
  return typeof type === 'string' ? type : (spec.env?.['TERM'] ?? 'dumb')
}
