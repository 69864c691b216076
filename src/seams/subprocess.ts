/**
 * `ctx.subprocess` for both worlds: the host's local runtime for local folders, and the machine for
 * folders under the mounts. A command of a remote world never starts locally, whatever fails.
 */
import type { Context } from '@deepseek-ai/cordis'
import type {
  SubprocessHandle,
  SubprocessSpawnSpec,
  SubprocessTerminalHandle,
  SubprocessTerminalSpawnSpec,
} from '@deepseek-ai/dsh-subprocess'
import { LocalSubprocessRuntime } from '@deepseek-ai/dsh-subprocess-local'
import { sharePresence, type Presence } from '../core/presence.ts'
import type { Place } from '../places/place.ts'
import { LocalFolderError } from '../places/errors.ts'
import { RemoteProcess, type Prepare } from '../remote/process/remote-process.ts'
import type { RemoteJob } from '../remote/jobs/remote-job.ts'
import { SearchProcess } from '../remote/search/search-process.ts'
import { adoptJobs, adoptedJob } from './adopted-jobs.ts'
import { confinedPlace } from './confined-argv.ts'
import { terminalTypeOf } from './facts.ts'
import { jobHandle, jobOriginOf } from './job-handle.ts'
import { localOnlyAnswer, localOnlyRefusal } from './local-only.ts'
import { RemoteHandle } from './remote-handle.ts'
import { RemoteTerminal } from '../remote/process/terminal.ts'
import { RemoteTerminalHandle } from './remote-terminal-handle.ts'
import { prepareArgv, remoteEnvironment, requestOf } from './remote-request.ts'
import { isSearch, requireLocalOperands, searchesLocalPlaces, translateSearch } from './search-argv.ts'
import { answeredProcess, failedProcess } from './stand-in-process.ts'
import { toldFailure } from './told-failure.ts'
import { worldOfFolder } from './world.ts'

/** How long an unloading host waits for what still runs on machines. */
const DISPOSAL_MS = 10_000

export default class PresenceSubprocess extends LocalSubprocessRuntime {
  // No `#private` members in services: the host hands them out behind a proxy. And names that no base
  // class will have for itself, in any version.
  private readonly presence: Presence
  private readonly presenceProcesses = new Set<RemoteProcess | SearchProcess | RemoteJob>()
  private readonly presenceTerminals = new Set<RemoteTerminal>()

  constructor(ctx: Context) {
    super(ctx)
    this.presence = sharePresence(ctx, 'subprocess')
    ctx.effect(
      () => async () => {
        const running = [...this.presenceProcesses]
        for (const process of running) process.terminate()
        await Promise.all([
          ...running.map((process) => process.awaitGroup(AbortSignal.timeout(DISPOSAL_MS))),
          ...[...this.presenceTerminals].map((terminal) => terminal.terminate()),
        ])
      },
      'presence: remote processes',
    )
    adoptJobs(ctx, this.presence)
  }

  override spawn(spec: SubprocessSpawnSpec): SubprocessHandle {
    const adopted = adoptedJob()
    if (adopted !== undefined) return this.presenceHeld(adopted.job, jobHandle(adopted, spec))
    let place: Place | undefined
    try {
      place = this.presencePlace(spec)
    } catch (error) {
      const told = toldFailure(error, spec.argv)
      if (told === undefined) throw error
      return new RemoteHandle(answeredProcess(told, spec.stdio.stderr), spec)
    }
    if (place === undefined) return super.spawn(spec)
    if (spec.signal?.aborted === true) {
      throw new Error(`aborted before spawn: ${String(spec.signal.reason ?? 'aborted')}`)
    }
    const answer = localOnlyAnswer(spec.argv)
    if (answer !== undefined) return new RemoteHandle(answeredProcess(answer, spec.stdio.stderr), spec)
    const refusal = localOnlyRefusal(spec, place.machine)
    if (refusal !== undefined) return new RemoteHandle(failedProcess(refusal), spec)
    const origin = jobOriginOf(spec)
    if (origin !== undefined) {
      const held = this.presence.jobs.start(
        this.presence.machine(place.machine),
        origin,
        requestOf(spec, place),
        this.presencePrepare(spec),
      )
      return this.presenceHeld(held.job, jobHandle(held, spec))
    }
    const process = isSearch(spec.argv) ? this.presenceSearch(spec, place) : this.presenceCommand(spec, place)
    return this.presenceHeld(process, new RemoteHandle(process, spec))
  }

  /** Ended with the host unless it has ended before. */
  private presenceHeld(
    process: RemoteProcess | SearchProcess | RemoteJob,
    handle: SubprocessHandle,
  ): SubprocessHandle {
    this.presenceProcesses.add(process)
    const forget = (): void => void this.presenceProcesses.delete(process)
    handle.done.then(forget, forget)
    return handle
  }

  override async spawnTerminal(spec: SubprocessTerminalSpawnSpec): Promise<SubprocessTerminalHandle> {
    const place = this.presencePlace(spec)
    if (place === undefined) return super.spawnTerminal(spec)
    const { presence } = this
    const terminal = await RemoteTerminal.start(
      presence.machine(place.machine),
      {
        argv: [...spec.argv],
        folder: place.path,
        env: remoteEnvironment(spec.env),
        size: { type: terminalTypeOf(spec), rows: spec.rows, cols: spec.cols },
        graceMs: spec.graceMs,
      },
      async (session, request) => ({
        ...request,
        argv: await prepareArgv(presence, session, request.folder, spec.argv, 'terminal'),
      }),
      spec.signal,
    )
    this.presenceTerminals.add(terminal)
    const forget = (): void => void this.presenceTerminals.delete(terminal)
    terminal.done.then(forget, forget)
    return new RemoteTerminalHandle(terminal)
  }

  private presenceCommand(spec: SubprocessSpawnSpec, place: Place): RemoteProcess {
    const machine = this.presence.machine(place.machine)
    return new RemoteProcess(machine, requestOf(spec, place), this.presencePrepare(spec))
  }

  private presencePrepare(spec: SubprocessSpawnSpec): Prepare {
    const { presence } = this
    return async (session, request) => ({
      ...request,
      argv: await prepareArgv(presence, session, request.folder, spec.argv, 'command'),
    })
  }

  private presenceSearch(spec: SubprocessSpawnSpec, place: Place): SearchProcess {
    const { presence } = this
    return new SearchProcess(presence.machine(place.machine), {
      folder: place.path,
      graceMs: spec.graceMs,
      argv: (session) => translateSearch(presence, session, place.path, spec.argv),
    })
  }

  /** The machine and folder a request is for. A confined command carries its machine with it. */
  private presencePlace(spec: { readonly argv: readonly string[]; readonly cwd: string }): Place | undefined {
    const folder = worldOfFolder(this.presence, spec.cwd)
    const confined = confinedPlace(spec.argv)
    if (folder === undefined && confined !== undefined) throw new LocalFolderError(spec.cwd, confined)
    if (!isSearch(spec.argv)) return folder
    if (searchesLocalPlaces(this.presence, spec.argv)) return undefined
    if (folder === undefined) requireLocalOperands(this.presence, spec.argv)
    return folder
  }
}
