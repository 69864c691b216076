/** One thing at a time that a person started: whether it runs, and why the last one failed. */
import * as React from 'react'

export interface Task {
  readonly running: boolean
  readonly failure: unknown
  /** Start; does nothing while one runs. `done` is not called once the component is gone. */
  run<Value>(work: (signal: AbortSignal) => Promise<Value>, done?: (value: Value) => void): void
  clear(): void
}

/**
 * With `abandon`, leaving the page gives the running work up; without, it goes on unseen, which is
 * right for what a person has asked for and not taken back.
 */
export function useTask(options: { abandon: boolean }): Task {
  const { abandon } = options
  const [state, setState] = React.useState<{ running: boolean; failure: unknown }>({
    running: false,
    failure: undefined,
  })
  const current = React.useRef<AbortController | undefined>(undefined)
  const mounted = React.useRef(true)

  React.useEffect(() => {
    mounted.current = true
    return () => {
      mounted.current = false
      if (abandon) current.current?.abort()
    }
  }, [abandon])

  const run = React.useCallback<Task['run']>((work, done) => {
    if (current.current !== undefined) return
    const own = (current.current = new AbortController())
    setState({ running: true, failure: undefined })
    const settle = (failure: unknown): void => {
      current.current = undefined
      if (mounted.current) setState({ running: false, failure })
    }
    work(own.signal).then(
      (value) => {
        settle(undefined)
        if (mounted.current) done?.(value)
      },
      (failure: unknown) => settle(own.signal.aborted ? undefined : failure),
    )
  }, [])

  const clear = React.useCallback(() => setState((before) => ({ ...before, failure: undefined })), [])
  return { ...state, run, clear }
}
