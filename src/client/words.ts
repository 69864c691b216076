/** Sentences made of data: states, times and failures in the words of `strings.ts`. */
import type { MachineFactsView, MachineStateView } from '../wire/api.ts'
import { ApiError } from './api.ts'
import type { Language } from './language.ts'
import type { Strings } from './strings.ts'

export interface FailureText {
  readonly headline: string
  /** What the server said, in its own words; empty when it said nothing more. */
  readonly detail: string
}

export function failureText(failure: unknown, strings: Strings): FailureText {
  if (failure instanceof ApiError) {
    return {
      headline: strings.failures[failure.code] ?? strings.failures['bad-answer'],
      detail: failure.message,
    }
  }
  const detail = failure instanceof Error ? failure.message : String(failure)
  return { headline: strings.failures.internal, detail }
}

/** One line for what a machine's connection does, without the reason of a failure. */
export function stateText(state: MachineStateView, strings: Strings, language: Language): string {
  switch (state.kind) {
    case 'idle':
      return strings.idle
    case 'connecting':
      return strings.connectingAt(stageText(state.stage, strings), state.hop)
    case 'asking':
      return strings.asking(stageText(state.stage, strings), state.hop)
    case 'ready':
      return strings.ready(momentText(state.since, language))
    case 'degraded':
      return strings.degraded(momentText(state.silentSince, language))
    case 'lost':
      return strings.lost(momentText(state.at, language))
    case 'failed':
      return strings.failed(stageText(state.stage, strings), momentText(state.at, language))
  }
}

/** A reason as it stands under the machine's name: without that name before it. */
export function reasonText(reason: string, machine: string): string {
  return reason.startsWith(`${machine}: `) ? reason.slice(machine.length + 2) : reason
}

/** A stage that this page has no words for is shown as the server spells it. */
export function stageText(stage: string, strings: Strings): string {
  return Object.hasOwn(strings.stages, stage) ? (strings.stages[stage] ?? stage) : stage
}

/** Lines about a machine: where and what it is, and what can be done there. */
export function factLines(facts: MachineFactsView, strings: Strings): readonly string[] {
  const place = [`${facts.user}@${facts.address}`, facts.os].filter((text) => text !== '')
  const commands = facts.exec
    ? [strings.confinement[facts.confinement], strings.search[facts.search]]
    : [strings.noExec]
  const abilities = [...(facts.sftp ? [] : [strings.noSftp]), ...commands].join(strings.semicolon)
  return [place.join(' · '), abilities, ...facts.warnings]
}

/** A time of day, with the date when it is not today's. */
export function momentText(at: number, language: Language, now = Date.now()): string {
  const sameDay = new Date(at).toDateString() === new Date(now).toDateString()
  return new Intl.DateTimeFormat(language, {
    timeStyle: 'short',
    ...(sameDay ? {} : { dateStyle: 'medium' }),
  }).format(at)
}
