/** The questions that are put to a machine about one background job: start it, how is it, end it, remove it. */
import { childOf, parseRemotePath, type RemotePath } from '../../base/remote-path.ts'
import type { ExitFacts } from '../../ssh/channel/exec.ts'
import { variablesOf } from '../process/environment.ts'
import { StartError, startFailure } from '../process/errors.ts'
import { askMachine, type ProcessRequest } from '../process/remote-process.ts'
import type { MachineSession } from '../session.ts'
import { startScript } from '../shell/command-line.ts'
import { END_JOB, JOB_PREFIX, JOB_STATUS, REMOVE_JOB, START_JOB } from '../shell/job-scripts.ts'
import { tenthsOf } from '../shell/scripts.ts'
import { askMarked, type MarkedAnswer } from '../shell/marked-answer.ts'

export type JobStatus =
  | { readonly kind: 'gone' }
  | {
      readonly kind: 'there'
      /** Its supervisor runs; otherwise `exit` is final, and undefined when the supervisor could not tell. */
      readonly alive: boolean
      readonly exit: ExitFacts | undefined
      /** Its process group; undefined when that was never written down. */
      readonly group: number | undefined
      /** Bytes that it had printed by then. */
      readonly out: number
      readonly err: number
    }

/** All that some shells say when a file cannot be written; busybox says nothing. */
const VAGUE = /^$|I\/O error|write error/i

const JOB_FOLDER = new RegExp(`/${JOB_PREFIX}[0-9a-f]{24}(/|$)`)

/** Where a job keeps what it prints; in the machine's temporary folder. @throws ChannelError `no-exec`. */
export function jobFolder(session: MachineSession, id: string): RemotePath {
  return childOf(parseRemotePath(session.requireShell().tmp), `${JOB_PREFIX}${id}`)
}

/** Whether a canonical path is a job's folder or in one. */
export function isInJobFolder(path: RemotePath): boolean {
  return JOB_FOLDER.test(path)
}

/** @throws StartError when there is no job; LinkLostError when there may be one. */
export async function startJob(
  session: MachineSession,
  request: ProcessRequest,
  folder: RemotePath,
): Promise<void> {
  const { machine } = session
  const variables = variablesOf(request.env, session)
  const words = [folder, request.folder, String(variables.length), ...variables, ...request.argv]
  const answer = await ask(session, START_JOB, words)
  if (answer.kind === 'none') throw startFailure('', answer.said, request, machine)
  const [line = ''] = answer.lines
  if (line.startsWith('ok ')) return
  if (!line.startsWith('room')) throw startFailure(line, '', request, machine)
  const said = line.slice('room'.length).trim()
  const full = VAGUE.test(said) ? '; the disk may be full there, or what the account may use of it' : ''
  throw new StartError(
    `a background job keeps its output in ${folder}, and that could not be made${said === '' ? '' : `: ${said}`}${full}`,
    'no-room',
    machine,
  )
}

/** @throws LinkLostError, ChannelError. */
export async function statusOfJob(
  session: MachineSession,
  folder: RemotePath,
  signal?: AbortSignal,
): Promise<JobStatus> {
  const answer = await ask(session, JOB_STATUS, [folder], signal)
  if (answer.kind === 'none') {
    throw startFailure('', answer.said, { argv: ['sh'], folder }, session.machine)
  }
  if (answer.lines[0] === 'gone') return { kind: 'gone' }
  const told = new Map(answer.lines.map((line) => cut(line)))
  const number = (key: string): number => Number(told.get(key)?.trim())
  return {
    kind: 'there',
    alive: told.get('alive') === 'yes',
    exit: exitOf(told.get('exit')?.trim() ?? ''),
    group: number('group') > 1 ? number('group') : undefined,
    out: number('out'),
    err: number('err'),
  }
}

/** End a job's whole process group, if it still runs; returns when it has ended. @throws LinkLostError, ChannelError. */
export async function endJob(
  session: MachineSession,
  folder: RemotePath,
  graceMs: number,
  signal?: AbortSignal,
): Promise<void> {
  await askMachine(session, END_JOB, [folder, tenthsOf(graceMs)], { signal, urgent: true })
}

/** Remove all that a job has left. @returns false when the machine would not. @throws LinkLostError, ChannelError. */
export async function removeJob(session: MachineSession, folder: RemotePath): Promise<boolean> {
  return (await ask(session, REMOVE_JOB, [folder])).kind === 'answer'
}

function ask(
  session: MachineSession,
  script: string,
  words: readonly string[],
  signal?: AbortSignal,
): Promise<MarkedAnswer> {
  const { loginShell } = session.requireShell()
  return askMarked(session.exec, (mark) => startScript(script, [mark, ...words], loginShell), signal)
}

function cut(line: string): [key: string, value: string] {
  const at = line.indexOf('=')
  return [line.slice(0, at), line.slice(at + 1)]
}

/** @param line - as the supervisor writes it; anything else is no exit. */
function exitOf(line: string): ExitFacts | undefined {
  const [, code] = /^code (\d+)$/.exec(line) ?? []
  if (code !== undefined) return { exitCode: Number(code), signal: null }
  const [, signal] = /^signal (?:SIG)?([A-Z0-9+-]+)$/.exec(line) ?? []
  if (signal === undefined) return undefined
  return { exitCode: null, signal: `SIG${signal}` as NodeJS.Signals }
}
