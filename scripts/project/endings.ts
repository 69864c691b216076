/**
 * What must be undone before this process ends, whatever ends it. Whoever acquires something that
 * outlives a function (a child, a server, a folder) says here how to let it go.
 */
import { constants } from 'node:os'

export interface Ending {
  /** Orderly release; awaited, in the reverse order of registration. */
  readonly release: () => Promise<void>
  /** What can still be done when the process is already leaving: no waiting possible. */
  readonly atExit?: () => void
}

const endings = new Set<Ending>()
let listening = false
let releasing: Promise<void> | undefined
let leaving: Promise<void> | undefined
let leavingSince = 0

/** A second signal this long after the first one means "now" (a terminal may deliver one twice). */
const PATIENCE_MS = 500

/** @returns a function that forgets the ending, for one that has been released by its owner. */
export function atTheEnd(ending: Ending): () => void {
  endings.add(ending)
  listen()
  return () => endings.delete(ending)
}

/** Release everything now, once for all who ask. Failures are told, never thrown: the rest must go too. */
export function releaseAll(): Promise<void> {
  releasing ??= releaseInTurn().finally(() => (releasing = undefined))
  return releasing
}

/** True once a signal has asked this process to end: what ends from now on, ends because of that. */
export function isLeaving(): boolean {
  return leaving !== undefined
}

async function releaseInTurn(): Promise<void> {
  for (const ending of [...endings].reverse()) {
    endings.delete(ending)
    await ending.release().catch((failure: unknown) => console.error('presence: while ending:', failure))
  }
}

function listen(): void {
  if (listening) return
  listening = true
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => leave(name))
  process.on('exit', () => {
    for (const ending of endings) ending.atExit?.()
  })
}

function leave(name: 'SIGINT' | 'SIGTERM' | 'SIGHUP'): void {
  const code = 128 + constants.signals[name]
  if (leaving !== undefined) {
    if (Date.now() - leavingSince > PATIENCE_MS) process.exit(code)
    return
  }
  leavingSince = Date.now()
  leaving = releaseAll().then(() => process.exit(code))
}
