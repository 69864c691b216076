/**
 * The row `dsh-presence/selfcheck`: examines the file system, commands and sandbox of Presence against
 * one machine from inside a running host, as bare instances. It registers no service and never fails:
 * a row that failed would take the host down. The host finishes starting when the checks are finished.
 */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Context, Fiber } from '@deepseek-ai/cordis'
import { messageOf } from '../base/failure.ts'
import { sharePresence, type Presence } from '../core/presence.ts'
import type { HostClasses } from './check.ts'
import { tableOf, writeReport, type Report } from './report.ts'
import { selfcheck } from './selfcheck.ts'
import { bareSubjects } from './subjects.ts'

export interface Config {
  /** Name of the machine. */
  readonly machine?: unknown
  /** Absolute folder on it to work in; default: the account's home. */
  readonly folder?: unknown
  /** File for the report; default: `selfcheck-report.json` in Presence's own folder. */
  readonly report?: unknown
}

export const name = 'presence-selfcheck'

const require = createRequire(import.meta.url)

export async function apply(ctx: Context, config: Config = {}): Promise<void> {
  const leave = new AbortController()
  const line = lineage(ctx)
  // A host that ends while it still starts tells the rows' owners first, and the rows only once they started.
  ctx.on('internal/plugin', (fiber) => {
    if (fiber.uid === null && line.includes(fiber)) leave.abort()
  })
  try {
    const presence = sharePresence(ctx)
    const report = await examine(ctx, presence, config, leave.signal)
    console.log(tableOf(report))
    await writeReport(text(config.report) ?? join(presence.home.folder, 'selfcheck-report.json'), report)
  } catch (error) {
    console.error(`presence: the selfcheck could not be finished: ${messageOf(error)}`)
  }
}

/** The row's own fiber and those that own it, without the root. */
function lineage(ctx: Context): Fiber[] {
  const line: Fiber[] = []
  for (let { fiber } = ctx; fiber !== fiber.parent.fiber; fiber = fiber.parent.fiber) line.push(fiber)
  return line
}

async function examine(
  ctx: Context,
  presence: Presence,
  config: Config,
  signal: AbortSignal,
): Promise<Report> {
  const machine = text(config.machine)
  if (machine === undefined) throw new Error('its row needs the name of a machine: config: { machine: … }')
  const host = await hostModules(ctx.baseUrl).catch((error: unknown) => ({
    classes: { FsError: undefined, SandboxedFileSystem: undefined, problem: messageOf(error) },
    version: 'unknown',
  }))
  return selfcheck({
    presence,
    subjects: bareSubjects(ctx),
    machine,
    folder: text(config.folder),
    host: host.classes,
    versions: {
      presence: (require('dsh-presence/package.json') as { version: string }).version,
      host: host.version,
      node: process.versions.node,
    },
    signal,
  })
}

/**
 * The classes as the host itself has them: its file tools' own import of the errors that they tell
 * refusals by, and the module that its own row for the file system would load. A second copy of either
 * works in everything but that.
 */
async function hostModules(
  baseUrl: string | undefined,
): Promise<{ readonly classes: HostClasses; readonly version: string }> {
  const fromHost = createRequire(baseUrl === undefined ? import.meta.url : new URL('row.js', baseUrl))
  const tools = createRequire(fromHost.resolve('@deepseek-ai/dsh-tool-fs'))
  const errors = await load(tools.resolve('@deepseek-ai/dsh-fs'))
  const files = await load(fromHost.resolve('@deepseek-ai/dsh-fs-sandbox'))
  return {
    classes: { FsError: errors['FsError'], SandboxedFileSystem: files['SandboxedFileSystem'] },
    version: (tools('@deepseek-ai/dsh-fs/package.json') as { version: string }).version,
  }
}

async function load(file: string): Promise<Readonly<Record<string, unknown>>> {
  return (await import(pathToFileURL(file).href)) as Readonly<Record<string, unknown>>
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
