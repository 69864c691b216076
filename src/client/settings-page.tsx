/** Settings → Presence: the machines, adding a remote folder, and the workspaces there are. */
import * as React from 'react'
import { AddFolderForm } from './parts/add-folder-form.tsx'
import { MachinesSection } from './parts/machines-section.tsx'
import { Section } from './parts/section.tsx'
import { WorkspacesSection } from './parts/workspaces-section.tsx'
import { useApi, useStrings } from './surroundings.tsx'
import { usePolled } from './use-polled.ts'

export function SettingsPage() {
  const api = useApi()
  const strings = useStrings()
  const machines = usePolled(api.machines)
  const workspaces = usePolled(api.workspaces)
  const stale = machines.value !== undefined && machines.failure !== undefined

  return (
    <div className="dshp-root dshp-page" data-presence-page="">
      {stale && (
        <p className="dshp-note dshp-note-failure" role="alert">
          {strings.staleList}
        </p>
      )}
      <MachinesSection machines={machines} />
      <Section heading={strings.addFolder} hint="">
        <AddFolderForm
          machines={machines}
          created={() => {
            void workspaces.refresh()
            void machines.refresh()
          }}
        />
      </Section>
      <WorkspacesSection workspaces={workspaces} />
    </div>
  )
}
