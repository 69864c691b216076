/**
 * One run of the checks: a fresh folder on the machine, every check in a folder of its own and with a
 * time limit, and the removal of everything, whatever happens on the way.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { messageOf } from '../base/failure.ts'
import { callerLeaves, race } from '../base/race.ts'
import { childOf } from '../base/remote-path.ts'
import type { Presence } from '../core/presence.ts'
import { Bench } from './bench.ts'
import { Workplace, type Check, type HostClasses, type Surroundings } from './check.ts'
import { CHECKS } from './checks.ts'
import type { Capabilities, CheckResult, Report } from './report.ts'
import type { Subjects } from './subjects.ts'

export interface SelfcheckOptions {
  readonly presence: Presence
  readonly subjects: Subjects
  readonly machine: string
  /** Folder on the machine to work in; undefined: the account's home. */
  readonly folder: string | undefined
  readonly host: HostClasses
  readonly versions: Report['versions']
  /** Ends the run early: what was not made counts as failed, and everything is removed. */
  readonly signal: AbortSignal
  readonly checks?: readonly Check[]
  /** Milliseconds for each check. */
  readonly limitMs?: number
  /** Milliseconds until the machine is ready for them. */
  readonly openingLimitMs?: number
}

const LIMIT_MS = 30_000
/** Milliseconds for connecting, which has its own limits for each stage, and looking around. */
const OPENING_LIMIT_MS = 120_000
/** Milliseconds for a check that was given up to let go of what it holds. */
const GRACE_MS = 2000

/** Never throws: whatever goes wrong is in the report. */
export async function selfcheck(options: SelfcheckOptions): Promise<Report> {
  const began = new Date().toISOString()
  const checks = options.checks ?? CHECKS
  const facts = { machine: options.machine, began, versions: options.versions }
  let bench: Bench
  let local: string
  try {
    local = await mkdtemp(join(tmpdir(), 'presence-selfcheck-'))
  } catch (error) {
    return prevented(facts, checks, `no folder can be made on this computer: ${messageOf(error)}`)
  }
  try {
    bench = await openBench(options)
  } catch (error) {
    await rm(local, { recursive: true, force: true })
    return prevented(facts, checks, messageOf(error))
  }
  const run = new Run(options, bench, local)
  const results: CheckResult[] = []
  for (const check of inOrder(checks)) {
    if (check.when === 'after clearing') await run.clear()
    results.push(await run.make(check))
  }
  await run.clear()
  const passed = results.filter((result) => result.passed).length
  return {
    ...facts,
    folder: bench.folder,
    capabilities: capabilitiesOf(bench),
    checks: results,
    prevented: undefined,
    leftovers: run.leftovers,
    passed,
    failed: results.length - passed,
  }
}

/** A machine may let us in and then never answer; nobody shall wait for it, and nothing may stay there. */
async function openBench(options: SelfcheckOptions): Promise<Bench> {
  const { presence, machine, folder, signal } = options
  const limitMs = options.openingLimitMs ?? OPENING_LIMIT_MS
  const late = new AbortController()
  const opening = Bench.open({ presence, machine, base: folder }, AbortSignal.any([signal, late.signal]))
  try {
    return await race(() => opening, callerLeaves(signal, 'opening the machine'), {
      afterMs: limitMs,
      error: () => new Error(`${machine} lets us in, but offers nothing within ${limitMs / 1000} s`),
    })
  } catch (error) {
    late.abort()
    opening.then(
      (unwanted) => unwanted.clear(),
      (_toldAlready: unknown) => undefined,
    )
    throw error
  }
}

class Run {
  readonly leftovers: string[] = []
  readonly #options: SelfcheckOptions
  readonly #bench: Bench
  readonly #surroundings: Surroundings
  #count = 0
  #cleared = false

  constructor(options: SelfcheckOptions, bench: Bench, local: string) {
    this.#options = options
    this.#bench = bench
    const { presence, subjects, host } = options
    this.#surroundings = { presence, subjects, bench, host, local }
  }

  async make(check: Check): Promise<CheckResult> {
    const began = performance.now()
    const leave = this.#options.signal
    const outcome = (passed: boolean, detail: string): CheckResult => ({
      name: check.name,
      passed,
      ms: performance.now() - began,
      detail,
    })
    // What is left on the machine is looked at also when the host is ending.
    if (leave.aborted && check.when !== 'after clearing')
      return outcome(false, 'not made: the host is ending')
    const limitMs = this.#options.limitMs ?? LIMIT_MS
    const ended = new AbortController()
    const ways = check.when === 'after clearing' ? [] : [leave]
    const making = this.#makeIn(check, AbortSignal.any([ended.signal, ...ways]))
    try {
      const note = await race(
        () => making,
        ways.map((signal) => ({ signal, error: () => new Error('not finished: the host is ending') })),
        { afterMs: limitMs, error: () => new Error(`not finished within ${limitMs / 1000} s`) },
      )
      return outcome(true, note ?? '')
    } catch (error) {
      ended.abort(error)
      await letGo(making)
      return outcome(false, messageOf(error))
    }
  }

  /** Remove everything, once. */
  async clear(): Promise<void> {
    if (this.#cleared) return
    this.#cleared = true
    this.leftovers.push(...(await this.#bench.clear()))
    const { presence, local } = this.#surroundings
    const marker = presence.mounts.format({ machine: this.#bench.machine, path: this.#bench.folder })
    for (const path of [local, marker]) {
      await rm(path, { recursive: true, force: true }).catch((error: unknown) => {
        this.leftovers.push(`${path} may still be on this computer (${messageOf(error)}): remove it by hand`)
      })
    }
  }

  async #makeIn(check: Check, signal: AbortSignal): Promise<string | undefined> {
    const folder = childOf(this.#bench.folder, `check-${(this.#count += 1)}`)
    if (check.when === undefined) await this.#bench.makeFolder(folder)
    const note = await check.make(new Workplace(this.#surroundings, folder, signal))
    return note ?? undefined
  }
}

/** What looks at the others' traces comes after them, whatever the list says. */
function inOrder(checks: readonly Check[]): Check[] {
  const phases = [undefined, 'at the end', 'after clearing'] as const
  return phases.flatMap((when) => checks.filter((check) => check.when === when))
}

/** Wait for a check that was given up, but not for ever: some failures are waits without end. */
async function letGo(making: Promise<unknown>): Promise<void> {
  const settled = making.then(
    () => undefined,
    (_toldAlready: unknown) => undefined,
  )
  await race(() => settled, [], { afterMs: GRACE_MS, error: () => new Error('still waiting') }).catch(
    (_givenUp: unknown) => undefined,
  )
}

function prevented(
  facts: Pick<Report, 'machine' | 'began' | 'versions'>,
  checks: readonly Check[],
  reason: string,
): Report {
  const results = checks.map(({ name }) => ({ name, passed: false, ms: 0, detail: 'not made' }))
  return {
    ...facts,
    folder: undefined,
    capabilities: undefined,
    checks: results,
    prevented: reason,
    leftovers: [],
    passed: 0,
    failed: results.length,
  }
}

function capabilitiesOf({ session }: Bench): Capabilities {
  const { shell } = session
  return {
    server: session.link.facts.ident,
    sftp: session.sftpAvailable,
    shell:
      shell === undefined
        ? undefined
        : {
            os: shell.os,
            loginShell: shell.loginShell,
            stat: shell.stat,
            temporary: shell.tmp,
            confinement: shell.confiner?.means,
            programs: Object.entries(shell.programs).flatMap(([name, path]) =>
              path === undefined ? [] : [name],
            ),
          },
  }
}
