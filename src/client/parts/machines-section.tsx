/** The list of machines, as the server knows them now. */
import * as React from 'react'
import type { MachineView } from '../../wire/api.ts'
import { useStrings } from '../surroundings.tsx'
import type { Polled } from '../use-polled.ts'
import { FailureNote } from './failure-note.tsx'
import { MachineRow } from './machine-row.tsx'
import { EmptyNote, LoadingNote, Section } from './section.tsx'

/** A list that does not fit the page at a glance gets a filter. */
const FILTER_FROM = 8

export function MachinesSection({ machines }: { machines: Polled<readonly MachineView[]> }) {
  const strings = useStrings()
  return (
    <Section heading={strings.machines} hint={strings.machinesHint}>
      <MachinesBody machines={machines} />
    </Section>
  )
}

function MachinesBody({
  machines: { value, failure, refresh },
}: {
  machines: Polled<readonly MachineView[]>
}) {
  const strings = useStrings()
  const [filter, setFilter] = React.useState('')
  if (value === undefined) {
    return failure === undefined ? (
      <LoadingNote text={strings.loading} />
    ) : (
      <FailureNote failure={failure} retry={refresh} />
    )
  }
  if (value.length === 0) return <EmptyNote headline={strings.noMachines} hint={strings.noMachinesHint} />
  const wanted = filter.trim().toLowerCase()
  const shown = value.filter((machine) => machine.name.toLowerCase().includes(wanted))
  return (
    <>
      {value.length >= FILTER_FROM && (
        <input
          className="dshp-input"
          type="search"
          aria-label={strings.filterMachines}
          placeholder={strings.filterMachines}
          value={filter}
          onChange={(event) => setFilter(event.target.value)}
        />
      )}
      {shown.length === 0 && <p className="dshp-hint">{strings.noMatch}</p>}
      <ul className="dshp-list">
        {shown.map((machine) => (
          <MachineRow key={machine.name} machine={machine} stale={failure !== undefined} changed={refresh} />
        ))}
      </ul>
    </>
  )
}
