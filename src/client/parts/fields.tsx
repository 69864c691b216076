/** The two fields of "Add remote folder": the machine and the folder on it. */
import * as React from 'react'
import type { MachineView } from '../../wire/api.ts'
import { useStrings } from '../surroundings.tsx'
import { Button } from './button.tsx'

interface MachineFieldProps {
  readonly machines: readonly MachineView[]
  /** The name of the chosen one; empty for none. */
  readonly value: string
  readonly change: (host: string) => void
  /** The id of the text that says what is wrong with it, when something is. */
  readonly wrongId: string | undefined
  readonly takesFocus: boolean
  readonly selectRef: React.Ref<HTMLSelectElement>
}

export function MachineField(props: MachineFieldProps) {
  const { machines, value, change, wrongId, takesFocus, selectRef } = props
  const strings = useStrings()
  const id = React.useId()
  return (
    <>
      <label className="dshp-label" htmlFor={id}>
        {strings.machine}
      </label>
      <select
        className="dshp-input"
        id={id}
        ref={selectRef}
        autoFocus={takesFocus}
        value={value}
        aria-invalid={wrongId !== undefined}
        aria-describedby={wrongId}
        onChange={(event) => change(event.target.value)}
      >
        <option value="" disabled>
          {strings.chooseMachine}
        </option>
        {machines.map(({ name }) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </>
  )
}

interface FolderFieldProps {
  readonly value: string
  readonly change: (path: string) => void
  readonly wrongId: string | undefined
  readonly hintId: string
  readonly browsing: boolean
  readonly browse: () => void
  readonly inputRef: React.Ref<HTMLInputElement>
}

export function FolderField(props: FolderFieldProps) {
  const { value, change, wrongId, hintId, browsing, browse, inputRef } = props
  const strings = useStrings()
  const id = React.useId()
  return (
    <>
      <label className="dshp-label" htmlFor={id}>
        {strings.folder}
      </label>
      <div className="dshp-field">
        <input
          className="dshp-input dshp-path"
          id={id}
          ref={inputRef}
          type="text"
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          placeholder={strings.folderExample}
          value={value}
          aria-invalid={wrongId !== undefined}
          aria-describedby={wrongId ?? hintId}
          onChange={(event) => change(event.target.value)}
        />
        <Button onClick={browse} aria-expanded={browsing}>
          {browsing ? strings.closeBrowser : strings.browse}
        </Button>
      </div>
    </>
  )
}
