/** The sample project as files. */
import { glob, readFile } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { ROOT } from '../project/checkout.ts'
import type { SampleFile } from '../model/conversation.ts'

export const SAMPLE_NAME = 'tide-table'
export const SAMPLE = join(ROOT, 'samples', SAMPLE_NAME)

export async function sampleFiles(): Promise<SampleFile[]> {
  const entries = await Array.fromAsync(glob('**/*', { cwd: SAMPLE, withFileTypes: true }))
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const read = files.sort().map(async (file) => ({
    path: file.slice(SAMPLE.length + 1).replaceAll(sep, '/'),
    content: await readFile(file, 'utf8'),
  }))
  return Promise.all(read)
}
