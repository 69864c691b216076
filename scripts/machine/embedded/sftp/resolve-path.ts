/**
 * The canonical path as OpenSSH's server answers it: links followed, and, unlike realpath(3), a last
 * component that does not exist is kept.
 */
import { readlink, realpath } from 'node:fs/promises'

/** As many as Linux follows (path_resolution(7)). */
const MAX_LINKS = 40

export async function resolvePath(path: Buffer): Promise<Buffer> {
  let wanted = path
  for (let followed = 0; followed <= MAX_LINKS; followed += 1) {
    const found = await realpath(wanted, { encoding: 'buffer' }).catch(onlyIf('ENOENT'))
    if (found !== undefined) return found
    const { parent, name } = split(wanted)
    const folder = await realpath(parent, { encoding: 'buffer' })
    const entry = join(folder, name)
    // A link that points to nothing resolves to where it points.
    const target = await readlink(entry, { encoding: 'buffer' }).catch(onlyIf('ENOENT'))
    if (target === undefined) return entry
    wanted = target[0] === 0x2f ? target : join(folder, target)
  }
  throw Object.assign(new Error('too many links'), { code: 'ELOOP', errno: -40 })
}

/** For `catch`: this error code means "not there", any other one is thrown again. */
function onlyIf(code: string): (failure: unknown) => undefined {
  return (failure) => {
    if ((failure as NodeJS.ErrnoException).code === code) return undefined
    throw failure
  }
}

function split(path: Buffer): { parent: Buffer; name: Buffer } {
  let end = path.length
  while (end > 1 && path[end - 1] === 0x2f) end -= 1
  const slash = path.subarray(0, end).lastIndexOf(0x2f)
  return { parent: path.subarray(0, Math.max(slash, 1)), name: path.subarray(slash + 1, end) }
}

function join(folder: Buffer, name: Buffer): Buffer {
  const slash = folder.length === 1 ? Buffer.alloc(0) : Buffer.from('/')
  return Buffer.concat([folder, slash, name])
}
