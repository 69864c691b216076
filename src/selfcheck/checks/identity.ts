/** Checks of which file a path means: spellings, links, what is not there yet, and the way back. */
import { fileURLToPath } from 'node:url'
import { placeKey } from '../../places/place.ts'
import type { Check } from '../check.ts'
import { holds, same } from '../expectations.ts'

export const IDENTITY: readonly Check[] = [
  {
    name: 'every spelling of a file has one identity',
    make: async (at) => {
      await at.bench.makeFolder(at.path('sub'))
      await at.bench.put(at.path('sub/a.txt'), 'a')
      const spellings = [
        'sub/a.txt',
        './sub//a.txt',
        'sub/../sub/a.txt',
        at.mount('sub/a.txt'),
        // In a session on the machine an absolute path means the machine's.
        at.path('sub/a.txt'),
      ]
      const key = placeKey({ machine: at.bench.machine, path: at.path('sub/a.txt') })
      for (const spelling of spellings) {
        const target = await at.target(spelling)
        same(`identity of "${spelling}"`, target.targetKey, key)
        same(`shown path of "${spelling}"`, target.displayPath, at.mount('sub/a.txt'))
      }
    },
  },
  {
    name: 'a link and what it leads to are one file',
    make: async (at) => {
      await at.bench.makeFolder(at.path('real'))
      await at.bench.put(at.path('real/a.txt'), 'a')
      await at.bench.link(at.path('file-link'), 'real/a.txt')
      await at.bench.link(at.path('folder-link'), 'real')
      const key = (await at.target('real/a.txt')).targetKey
      same('identity of a link to the file', (await at.target('file-link')).targetKey, key)
      same('identity through a link to its folder', (await at.target('folder-link/a.txt')).targetKey, key)
      const link = await at.fs.lstat('file-link', { cwd: at.mount() }, at.signal)
      same('type of the link itself', link?.type, 'symlink')
    },
  },
  {
    name: 'what does not exist yet has the identity that it will have',
    make: async (at) => {
      const before = await at.target('new folder/new.txt')
      await at.bench.makeFolder(at.path('new folder'))
      await at.bench.put(at.path('new folder/new.txt'), 'new')
      const after = await at.target('new folder/new.txt')
      same('identity before it existed', before.targetKey, after.targetKey)
      const key = placeKey({ machine: at.bench.machine, path: at.path('new folder/new.txt') })
      same('identity', after.targetKey, key)
    },
  },
  {
    name: 'the path given to processes leads back to the same file',
    make: async (at) => {
      await at.bench.put(at.path("it's 100% a name"), 'a')
      const target = await at.target("it's 100% a name")
      const path = at.fs.processPath(target)
      same('identity of the path given to processes', (await at.target(path)).targetKey, target.targetKey)
      const fromUrl = fileURLToPath(at.fs.fileUrl(target))
      same('identity of the file URL', (await at.target(fromUrl)).targetKey, target.targetKey)
      same('what is read by that path', await at.fs.readText(await at.target(path), at.signal), 'a')
    },
  },
  {
    name: 'a folder contains what is in it and itself, and nothing else',
    make: async (at) => {
      const contains = async (outer: string, inner: string): Promise<boolean> =>
        at.fs.contains(await at.target(outer), await at.target(inner))
      await at.bench.makeFolder(at.path('a'))
      await at.bench.makeFolder(at.path('ab'))
      holds('a folder must contain a file in it', await contains('a', 'a/deep/file'))
      holds('a folder must contain itself', await contains('a', 'a'))
      holds('a folder must not contain one whose name only begins alike', !(await contains('a', 'ab/file')))
      holds('a folder must not contain what `..` leads out of it', !(await contains('a', 'a/../file')))
      holds('a folder must not contain its parent', !(await contains('a', '.')))
      const local = await at.fs.resolve(at.local, { signal: at.signal })
      const root = await at.target('/')
      holds('a local folder must contain nothing of the machine', !at.fs.contains(local, root))
      holds('a folder of the machine must contain nothing local', !at.fs.contains(root, local))
    },
  },
]
