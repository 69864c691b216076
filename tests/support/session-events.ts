/**
 * What happens in the sessions of a running `dsh web`, as its page hears it: told by the host as it happens,
 * so that nobody has to ask again and again. What the events mean is not known here.
 */
import type { SessionEvent } from '../../scripts/host/session-log.ts'
import type { WebHost } from '../../scripts/host/web.ts'

export interface Ear {
  /** The events from now on until the end of the turn that begins next. @throws when the host goes first. */
  nextTurn(sessionId: string): Promise<SessionEvent[]>
}

interface Frame {
  readonly payload?: { readonly type?: string; readonly sessionId?: string; readonly event?: SessionEvent }
}

interface Listener {
  readonly sessionId: string
  hear(event: SessionEvent): void
  fail(error: Error): void
}

const ears = new WeakMap<WebHost, Promise<Ear>>()

/** The one ear of a host; it closes with the host. */
export function earOf(web: WebHost): Promise<Ear> {
  const known = ears.get(web)
  if (known !== undefined) return known
  const made = listen(web)
  ears.set(web, made)
  return made
}

async function listen(web: WebHost): Promise<Ear> {
  const listeners = new Set<Listener>()
  const socket = await openEvents(web, (frame) => {
    const { payload } = JSON.parse(frame) as Frame
    if (payload?.type !== 'session/event' || payload.event === undefined) return
    for (const one of listeners) if (one.sessionId === payload.sessionId) one.hear(payload.event)
  })
  socket.addEventListener('close', () => {
    for (const one of listeners) one.fail(new Error('the stream of events has ended'))
    ears.delete(web)
  })
  return {
    nextTurn: (sessionId) =>
      new Promise((resolve, reject) => {
        const events: SessionEvent[] = []
        const listener: Listener = {
          sessionId,
          hear: (event) => {
            events.push(event)
            if (event.type !== 'turn/end') return
            listeners.delete(listener)
            resolve(events)
          },
          fail: reject,
        }
        listeners.add(listener)
      }),
  }
}

/** The host's stream of everything that its page must know. @throws when it does not open. */
export async function openEvents(web: WebHost, hear: (frame: string) => void): Promise<WebSocket> {
  const socket = new WebSocket(`${web.url.replace(/^http/, 'ws')}/api/events.mux`)
  socket.addEventListener('message', (event) => hear(String(event.data)))
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve, { once: true })
    socket.addEventListener('error', () => reject(new Error('the stream of events did not open')), {
      once: true,
    })
  })
  return socket
}
