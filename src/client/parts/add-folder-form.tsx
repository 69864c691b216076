/** Making a workspace of a folder on a machine: which machine, which folder, create. */
import * as React from 'react'
import type { MachineView, WorkspaceView } from '../../wire/api.ts'
import { useApi, useLanguage, useStrings } from '../surroundings.tsx'
import type { Language } from '../language.ts'
import type { Strings } from '../strings.ts'
import type { Polled } from '../use-polled.ts'
import { useTask } from '../use-task.ts'
import { stateText } from '../words.ts'
import { Button } from './button.tsx'
import { FailureNote } from './failure-note.tsx'
import { FolderField, MachineField } from './fields.tsx'
import { FolderBrowser } from './folder-browser.tsx'
import { EmptyNote, LoadingNote } from './section.tsx'

interface AddFolderFormProps {
  readonly machines: Polled<readonly MachineView[]>
  readonly created: () => void
  /** Present in a dialog: closing it takes back what is not done yet. */
  readonly cancel?: () => void
}

export function AddFolderForm({ machines, created, cancel }: AddFolderFormProps) {
  const strings = useStrings()
  const { value, failure, refresh } = machines
  if (value !== undefined && value.length > 0) {
    return <Form machines={value} refresh={refresh} created={created} cancel={cancel} />
  }
  return (
    <>
      {value !== undefined && <EmptyNote headline={strings.noMachines} hint={strings.noMachinesHint} />}
      {value === undefined && failure === undefined && <LoadingNote text={strings.loading} />}
      {value === undefined && failure !== undefined && <FailureNote failure={failure} retry={refresh} />}
      {cancel !== undefined && (
        <div className="dshp-actions dshp-form-actions">
          <Button onClick={cancel}>{strings.cancel}</Button>
        </div>
      )}
    </>
  )
}

interface FormProps {
  readonly machines: readonly MachineView[]
  readonly refresh: () => Promise<void>
  readonly created: () => void
  readonly cancel: (() => void) | undefined
}

function Form({ machines, refresh, created, cancel }: FormProps) {
  const api = useApi()
  const strings = useStrings()
  const language = useLanguage()
  const ids = { hint: React.useId(), wrong: React.useId() }
  const task = useTask({ abandon: cancel !== undefined })
  const [host, setHost] = React.useState(machines.length === 1 ? (machines[0]?.name ?? '') : '')
  const [path, setPath] = React.useState('')
  const [browsing, setBrowsing] = React.useState(false)
  const [done, setDone] = React.useState<WorkspaceView | undefined>(undefined)
  const [wrong, setWrong] = React.useState<Wrong | undefined>(undefined)
  const folderInput = React.useRef<HTMLInputElement>(null)
  const machineSelect = React.useRef<HTMLSelectElement>(null)
  const machine = machines.find((candidate) => candidate.name === host)
  const folder = path.trim()

  const complain = (found: Wrong): void => {
    setWrong(found)
    const field = found.field === 'machine' ? machineSelect : folderInput
    field.current?.focus()
  }
  /** What was said about the last attempt is about other values than these. */
  const changed = (): void => {
    setWrong(undefined)
    setDone(undefined)
    task.clear()
  }
  const submit = (event: React.FormEvent): void => {
    event.preventDefault()
    changed()
    const found = whatIsWrong(machine, folder, strings)
    if (found !== undefined) return complain(found)
    task.run(
      (signal) => api.change({ host, path: folder }, signal),
      (workspace) => {
        setPath('')
        setBrowsing(false)
        setDone(workspace)
        created()
      },
    )
    // Shows the stages of the connection that this may need.
    void refresh()
  }

  return (
    <form className="dshp-form" onSubmit={submit} noValidate>
      <MachineField
        machines={machines}
        value={machine === undefined ? '' : host}
        change={(name) => {
          changed()
          setHost(name)
          setBrowsing(false)
        }}
        wrongId={wrong?.field === 'machine' ? ids.wrong : undefined}
        // In a dialog the focus waits for the list; on a page it stays where the reader is.
        takesFocus={cancel !== undefined}
        selectRef={machineSelect}
      />
      <FolderField
        value={path}
        change={(text) => {
          changed()
          setPath(text)
        }}
        wrongId={wrong?.field === 'folder' ? ids.wrong : undefined}
        hintId={ids.hint}
        browsing={browsing}
        browse={() => {
          if (machine === undefined) complain({ field: 'machine', text: strings.needMachine })
          else setBrowsing(!browsing)
        }}
        inputRef={folderInput}
      />
      {wrong === undefined ? (
        <p className="dshp-hint" id={ids.hint}>
          {strings.folderHint}
        </p>
      ) : (
        <p className="dshp-wrong" id={ids.wrong} role="alert">
          {wrong.text}
        </p>
      )}
      {browsing && machine !== undefined && (
        <FolderBrowser
          key={machine.name}
          machine={machine}
          refresh={refresh}
          start={folder.startsWith('/') ? folder : undefined}
          choose={(chosen) => {
            changed()
            setPath(chosen)
            setBrowsing(false)
            folderInput.current?.focus()
          }}
        />
      )}
      {task.failure !== undefined && <FailureNote failure={task.failure} />}
      {done !== undefined && (
        <p className="dshp-note" role="status">
          {strings.created(done.title)}
        </p>
      )}
      <div className="dshp-actions dshp-form-actions">
        {task.running && <LoadingNote text={progressText(machine, strings, language)} />}
        {cancel !== undefined && <Button onClick={cancel}>{strings.cancel}</Button>}
        <Button look="primary" type="submit" busy={task.running}>
          {task.running ? strings.creating : strings.create}
        </Button>
      </div>
    </form>
  )
}

interface Wrong {
  readonly field: 'machine' | 'folder'
  readonly text: string
}

/** Said only after an attempt; the server has the last word on everything else. */
function whatIsWrong(machine: MachineView | undefined, folder: string, strings: Strings): Wrong | undefined {
  if (machine === undefined) return { field: 'machine', text: strings.needMachine }
  if (folder === '') return { field: 'folder', text: strings.needFolder }
  if (!folder.startsWith('/')) return { field: 'folder', text: strings.needAbsolute }
  return undefined
}

function progressText(machine: MachineView | undefined, strings: Strings, language: Language): string {
  const state = machine?.state
  return state?.kind === 'connecting' || state?.kind === 'asking'
    ? stateText(state, strings, language)
    : strings.creating
}
