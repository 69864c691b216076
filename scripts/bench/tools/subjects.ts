/**
 * The measurements as subjects for rounds: every tool in every folder of a running host, and the first
 * answer of a host that has just been started. A time counts only after its answer has been checked.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { WebHost } from '../../host/web.ts'
import type { Subject } from '../rounds.ts'
import { CASES, READ_SMALL, type ToolCase } from './cases.ts'
import type { ToolHost, Workplace } from './host.ts'
import type { TimedModel, Turn } from './turn.ts'

export const NEW_SESSION = 'prompt to first result, new session, read'
export const FRESH_PROCESS = 'prompt to first result, fresh process, read'

/** A person writes for a while in a session that has just opened; nobody for less. */
const WRITING_MS = 1000

/** Name of a subject. */
export function at(what: string, { label }: Pick<Workplace, 'label'>): string {
  return `${what} @ ${label}`
}

/** A new session in each folder in each round, and every tool in it. */
export function toolSubjects(host: ToolHost, web: WebHost, model: TimedModel): Subject<string>[] {
  const sessions = new Map<Workplace, string>()
  const opening = host.workplaces.map((workplace) => ({
    name: at(NEW_SESSION, workplace),
    measure: async () => {
      const session = await host.open(web, workplace)
      sessions.set(workplace, session)
      return (await take(READ_SMALL, workplace, web, session, model)).firstMs
    },
  }))
  const cases = CASES.flatMap((one) =>
    host.workplaces.map((workplace) => ({
      name: at(one.name, workplace),
      measure: async () => {
        const { answers } = await take(one, workplace, web, sessions.get(workplace) ?? '', model)
        return answers.at(-1)?.ms ?? Number.NaN
      },
    })),
  )
  return [...opening, ...cases]
}

/** A new process for each folder in each round. */
export function freshSubjects(host: ToolHost, model: TimedModel): Subject<string>[] {
  return host.workplaces.map((workplace) => ({
    name: at(FRESH_PROCESS, workplace),
    measure: async () => {
      const web = await host.start()
      try {
        const session = await host.open(web, workplace)
        await pause(WRITING_MS)
        return (await take(READ_SMALL, workplace, web, session, model)).firstMs
      } finally {
        await web.stop()
      }
    },
  }))
}

let serial = 0

/** @throws WrongAnswer. */
async function take(
  one: ToolCase,
  { project }: Workplace,
  web: WebHost,
  session: string,
  model: TimedModel,
): Promise<Turn> {
  serial += 1
  await one.prepare(project, serial)
  const turn = await model.turn(web, session, one.calls(serial))
  await one.check(
    turn.answers.map(({ text }) => text),
    project,
    serial,
  )
  return turn
}
