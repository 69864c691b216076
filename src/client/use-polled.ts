/** A value of the server that is read again and again while someone can see it. */
import * as React from 'react'

export interface Polled<Value> {
  /** The newest value there is; undefined until the first one came. */
  readonly value: Value | undefined
  /** Why the last reading failed; the value is then older than it should be. */
  readonly failure: unknown
  /** Read now, outside of the turn; resolves when the answer is shown, and never rejects. */
  refresh(): Promise<void>
}

const INTERVAL_MS = 3000

/** `read` must be stable between renders. A hidden page reads nothing; it reads at once when shown. */
export function usePolled<Value>(read: (signal: AbortSignal) => Promise<Value>): Polled<Value> {
  const [state, setState] = React.useState<{ value: Value | undefined; failure: unknown }>({
    value: undefined,
    failure: undefined,
  })
  const refreshRef = React.useRef<() => Promise<void>>(() => Promise.resolve())

  React.useEffect(() => {
    let reading: AbortController | undefined
    let timer: number | undefined

    const turn = async (): Promise<void> => {
      window.clearTimeout(timer)
      reading?.abort()
      if (document.hidden) return
      const own = (reading = new AbortController())
      try {
        const value = await read(own.signal)
        if (own.signal.aborted) return
        setState({ value, failure: undefined })
      } catch (failure) {
        if (own.signal.aborted) return
        setState((before) => ({ value: before.value, failure }))
      }
      timer = window.setTimeout(begin, INTERVAL_MS)
    }
    const begin = (): void => void turn()

    refreshRef.current = turn
    document.addEventListener('visibilitychange', begin)
    begin()
    return () => {
      document.removeEventListener('visibilitychange', begin)
      window.clearTimeout(timer)
      reading?.abort()
      refreshRef.current = () => Promise.resolve()
    }
  }, [read])

  const refresh = React.useCallback(() => refreshRef.current(), [])
  return { ...state, refresh }
}
