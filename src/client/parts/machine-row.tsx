/** One machine: what its connection does, what is known of the machine, and connecting to it. */
import * as React from 'react'
import type { MachineView } from '../../wire/api.ts'
import { useApi, useLanguage, useStrings } from '../surroundings.tsx'
import { useTask } from '../use-task.ts'
import { factLines, reasonText, stateText } from '../words.ts'
import { Button } from './button.tsx'
import { FailureNote } from './failure-note.tsx'
import { passFocus } from './pass-focus.ts'

interface MachineRowProps {
  readonly machine: MachineView
  /** True when DSH does not answer: the state is then what it was, not what it is. */
  readonly stale: boolean
  readonly changed: () => Promise<void>
}

export function MachineRow({ machine, stale, changed }: MachineRowProps) {
  const api = useApi()
  const strings = useStrings()
  const language = useLanguage()
  const task = useTask({ abandon: false })
  const row = React.useRef<HTMLLIElement>(null)
  const main = React.useRef<HTMLDivElement>(null)
  const { name, state, facts, problem } = machine

  const underWay = state.kind === 'connecting' || state.kind === 'asking'
  const connected = state.kind === 'ready' || state.kind === 'degraded'
  const connecting = task.running || underWay
  const connect = (): void =>
    // The button goes once the machine is connected; what had the focus is then its row.
    task.run(
      async () => {
        try {
          await api.connect(name)
        } finally {
          await changed()
        }
      },
      () => passFocus(row.current, main.current),
    )

  return (
    <li className="dshp-row" ref={row} data-machine={name}>
      <div className="dshp-row-main" ref={main} tabIndex={-1}>
        <p className="dshp-name">
          <span
            className={`dshp-dot dshp-dot-${stale ? 'stale' : problem !== undefined ? 'failed' : connecting ? 'connecting' : state.kind}`}
            aria-hidden="true"
          />
          {name}
        </p>
        <p className="dshp-detail" role="status">
          {stale && `${strings.lastKnown} `}
          {task.running && !underWay ? strings.connecting : stateText(state, strings, language)}
        </p>
        {problem !== undefined && (
          <p className="dshp-detail dshp-reason">{strings.badEntry(reasonText(problem, name))}</p>
        )}
        {problem === undefined && !connecting && (state.kind === 'failed' || state.kind === 'lost') && (
          <p className="dshp-detail dshp-reason">{reasonText(state.reason, name)}</p>
        )}
        {facts !== undefined &&
          connected &&
          factLines(facts, strings).map((line) => (
            <p className="dshp-detail" key={line}>
              {line}
            </p>
          ))}
        {/* A failure that the machine's state already tells is not told twice. */}
        {task.failure !== undefined && state.kind !== 'failed' && <FailureNote failure={task.failure} />}
      </div>
      {problem === undefined && (!connected || task.running) && (
        <Button onClick={connect} busy={connecting} aria-label={`${connectLabel()}: ${name}`}>
          {connectLabel()}
        </Button>
      )}
    </li>
  )

  function connectLabel(): string {
    if (connecting) return strings.connecting
    return state.kind === 'idle' ? strings.connect : strings.reconnect
  }
}
