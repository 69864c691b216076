/** The whole tree by SFTP alone, as `@` references list it where no commands are run. */
import { parseRemotePath } from '../../../src/base/remote-path.ts'
import { ReferenceIndex } from '../../../src/remote/search/reference-index.ts'
import type { Entry } from '../entries.ts'
import { FILE_NAMES } from '../tools/project.ts'
import { OURS_FILES_ONLY, WALK } from './goals.ts'
import type { Machines } from './machines.ts'
import type { Tree } from './tree.ts'

export function walkingEntry({ filesOnly: { machine, files } }: Machines, tree: Tree): Entry {
  return {
    what: WALK,
    who: OURS_FILES_ONLY,
    measure: async () => {
      await tree.move()
      // The host's own limits would end the walk in the middle.
      const limits = { maxResults: tree.count * 2, maxEntries: tree.count * 2, excluded: new Set(['.git']) }
      const index = new ReferenceIndex(machine, files, parseRemotePath(tree.path), limits)
      const began = performance.now()
      const found = await index.query(FILE_NAMES, new AbortController().signal)
      const ms = performance.now() - began
      const paths = found.filter(({ kind }) => kind === 'file').map(({ path }) => path)
      tree.expectAll(paths, OURS_FILES_ONLY)
      return ms
    },
  }
}
