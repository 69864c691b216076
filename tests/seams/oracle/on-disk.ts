/** What lies below a folder, in words that are the same for both worlds. It reads and changes nothing. */
import { createHash } from 'node:crypto'
import { lstatSync, readFileSync, readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'

export function hashOf(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 16)
}

/** Every name below the folder with its type, mode, owner, links and content. */
export function onDisk(disk: string): string[] {
  const found: string[] = []
  const walk = (path: string, name: string): void => {
    const entry = lstatSync(path)
    const mode = (entry.mode & 0o7777).toString(8)
    const owner = `${entry.uid}:${entry.gid}`
    if (entry.isSymbolicLink()) {
      found.push(`${name} -> ${readlinkSync(path).replaceAll(disk, '<folder>')}`)
    } else if (entry.isDirectory()) {
      found.push(`${name}/ ${mode} ${owner}`)
      for (const child of readdirSync(path).toSorted()) walk(join(path, child), `${name}/${child}`)
    } else if (entry.isFile()) {
      found.push(
        `${name} ${mode} ${owner} ${entry.nlink} links ${entry.size} bytes ${hashOf(readFileSync(path))}`,
      )
    } else found.push(`${name} ${mode} ${owner} other`)
  }
  walk(disk, '')
  return found
}
