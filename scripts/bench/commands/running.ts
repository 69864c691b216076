/** The command `true`: now and then, as an agent runs commands, and one upon the other. */
import { setTimeout as pause } from 'node:timers/promises'
import { parseRemotePath } from '../../../src/base/remote-path.ts'
import type { Machine } from '../../../src/remote/machine.ts'
import { RemoteProcess } from '../../../src/remote/process/remote-process.ts'
import { run } from '../../project/children.ts'
import { WrongAnswer } from '../answers.ts'
import { ourTrue } from '../clients.ts'
import type { Entry } from '../entries.ts'
import { timed } from '../rounds.ts'
import { AFTER_PAUSE, AFTER_PAUSE_SLOW, AT_ONCE, EXEC, ITSELF, MACHINE, OURS, SSH } from './goals.ts'
import type { Machines } from './machines.ts'
import { GRACE_MS, outcomeOf } from './outcome.ts'

/** What an agent's model takes at least between two commands, in milliseconds. */
const PAUSE_MS = 300

/** Of ours: what waits on the machine must be there again after each, not only for the first. */
const IN_A_ROW = 3
const MANY_IN_A_ROW = 5

/** So many that starting their shell is no part of the figure. */
const PROCESSES = 30

/** One command, from the request to its end. @returns milliseconds. */
type Once = () => Promise<number>

export function runningEntries({ ours, ssh, slow }: Machines, pauseMs = PAUSE_MS): Entry[] {
  const exec: Once = async () => {
    const session = await ours.session()
    return timed(() => ourTrue(session))
  }
  const viaSsh: Once = () => timed(() => ssh.output('true'))
  const viaUs: Once = () => timed(() => succeedSilently(ours))
  return [
    { what: ITSELF, who: MACHINE, measure: processTime },
    entry(AFTER_PAUSE, OURS, viaUs, IN_A_ROW, pauseMs),
    entry(AFTER_PAUSE, SSH, viaSsh, 1, pauseMs),
    entry(AFTER_PAUSE, EXEC, exec, 1, pauseMs),
    entry(AT_ONCE, OURS, viaUs, MANY_IN_A_ROW),
    entry(AT_ONCE, SSH, viaSsh, 2),
    entry(AT_ONCE, EXEC, exec, 2),
    ...('missing' in slow
      ? []
      : [
          entry(AFTER_PAUSE_SLOW, OURS, () => timed(() => succeedSilently(slow.ours)), IN_A_ROW, pauseMs),
          entry(AFTER_PAUSE_SLOW, SSH, () => timed(() => slow.ssh.output('true')), 1, pauseMs),
        ]),
  ]
}

function entry(what: string, who: string, once: Once, times: number, pauseMs = 0): Entry {
  return { what, who, measure: () => oneAfterAnother(once, times, pauseMs) }
}

/**
 * One before that does not count, then so many with a pause before each. Without the first, those that wait
 * would have had all the time since the last round.
 * @returns the mean.
 */
async function oneAfterAnother(once: Once, times: number, pauseMs: number): Promise<number> {
  if (times > 1) await once()
  let sum = 0
  for (let count = 0; count < times; count += 1) {
    if (pauseMs > 0) await pause(pauseMs)
    sum += await once()
  }
  return sum / times
}

/** @throws WrongAnswer. */
export async function succeedSilently(machine: Machine, argv: readonly string[] = ['true']): Promise<void> {
  const request = { argv, folder: parseRemotePath('/'), env: {}, input: 'none', graceMs: GRACE_MS } as const
  const { exitCode, stdout, stderr } = await outcomeOf(
    new RemoteProcess(machine, request, (_session, asked) => asked),
  )
  if (exitCode === 0 && stdout === '' && stderr === '') return
  throw new WrongAnswer(`${argv.join(' ')} ended with ${String(exitCode)} and printed ${stdout}${stderr}`)
}

/**
 * Milliseconds that one such process takes. Many are started by a shell, as on a machine: to start one from
 * here would count what a process of our size takes to start any, and flatter whoever gets it taken off.
 */
async function processTime(): Promise<number> {
  const loop = `i=0; while [ $i -lt ${PROCESSES} ]; do ${ITSELF} || exit 1; i=$((i + 1)); done; echo $i`
  const began = performance.now()
  const { stdout } = await run(['sh', '-c', loop])
  const ms = performance.now() - began
  if (stdout !== `${PROCESSES}\n`) throw new WrongAnswer(`a process on this computer failed: ${stdout}`)
  return ms / PROCESSES
}
