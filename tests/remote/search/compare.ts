/** One search answered twice, by the host's own ripgrep on this computer and by our engine through a machine. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { nestedPackage } from '../../../scripts/project/checkout.ts'
import { parseRemotePath } from '../../../src/base/remote-path.ts'
import type { Machine } from '../../../src/remote/machine.ts'
import { SearchProcess } from '../../../src/remote/search/search-process.ts'

export interface Answer {
  readonly exitCode: number | null
  readonly output: Buffer
  readonly errors: string
}

/** The ripgrep that the host ships and its tools run. */
export async function hostRipgrep(): Promise<string> {
  const { rgPath } = (await import(nestedPackage('@vscode/ripgrep'))) as { rgPath: string }
  if (!existsSync(rgPath)) throw new Error(`the host has no ripgrep at ${rgPath}`)
  return rgPath
}

/** @param argv - the program first; here another one takes its place. */
export function byRipgrep(
  program: string,
  argv: readonly string[],
  cwd: string,
  home: string,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const env = { HOME: home, PATH: process.env['PATH'] }
    const child = spawn(program, argv.slice(1), { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
    const [output, errors]: [Buffer[], Buffer[]] = [[], []]
    child.stdout.on('data', (chunk: Buffer) => output.push(chunk))
    child.stderr.on('data', (chunk: Buffer) => errors.push(chunk))
    child.once('error', reject)
    child.once('close', (exitCode) =>
      resolve({ exitCode, output: Buffer.concat(output), errors: Buffer.concat(errors).toString() }),
    )
  })
}

export async function byOurs(machine: Machine, argv: readonly string[], folder: string): Promise<Answer> {
  const search = new SearchProcess(machine, {
    folder: parseRemotePath(folder),
    graceMs: 1000,
    argv: () => argv,
  })
  const [output, errors]: [Buffer[], Buffer[]] = [[], []]
  search.stdout.on('data', (chunk: Buffer) => output.push(chunk))
  search.stderr.on('data', (chunk: Buffer) => errors.push(chunk))
  const { exitCode } = await search.done
  return { exitCode, output: Buffer.concat(output), errors: Buffer.concat(errors).toString() }
}

/** The exit code and every record or name, without what differs between any two runs. */
export function comparable(argv: readonly string[], { exitCode, output }: Answer): unknown {
  if (argv.includes('--files')) return { exitCode, names: output.toString('latin1') }
  const records = output
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => withoutTimes(JSON.parse(line)) as JsonRecord)
  const files = new Map<string, JsonRecord[]>()
  for (const record of records.filter(({ type }) => type !== 'summary')) {
    const path = JSON.stringify(record.data['path'])
    files.set(path, [...(files.get(path) ?? []), record])
  }
  // Without an order asked for, ripgrep gives files as its threads finish them.
  const ordered = [...files].toSorted(([a], [b]) =>
    argv.includes('--sort=path') ? 0 : a < b ? -1 : a > b ? 1 : 0,
  )
  return { exitCode, files: ordered, summary: records.filter(({ type }) => type === 'summary').map(totals) }
}

interface JsonRecord {
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
}

/** Files that cannot match are not read by ours, so only what was found is summed up alike. */
function totals({ data }: JsonRecord): unknown {
  const stats = Object.entries(data['stats'] as Readonly<Record<string, unknown>>)
  return Object.fromEntries(stats.filter(([key]) => key !== 'searches' && key !== 'bytes_searched'))
}

function withoutTimes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutTimes)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => key !== 'elapsed' && key !== 'elapsed_total')
      .map(([key, inner]) => [key, withoutTimes(inner)]),
  )
}

/** A search for lines, as `presence_search` has it run. */
export function grep(pattern: string, ...more: string[]): string[] {
  return ['rg', '--no-config', '--json', '--sort=path', `--regexp=${pattern}`, ...more]
}
