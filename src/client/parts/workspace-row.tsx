/** One remote workspace: which it is, making it the current one, and removing it after a question. */
import * as React from 'react'
import type { WorkspaceView } from '../../wire/api.ts'
import { useApi, useStrings } from '../surroundings.tsx'
import { useTask } from '../use-task.ts'
import { Button } from './button.tsx'
import { FailureNote } from './failure-note.tsx'
import { passFocus } from './pass-focus.ts'

interface WorkspaceRowProps {
  readonly workspace: WorkspaceView
  readonly changed: () => Promise<void>
  /** Called while the row may still be there. */
  readonly removed: (row: Element | null) => void
}

export function WorkspaceRow({ workspace, changed, removed }: WorkspaceRowProps) {
  const api = useApi()
  const strings = useStrings()
  const task = useTask({ abandon: false })
  const [asking, setAsking] = React.useState(false)
  const row = React.useRef<HTMLLIElement>(null)
  const removeButton = React.useRef<HTMLButtonElement>(null)
  const kept = React.useRef(false)
  const { host, path, title, active, marker, id } = workspace
  const address = `${host}:${path}`

  const makeCurrent = (): void =>
    task.run(
      async () => {
        await api.change({ activate: id ?? marker })
        await changed()
      },
      () => passFocus(row.current, removeButton.current),
    )
  const remove = (): void =>
    task.run(async () => {
      await api.remove({ host, path })
      await changed()
      removed(row.current)
    })
  const keep = (): void => {
    kept.current = true
    setAsking(false)
    task.clear()
  }
  React.useEffect(() => {
    // The button is there again only now.
    if (kept.current && !asking) removeButton.current?.focus()
    kept.current = false
  }, [asking])

  return (
    <li className="dshp-row dshp-row-wrap" ref={row} data-workspace={title}>
      <div className="dshp-row-main">
        <p className="dshp-name">
          <span className="dshp-cut">{title}</span>
          {active && <span className="dshp-badge">{strings.current}</span>}
        </p>
        {title !== address && <p className="dshp-detail dshp-path">{address}</p>}
      </div>
      {!asking && (
        <div className="dshp-actions">
          {!active && (
            <Button
              look="quiet"
              onClick={makeCurrent}
              aria-label={strings.makeCurrentOf(title)}
              busy={task.running}
            >
              {strings.makeCurrent}
            </Button>
          )}
          <Button
            look="quiet"
            ref={removeButton}
            onClick={() => setAsking(true)}
            aria-label={strings.removeOf(title)}
          >
            {strings.remove}
          </Button>
        </div>
      )}
      {asking && <RemoveQuestion {...{ host, title, remove, keep }} removing={task.running} />}
      {task.failure !== undefined && <FailureNote failure={task.failure} />}
    </li>
  )
}

interface RemoveQuestionProps {
  readonly host: string
  readonly title: string
  readonly removing: boolean
  readonly remove: () => void
  readonly keep: () => void
}

function RemoveQuestion({ host, title, removing, remove, keep }: RemoveQuestionProps) {
  const strings = useStrings()
  const keepButton = React.useRef<HTMLButtonElement>(null)
  const textId = React.useId()
  React.useEffect(() => keepButton.current?.focus(), [])
  const leaveOnEscape = (event: React.KeyboardEvent): void => {
    if (event.key !== 'Escape') return
    // The host would close the whole settings page.
    event.stopPropagation()
    keep()
  }
  return (
    <div className="dshp-question" role="group" aria-labelledby={textId} onKeyDown={leaveOnEscape}>
      <div id={textId}>
        <p>{strings.removeQuestion(title)}</p>
        <p className="dshp-detail">{strings.removeFacts(host)}</p>
      </div>
      <div className="dshp-actions">
        <Button ref={keepButton} onClick={keep}>
          {strings.keep}
        </Button>
        <Button look="danger" onClick={remove} busy={removing}>
          {removing ? strings.removing : strings.remove}
        </Button>
      </div>
    </div>
  )
}
