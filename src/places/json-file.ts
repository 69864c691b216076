import { renameSync, writeFileSync } from 'node:fs'

/** Replace a file of JSON in one step: a crash leaves the old one or the new. Only its owner may read it. */
export function replaceJson(file: string, document: unknown): void {
  const temporary = `${file}.new`
  writeFileSync(temporary, `${JSON.stringify(document, undefined, 2)}\n`, { mode: 0o600 })
  renameSync(temporary, file)
}
