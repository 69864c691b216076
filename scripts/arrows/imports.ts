/** Reads which modules a TypeScript file imports. It knows nothing of rooms. */

export interface Import {
  readonly specifier: string
  /** `import type` or `export type`: gone at run time, but an arrow all the same. */
  readonly typeOnly: boolean
  /** 1-based. */
  readonly line: number
}

const STATEMENT =
  /(?<![.\w$])(import|export)\b(\s+type\b(?!\s*(?:,|from\b)))?(?:[^'"`;]*?\bfrom)?\s*(['"])([^'"\n]+)\3/g
const CALL = /(?<![.\w$])import\s*\(\s*(['"])([^'"\n]+)\1/g

export function importsOf(source: string): Import[] {
  const code = withoutComments(source)
  const found: Import[] = []
  for (const match of code.matchAll(STATEMENT)) {
    found.push({
      specifier: match[4] ?? '',
      typeOnly: match[2] !== undefined,
      line: lineAt(code, match.index),
    })
  }
  for (const match of code.matchAll(CALL)) {
    found.push({ specifier: match[2] ?? '', typeOnly: false, line: lineAt(code, match.index) })
  }
  return found
}

/** Comments become blanks, so that an example in one is not taken for an import; lines stay. */
function withoutComments(source: string): string {
  const pieces = /\/\/[^\n]*|\/\*[\s\S]*?\*\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g
  return source.replace(pieces, (piece) => (piece.startsWith('/') ? piece.replace(/[^\n]/g, ' ') : piece))
}

function lineAt(code: string, index: number): number {
  return code.slice(0, index).split('\n').length
}
