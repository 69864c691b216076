/** One entry of a folder. */
import type { RemotePath } from '../../base/remote-path.ts'
import type { FileType } from './stat.ts'

export interface ListedEntry {
  /** As the host shows it; `path` has the bytes. */
  readonly name: string
  /** Links count as what they lead to; dangling ones are `other`. */
  readonly type: Exclude<FileType, 'symlink'>
  readonly size: number
  readonly isLink: boolean
  /** Where the entry really is: the link's target, or the entry itself. */
  readonly path: RemotePath
  /** As `stat` of the path has it; undefined when that is not known. */
  readonly version: string | undefined
}
