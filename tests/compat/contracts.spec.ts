/** What the host's classes promise in each generation, and that our seam classes promise all of it. */
import { SandboxedFileSystem } from '@deepseek-ai/dsh-fs-sandbox'
import type * as realFs from '@deepseek-ai/dsh-fs'
import type * as realSandbox from '@deepseek-ai/dsh-sandbox'
import type * as realSubprocess from '@deepseek-ai/dsh-subprocess'
import { Service } from '@deepseek-ai/cordis'
import { LocalSandboxProvider } from '@deepseek-ai/dsh-sandbox-local'
import { LocalSubprocessRuntime } from '@deepseek-ai/dsh-subprocess-local'
import { describe, expect, expectTypeOf, it } from 'vitest'
import type PresenceFileSystem from '../../src/seams/fs.ts'
import type { RemoteHandle } from '../../src/seams/remote-handle.ts'
import type { RemoteTerminalHandle } from '../../src/seams/remote-terminal-handle.ts'
import type PresenceSandbox from '../../src/seams/sandbox.ts'
import type PresenceSubprocess from '../../src/seams/subprocess.ts'
import type * as shape8 from './shapes/rc8.ts'
import { rc8 } from './shapes/rc8.ts'
import { methodsOf, type ClassShape } from './shapes/shape.ts'
import type * as shape16 from './shapes/v016.ts'
import type * as shape21 from './shapes/v021.ts'
import { seamsOn, SHAPES } from './stage.ts'

/** Questions without a folder: they are about this computer, in every session. */
const WORLD_FREE = new Set(['resolveExecutable', 'terminalEnvironment'])

/** Names of the members that classes give their instances, from a class up to what every service has. */
function memberNames(type: { readonly prototype: object }): string[] {
  const names = new Set<string>()
  for (
    let prototype: unknown = type.prototype;
    prototype !== Service.prototype && typeof prototype === 'object' && prototype !== null;
    prototype = Object.getPrototypeOf(prototype) as unknown
  ) {
    for (const name of Object.getOwnPropertyNames(prototype)) names.add(name)
  }
  names.delete('constructor')
  return [...names].toSorted()
}

describe('the installed host is what its shape says', () => {
  it.each([
    ['fileSystem', SandboxedFileSystem, ['sandboxMode']],
    ['subprocess', LocalSubprocessRuntime, []],
    ['sandbox', LocalSandboxProvider, []],
  ] as const)('%s', (name, type, getters) => {
    const shape: ClassShape = rc8[name]
    const reserved = new Set(shape.reserved)
    const found = memberNames(type).filter((member) => !reserved.has(member))
    expect(found).toEqual([...Object.keys(methodsOf(shape)), ...getters].toSorted())
  })

  it('to the compiler as well', () => {
    expectTypeOf<realFs.FileSystem>().toExtend<shape8.FileSystem>()
    expectTypeOf<shape8.FileSystem>().toExtend<realFs.FileSystem>()
    expectTypeOf<realSubprocess.SubprocessRuntime>().toExtend<shape8.SubprocessRuntime>()
    expectTypeOf<shape8.SubprocessRuntime>().toExtend<realSubprocess.SubprocessRuntime>()
    expectTypeOf<realSandbox.SandboxProvider>().toExtend<shape8.SandboxProvider>()
    expectTypeOf<shape8.SandboxProvider>().toExtend<realSandbox.SandboxProvider>()
  })
})

it('our classes and handles have the types of every generation', () => {
  expectTypeOf<PresenceFileSystem>().toExtend<shape8.FileSystem>()
  expectTypeOf<PresenceFileSystem>().toExtend<shape16.FileSystem>()
  expectTypeOf<PresenceFileSystem>().toExtend<shape21.FileSystem>()
  expectTypeOf<PresenceSubprocess>().toExtend<shape8.SubprocessRuntime>()
  expectTypeOf<PresenceSandbox>().toExtend<shape8.SandboxProvider>()
  // Callers of later generations await the answer, which a plain value survives.
  expectTypeOf<PresenceSandbox['confine']>().parameters.toExtend<
    Parameters<shape16.SandboxProvider['confine']>
  >()
  expectTypeOf<RemoteHandle>().toExtend<realSubprocess.SubprocessHandle>()
  expectTypeOf<RemoteHandle>().toExtend<shape16.SubprocessHandle>()
  expectTypeOf<RemoteTerminalHandle>().toExtend<realSubprocess.SubprocessTerminalHandle>()
  expectTypeOf<RemoteTerminalHandle>().toExtend<shape16.SubprocessTerminalHandle>()
  expectTypeOf<RemoteTerminalHandle>().toExtend<shape21.SubprocessTerminalHandle>()
})

describe.each(SHAPES)('on the classes of %s', (_version, shape) => {
  it('C15: every method that tells worlds apart is ours, so that none can take a remote target for a local one', async () => {
    const classes = await seamsOn(shape)
    for (const name of ['fileSystem', 'subprocess', 'sandbox'] as const) {
      const inherited = Object.keys(methodsOf(shape[name])).filter(
        (method) => !WORLD_FREE.has(method) && !Object.hasOwn(classes[name].prototype, method),
      )
      expect(inherited, name).toEqual([])
    }
  })

  it('no member of ours has a name that the host’s local class keeps for itself', async () => {
    const classes = await seamsOn(shape)
    for (const name of ['fileSystem', 'subprocess', 'sandbox'] as const) {
      const own = Object.getOwnPropertyNames(classes[name].prototype)
      expect(own.filter((member) => shape[name].reserved.includes(member), name)).toEqual([])
    }
  })
})
