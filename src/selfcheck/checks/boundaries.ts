/** Checks of what must not happen: past the sandbox's fence, on this computer, and left on the machine. */
import { lstat, mkdir, readFile, readdir, realpath, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { FsError } from '@deepseek-ai/dsh-fs'
import { SandboxedFileSystem } from '@deepseek-ai/dsh-fs-sandbox'
import type { SandboxExecutionPolicy } from '@deepseek-ai/dsh-sandbox'
import { systemCode } from '../../base/failure.ts'
import { nameOf, parentOf } from '../../base/remote-path.ts'
import type { Check } from '../check.ts'
import { holds, refusedWith, same } from '../expectations.ts'

export const BOUNDARIES: readonly Check[] = [
  {
    name: 'a read-only session changes no file',
    make: async (at) => {
      await at.bench.put(at.path('file'), 'one')
      const policy: SandboxExecutionPolicy = { mode: 'read-only', workspaceRoot: at.mount() }
      const edit = { oldString: 'one', newString: 'two', replaceAll: false }
      await refusedWith('FS_SANDBOX_DENIED', 'a write', at.hostError, async () =>
        at.fs.writeText(await at.target('new'), 'x', undefined, at.signal, policy),
      )
      await refusedWith('FS_SANDBOX_DENIED', 'an edit', at.hostError, async () =>
        at.fs.editText(await at.target('file'), edit, undefined, at.signal, policy),
      )
      same('the folder', await at.bench.names(at.folder), ['file'])
      same('the file', await at.bench.text(at.path('file')), 'one')
    },
  },
  {
    name: 'a workspace-write session changes files in its folder, and none outside',
    make: async (at) => {
      await at.bench.makeFolder(at.path('inside'))
      const policy: SandboxExecutionPolicy = { mode: 'workspace-write', workspaceRoot: at.mount('inside') }
      const write = (name: string) => async () =>
        at.fs.writeText(await at.target(name), 'x', undefined, at.signal, policy)
      await write('inside/file')()
      same('the folder', await at.bench.names(at.path('inside')), ['file'])
      const outside = at.bench.outside('outside')
      await refusedWith('FS_SANDBOX_DENIED', 'a write outside', at.hostError, write(outside))
      const roundabout = `inside/${'../'.repeat(20)}${outside.slice(1)}`
      await refusedWith('FS_SANDBOX_DENIED', 'a write outside by `..`', at.hostError, write(roundabout))
      holds('nothing may have been written outside', !(await at.bench.exists(outside)))
      if (at.bench.session.shell === undefined) return 'links were not tried: this account runs no commands'
      await at.bench.link(at.path('inside/way-out'), parentOf(outside))
      const linked = `inside/way-out/${nameOf(outside)}`
      await refusedWith('FS_SANDBOX_DENIED', 'a write outside by a link', at.hostError, write(linked))
      holds('nothing may have been written through a link', !(await at.bench.exists(outside)))
      return undefined
    },
  },
  {
    name: "the host's classes are the very ones that Presence uses",
    make: (at) => {
      const { host } = at
      holds(`the host's classes must be found: ${host.problem ?? ''}`, host.problem === undefined)
      holds('FsError must be the class that the host knows refusals by', host.FsError === FsError)
      const sameBase = host.SandboxedFileSystem === SandboxedFileSystem
      holds("the file system's base class must be the host's", sameBase)
      const inherits = Object.prototype.isPrototypeOf.call(SandboxedFileSystem.prototype, at.fs)
      holds("the file system must inherit from the host's", inherits)
      return Promise.resolve()
    },
  },
  {
    name: "a local folder is served by the host's own code, and by nothing else",
    make: async (at) => {
      const folder = await realpath(at.local)
      await mkdir(join(folder, 'sub'))
      await writeFile(join(folder, 'file'), 'one\r\ntwo\r\n')
      const base = SandboxedFileSystem.prototype
      const target = await at.fs.resolve('file', { cwd: folder, signal: at.signal })
      same('the target', target, await base.resolve.call(at.fs, 'file', { cwd: folder }))
      same('its key', target.targetKey, join(folder, 'file'))
      same('its process path', at.fs.processPath(target), join(folder, 'file'))
      same('its metadata', await at.fs.stat(target), await base.stat.call(at.fs, target))
      same('its text', await at.fs.readText(target), 'one\r\ntwo\r\n')
      const whole = await at.fs.resolve(folder)
      same('the folder', await at.fs.listDir(whole), await base.listDir.call(at.fs, whole))
      const edit = { oldString: 'two', newString: 'TWO', replaceAll: false }
      const version = (await at.fs.stat(target))?.version
      await at.fs.editText(target, edit, version === undefined ? undefined : { version })
      same('the edited file on the disk', await readFile(join(folder, 'file'), 'utf8'), 'one\r\nTWO\r\n')
      await at.fs.writeText(await at.fs.resolve('sub/new', { cwd: folder }), 'new')
      same('the written file on the disk', await readFile(join(folder, 'sub/new'), 'utf8'), 'new')
      const names = (await readdir(folder, { recursive: true })).toSorted()
      same('everything in the folder', names, ['file', 'sub', join('sub', 'new')])
      same('what of it came to the machine', await at.bench.names(at.folder), [])
    },
  },
  {
    name: 'the folder on this computer that stands for the one on the machine stays empty',
    when: 'at the end',
    make: async (at) => {
      const marker = at.presence.mounts.format({ machine: at.bench.machine, path: at.bench.folder })
      same('files and folders in it', await everythingIn(marker), [])
    },
  },
  {
    name: 'no temporary file is left beside those that were written',
    when: 'at the end',
    make: async (at) => {
      const everything = await at.bench.everything()
      holds('the checks before must have written something', everything.length > 0)
      // None of the names that the checks use begins with a dot.
      same(
        'files that nobody asked for',
        everything.filter((path) => /(^|\/)\./.test(path)),
        [],
      )
    },
  },
  {
    name: 'nothing of these checks is left on the machine',
    when: 'after clearing',
    make: async (at) => {
      same('what is left', await at.bench.remains(), [])
      return `${nameOf(at.bench.folder)} was removed from ${at.bench.base}`
    },
  },
]

/** Names below a folder; a folder that is not there has none. */
async function everythingIn(folder: string): Promise<string[]> {
  try {
    await lstat(folder)
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return []
    throw error
  }
  return (await readdir(folder, { recursive: true })).toSorted()
}
