/** What this process still holds: listeners, timers, sockets. Compared before and after, not judged. */

const EVENTS = [
  'exit',
  'beforeExit',
  'SIGINT',
  'SIGTERM',
  'SIGHUP',
  'uncaughtException',
  'unhandledRejection',
]

export interface Holdings {
  readonly listeners: Readonly<Record<string, number>>
  /** By kind; those that keep a process alive only. */
  readonly resources: Readonly<Record<string, number>>
}

export function holdings(): Holdings {
  const resources: Record<string, number> = {}
  for (const kind of process.getActiveResourcesInfo()) resources[kind] = (resources[kind] ?? 0) + 1
  return {
    listeners: Object.fromEntries(EVENTS.map((event) => [event, process.listenerCount(event)])),
    resources,
  }
}

/** What there is more of than before, as words; empty when nothing was left behind. */
export function grown(before: Holdings, now: Holdings): string[] {
  const more = (
    kind: string,
    was: Readonly<Record<string, number>>,
    is: Readonly<Record<string, number>>,
  ): string[] =>
    Object.entries(is)
      .filter(([name, count]) => count > (was[name] ?? 0))
      .map(([name, count]) => `${kind} ${name}: ${was[name] ?? 0} before, ${count} now`)
  return [
    ...more('listeners of', before.listeners, now.listeners),
    ...more('resource', before.resources, now.resources),
  ]
}
