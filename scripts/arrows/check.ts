/**
 * Checks a source tree against the room table: no import that the table does not name, no cycle of
 * files, no package outside its place. It reads files and reports; it changes nothing.
 */
import { readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { dirname, join, posix, sep } from 'node:path'
import { importsOf, type Import } from './imports.ts'
import { ONLY_IN, ROOMS } from './rooms.ts'

/** One forbidden import or cycle, as a sentence that begins with the place. */
export type Violation = string

interface SourceFile {
  /** From the tree's root, with `/`. */
  readonly path: string
  readonly imports: readonly Import[]
}

export async function checkArrows(root: string): Promise<Violation[]> {
  const product = await readTree(root, ['index.ts', 'client.ts', 'src/**/*.{ts,tsx}'])
  const beside = await readTree(root, ['scripts/**/*.{ts,mjs}', 'tests/**/*.{ts,tsx}'])
  return [
    ...product.flatMap((file) => roomViolations(file)),
    ...[...product, ...beside].flatMap((file) => placeViolations(file)),
    ...cycles(product),
  ]
}

async function readTree(root: string, patterns: readonly string[]): Promise<SourceFile[]> {
  const paths = await Array.fromAsync(glob(patterns, { cwd: root }))
  return paths.sort().map((path) => ({
    path: path.replaceAll(sep, '/'),
    imports: importsOf(readFileSync(join(root, path), 'utf8')),
  }))
}

function roomViolations(file: SourceFile): Violation[] {
  const name = roomOf(file.path)
  const room = ROOMS[name]
  if (room === undefined) return [`${file.path}: the room "${name}" is not in scripts/arrows/rooms.ts`]
  return file.imports.flatMap((one) => {
    const where = `${file.path}:${one.line}`
    if (!isRelative(one.specifier)) {
      const patterns = [...room.packages, ...(one.typeOnly ? (room.packageTypes ?? []) : [])]
      if (patterns.some((pattern) => matches(pattern, one.specifier))) return []
      return [`${where}: ${name} must not import the package "${one.specifier}" (${name}: ${room.because})`]
    }
    const target = resolveImport(file.path, one.specifier)
    if (roomOf(target) === name || room.rooms.some((allowed) => isWithin(target, allowed))) return []
    const typed = room.types?.some((allowed) => isWithin(target, allowed)) === true
    if (typed && one.typeOnly) return []
    const only = typed ? ' except by "import type"' : ''
    return [`${where}: ${name} must not import "${one.specifier}"${only} (${name}: ${room.because})`]
  })
}

function placeViolations(file: SourceFile): Violation[] {
  return file.imports.flatMap((one) => {
    const places = ONLY_IN[one.specifier]
    if (places === undefined || places.some((place) => file.path.startsWith(`${place}/`))) return []
    return [`${file.path}:${one.line}: "${one.specifier}" belongs in ${places.join(', ')} only`]
  })
}

/** Every cycle once, as the files in the order they import each other. */
function cycles(files: readonly SourceFile[]): Violation[] {
  const known = new Map(files.map((file) => [file.path, file]))
  const done = new Set<string>()
  const found: Violation[] = []
  const visit = (path: string, trail: readonly string[]): void => {
    const at = trail.indexOf(path)
    if (at >= 0) {
      found.push(`${path}: the files import each other in a cycle: ${[...trail.slice(at), path].join(' → ')}`)
      return
    }
    const file = known.get(path)
    if (file === undefined || done.has(path)) return
    for (const one of file.imports) {
      if (isRelative(one.specifier)) visit(resolveImport(path, one.specifier), [...trail, path])
    }
    done.add(path)
  }
  for (const file of files) visit(file.path, [])
  return found
}

/** The room a file is in: the folder under `src/`, or an entry file's own name. */
function roomOf(path: string): string {
  const [top, room] = path.split('/')
  if (top === 'src' && room !== undefined) return room
  return top ?? path
}

function isWithin(target: string, allowed: string): boolean {
  const place = allowed.includes('.') ? allowed : `src/${allowed}`
  return target === place || target.startsWith(`${place}/`) || target === `${place}.ts`
}

function isRelative(specifier: string): boolean {
  return specifier.startsWith('.')
}

function resolveImport(from: string, specifier: string): string {
  return posix.normalize(posix.join(dirname(from), specifier))
}

function matches(pattern: string, specifier: string): boolean {
  return pattern.endsWith('*') ? specifier.startsWith(pattern.slice(0, -1)) : pattern === specifier
}
