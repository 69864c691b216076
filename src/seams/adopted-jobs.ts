/**
 * Background jobs of an earlier host, given back to their session when it is opened again: they are put into the
 * host's own list, under new numbers, and its job tools list, read and end them as before.
 *
 * The host's shell executor is asked to start the command once more, and is given the job that runs: what it
 * makes of output, exits and denials is the host's own. How its tool puts that into words is not to be had from
 * it and is said here in the same way.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { ESCALATION_TARGETS, escalationHintMarker, sandboxDenialMarker } from '@deepseek-ai/dsh-sandbox'
import type { SandboxMode } from '@deepseek-ai/dsh-sandbox'
import { messageOf } from '../base/failure.ts'
import type { HeldJob } from '../core/jobs.ts'
import type { Presence } from '../core/presence.ts'
import type { JobRecord } from '../places/job-store.ts'

/** The parts of the host's services that are used, by the shape we rely on. */
interface JobsLike {
  start(spec: {
    readonly kind: 'bash'
    readonly label: string
    readonly owner: Agent
    run(): {
      cancel(): void
      readonly done: Promise<{ readonly status: 'completed' | 'killed'; readonly detail: string }>
      readOutput(): string
    }
  }): string
}

interface ShellLike {
  readonly sandboxMode: string | undefined
  resolve(request: {
    readonly command: string
    readonly workdir: string
    readonly sandboxPolicy: { readonly mode: string; readonly workspaceRoot: string }
  }): object
  start(spec: object): ShellProcess
}

interface ShellProcess {
  readonly status: 'running' | 'completed' | 'killed'
  readonly exitCode: number | null
  readonly signal: string | null
  readonly sandbox?: { readonly mode: SandboxMode; readonly denied: boolean; readonly runnerFailed?: boolean }
  readonly done: Promise<void>
  readOutput(): {
    readonly delta: string
    readonly lossy: boolean
    readonly stdoutSpillPath?: string
    readonly stderrSpillPath?: string
  }
  kill(): boolean
}

const adopting = new AsyncLocalStorage<HeldJob>()

/** The job that a process is to be found for instead of started; undefined for every other start. */
export function adoptedJob(): HeldJob | undefined {
  return adopting.getStore()
}

/** Give jobs back as their sessions come. A session whose job tools are not there yet is tried again. */
export function adoptJobs(ctx: Context, presence: Presence): void {
  ctx.inject(['agents', 'jobs', 'shell'], (scope) => {
    const jobs = scope.get('jobs') as unknown as JobsLike
    const shell = scope.get('shell') as unknown as ShellLike
    const settled = new WeakSet<Agent>()
    const adopt = (agent: Agent): void => {
      const { cwd } = agent.session.header
      if (settled.has(agent) || cwd === undefined || presence.mounts.parse(cwd) === null) return
      try {
        for (const record of presence.jobs.adoptable(agent.id)) {
          if (!presence.machines.isMachine(record.machine) || !presence.jobs.claim(record.id)) continue
          const held = (): HeldJob | undefined =>
            presence.jobs.adopt(presence.machine(record.machine), record.id)
          const id = jobs.start({
            kind: 'bash',
            label: record.command,
            owner: agent,
            run: () => hooksOf(shell, record, cwd, held),
          })
          presence.jobs.listed(record, id)
        }
        settled.add(agent)
      } catch (error) {
        scope.logger.warn(
          `presence: background jobs of ${agent.id} cannot be given back yet: ${messageOf(error)}`,
        )
      }
    }
    for (const agent of scope.agents.list()) adopt(agent)
    scope.on('agent/created', ({ agent }) => adopt(agent))
    scope.on('agent/status', ({ agent }) => adopt(agent))
  })
}

function hooksOf(
  shell: ShellLike,
  record: JobRecord,
  workspaceRoot: string,
  adopt: () => HeldJob | undefined,
): ReturnType<Parameters<JobsLike['start']>[0]['run']> {
  const held = adopt()
  if (held === undefined) throw new Error('another host has the job')
  const spec = shell.resolve({
    command: record.command,
    workdir: record.cwd,
    sandboxPolicy: { mode: record.mode ?? 'danger-full-access', workspaceRoot },
  })
  const process = adopting.run(held, () => shell.start(spec))
  const canEscalate = shell.sandboxMode !== undefined && ESCALATION_TARGETS.length > 0
  return {
    cancel: () => void process.kill(),
    done: process.done.then(() => outcomeOf(process)),
    readOutput: () => readingOf(process, canEscalate, held.job.obstacle),
  }
}

function outcomeOf({ status, signal, exitCode }: ShellProcess): {
  status: 'completed' | 'killed'
  detail: string
} {
  if (status === 'killed') {
    return { status, detail: signal === null ? 'killed before exit' : `signal: ${signal}` }
  }
  return { status: 'completed', detail: `exit code: ${exitCode ?? 0}` }
}

function readingOf(process: ShellProcess, canEscalate: boolean, obstacle: string | undefined): string {
  const { delta, lossy, stdoutSpillPath, stderrSpillPath } = process.readOutput()
  const { sandbox } = process
  const notices: string[] = []
  if (lossy) {
    const paths = [stdoutSpillPath, stderrSpillPath].filter((path) => path !== undefined)
    const where = paths.length > 0 ? paths.join(', ') : '(unavailable)'
    notices.push(`[some output was dropped from memory; what came since it was found again: ${where}]`)
  }
  if (obstacle !== undefined) notices.push(`[not followed now, and may still run: ${obstacle}]`)
  if (sandbox?.runnerFailed === true) {
    notices.push(
      `[sandbox: the command did not run, because its confinement failed under ${sandbox.mode} mode]`,
    )
  } else if (sandbox?.denied === true) {
    notices.push(sandboxDenialMarker(sandbox.mode))
    if (canEscalate) notices.push(escalationHintMarker('command'))
  }
  if (notices.length === 0) return delta
  return `${delta}${delta === '' || delta.endsWith('\n') ? '' : '\n'}${notices.join('\n')}`
}
