/** The packed bundle as a user's profile unpacks it: its manifest, and what its code imports at run time. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { tmpdir } from 'node:os'
import { run } from '../../scripts/project/children.ts'

export interface Packed {
  readonly manifest: {
    readonly peerDependencies: Readonly<Record<string, string>>
    readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional?: boolean }>>
    readonly dependencies: Readonly<Record<string, string>>
  }
  /** Names by module of the host, `default` and `*` included. Types are gone by now. */
  readonly hostImports: ReadonlyMap<string, ReadonlySet<string>>
}

export async function unpack(tarball: string): Promise<Packed> {
  const folder = mkdtempSync(join(tmpdir(), 'presence-packed-'))
  try {
    const unpacked = await run(['tar', '-xzf', tarball, '-C', folder])
    if (unpacked.code !== 0) throw new Error(unpacked.stderr)
    const root = join(folder, 'package')
    return {
      manifest: JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Packed['manifest'],
      hostImports: hostImports(join(root, 'lib')),
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function hostImports(lib: string): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>()
  for (const file of readdirSync(lib, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.js')) continue
    for (const { module, names } of importsIn(readFileSync(join(lib, file), 'utf8'))) {
      const known = found.get(module) ?? new Set()
      for (const name of names) known.add(name)
      found.set(module, known)
    }
  }
  return found
}

/** The compiler's own output is regular: one form for every kind of import. */
export function importsIn(source: string): { module: string; names: string[] }[] {
  const fixed = source.matchAll(
    /^(?:import|export)\s+(?:([^'";]*?)\s+from\s+)?['"](@deepseek-ai\/[^'"]+)['"]/gm,
  )
  const late = source.matchAll(/\b(?:import|require)\(\s*['"](@deepseek-ai\/[^'"]+)['"]/g)
  return [
    ...[...fixed].map(([, clause = '', module = '']) => ({ module, names: namesIn(clause) })),
    ...[...late].map(([, module = '']) => ({ module, names: ['*'] })),
  ]
}

function namesIn(clause: string): string[] {
  const braces = /\{([^}]*)\}/.exec(clause)?.[1] ?? ''
  const named = braces
    .split(',')
    .map((part) => part.trim().split(/\s+as\s+/)[0] ?? '')
    .filter((name) => name !== '')
  const rest = clause
    .replace(/\{[^}]*\}/, '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
  return [...named, ...rest.map((part) => (part.startsWith('*') ? '*' : 'default'))]
}
