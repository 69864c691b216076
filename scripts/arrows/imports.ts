/** Reads which modules a TypeScript file imports. It knows nothing of rooms. */

export interface Import {
  readonly specifier: string
  /** `import type` or `export type`: gone at run time, but an arrow all the same. */
  readonly typeOnly: boolean
  /** 1-based. */
  readonly line: number
}

const STATEMENT =
  /(?<![.\w$])(?:import|export)\b(\s+type\b(?!\s*(?:,|from\b)))?[^'"`;]*?\bfrom\s*(['"])([^'"\n]+)\2/g
const BARE = /(?<![.\w$])import\s*\(?\s*(['"])([^'"\n]+)\1/g

export function importsOf(source: string): Import[] {
  const code = onlyCode(source)
  const found: Import[] = []
  for (const match of code.matchAll(STATEMENT)) {
    found.push({
      specifier: match[3] ?? '',
      typeOnly: match[1] !== undefined,
      line: lineAt(code, match.index),
    })
  }
  for (const match of code.matchAll(BARE)) {
    found.push({ specifier: match[2] ?? '', typeOnly: false, line: lineAt(code, match.index) })
  }
  return found
}

const PIECE = /\/\/[^\n]*|\/\*[\s\S]*?\*\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g

/**
 * Comments and texts become blanks, so that an example or a shell script in one is not taken for an
 * import; only a text that can name a module stays. Lines keep their numbers.
 */
function onlyCode(source: string): string {
  return source.replace(PIECE, (piece, offset: number) => {
    const names = /^['"]/.test(piece) && /\b(?:from|import)\s*\(?\s*$/.test(source.slice(0, offset))
    return names ? piece : piece.replace(/[^\n]/g, ' ')
  })
}

function lineAt(code: string, index: number): number {
  return code.slice(0, index).split('\n').length
}
