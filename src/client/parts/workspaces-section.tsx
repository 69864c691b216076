/** The list of remote workspaces. */
import * as React from 'react'
import type { WorkspaceView } from '../../wire/api.ts'
import { useStrings } from '../surroundings.tsx'
import type { Polled } from '../use-polled.ts'
import { FailureNote } from './failure-note.tsx'
import { passFocus } from './pass-focus.ts'
import { EmptyNote, LoadingNote, Section } from './section.tsx'
import { WorkspaceRow } from './workspace-row.tsx'

export function WorkspacesSection({ workspaces }: { workspaces: Polled<readonly WorkspaceView[]> }) {
  const strings = useStrings()
  const heading = React.useRef<HTMLHeadingElement>(null)
  const { value, failure, refresh } = workspaces
  const any = value !== undefined && value.length > 0
  const sessions = value?.every((workspace) => workspace.id !== undefined) === true
  const hint = sessions ? strings.workspacesHint : strings.noSessionsHint
  return (
    <Section heading={strings.workspaces} hint={any ? hint : ''} headingRef={heading}>
      {value === undefined && failure === undefined && <LoadingNote text={strings.loading} />}
      {value === undefined && failure !== undefined && <FailureNote failure={failure} retry={refresh} />}
      {value?.length === 0 && <EmptyNote headline={strings.noWorkspaces} hint={strings.noWorkspacesHint} />}
      {any && (
        <ul className="dshp-list">
          {value.map((workspace) => (
            <WorkspaceRow
              key={`${workspace.host}:${workspace.path}`}
              workspace={workspace}
              changed={refresh}
              removed={(row) => passFocus(row, heading.current)}
            />
          ))}
        </ul>
      )}
    </Section>
  )
}
