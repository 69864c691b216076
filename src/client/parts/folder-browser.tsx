/** A simple browser of a machine's folders: go up, go into one, choose the one that is shown. */
import * as React from 'react'
import type { DirectoryEntryView, MachineView } from '../../wire/api.ts'
import { useLanguage, useStrings } from '../surroundings.tsx'
import type { Language } from '../language.ts'
import type { Strings } from '../strings.ts'
import { stateText } from '../words.ts'
import { Button } from './button.tsx'
import { FailureNote } from './failure-note.tsx'
import { FileIcon, FolderIcon, UpIcon } from './icons.tsx'
import { LoadingNote } from './section.tsx'
import { useFolder, type Folder } from './use-folder.ts'

interface FolderBrowserProps {
  readonly machine: MachineView
  /** Reads the machine anew, for the stages of a connection that this has begun. */
  readonly refresh: () => Promise<void>
  /** Where to begin; undefined for the home folder. */
  readonly start: string | undefined
  readonly choose: (path: string) => void
}

export function FolderBrowser({ machine, refresh, start, choose }: FolderBrowserProps) {
  const strings = useStrings()
  const language = useLanguage()
  const { folder, home, open } = useFolder(machine.name, start)
  const list = React.useRef<HTMLDivElement>(null)
  React.useEffect(() => void refresh(), [refresh])
  const path = folder.kind === 'open' ? folder.listing.path : folder.path
  const up = parentOf(folder)

  // The entry that was pressed is gone with its folder: without this the focus would leave the panel.
  const openKeepingFocus = (next: string | undefined): void => {
    open(next)
    list.current?.focus()
  }

  return (
    <div className="dshp-browser" role="group" aria-label={strings.folderBrowser(machine.name)}>
      <div className="dshp-browser-bar">
        <Button
          look="quiet"
          className="dshp-icon-only"
          onClick={() => openKeepingFocus(up)}
          disabled={up === undefined}
          title={strings.up}
          aria-label={strings.up}
        >
          <UpIcon />
        </Button>
        <span className="dshp-path dshp-cut dshp-browser-path" aria-live="polite">
          {path ?? machine.name}
        </span>
        {home !== undefined && home !== path && (
          <Button look="quiet" onClick={() => openKeepingFocus(home)}>
            {strings.home}
          </Button>
        )}
      </div>
      <div className="dshp-browser-list" ref={list} tabIndex={-1} onKeyDown={walkWithArrows}>
        {folder.kind === 'opening' && <LoadingNote text={openingText(machine, path, strings, language)} />}
        {folder.kind === 'failed' && (
          <FailureNote failure={folder.failure} retry={() => openKeepingFocus(folder.path)} />
        )}
        {folder.kind === 'open' && (
          <Entries
            entries={folder.listing.entries}
            truncated={folder.listing.truncated}
            enter={(name) => openKeepingFocus(childOf(folder.listing.path, name))}
          />
        )}
      </div>
      <div className="dshp-browser-foot">
        <Button
          onClick={() => folder.kind === 'open' && choose(folder.listing.path)}
          disabled={folder.kind !== 'open'}
        >
          {strings.chooseThis}
        </Button>
      </div>
    </div>
  )
}

interface EntriesProps {
  readonly entries: readonly DirectoryEntryView[]
  readonly truncated: boolean
  readonly enter: (name: string) => void
}

/** Folders can be entered; files are only there to recognise the place by. */
function Entries({ entries, truncated, enter }: EntriesProps) {
  const strings = useStrings()
  const folders = entries.filter((entry) => entry.type === 'directory')
  const others = entries.filter((entry) => entry.type !== 'directory')
  return (
    <>
      {entries.length === 0 && <p className="dshp-hint">{strings.emptyFolder}</p>}
      <ul className="dshp-entries">
        {folders.map(({ name }) => (
          <li key={name}>
            <button
              type="button"
              className="dshp-entry"
              aria-label={strings.openFolder(name)}
              onClick={() => enter(name)}
            >
              <FolderIcon />
              <span className="dshp-cut">{name}</span>
            </button>
          </li>
        ))}
        {others.map(({ name }) => (
          <li key={name} className="dshp-entry dshp-entry-file">
            <FileIcon />
            <span className="dshp-cut">{name}</span>
          </li>
        ))}
      </ul>
      {truncated && <p className="dshp-hint">{strings.moreEntries}</p>}
    </>
  )
}

function openingText(
  machine: MachineView,
  path: string | undefined,
  strings: Strings,
  language: Language,
): string {
  const { state } = machine
  if (state.kind === 'connecting' || state.kind === 'asking') return stateText(state, strings, language)
  if ((state.kind === 'ready' || state.kind === 'degraded') && path !== undefined)
    return strings.listing(path)
  return strings.connecting
}

/** The folder above; a folder that could not be opened is left upwards by its spelling. */
function parentOf(folder: Folder): string | undefined {
  if (folder.kind === 'open') return folder.listing.parent ?? undefined
  if (folder.kind === 'opening' || folder.path === undefined || folder.path === '/') return undefined
  const above = folder.path.replace(/\/+$/, '').replace(/\/[^/]*$/, '')
  return above === '' ? '/' : above
}

function childOf(path: string, name: string): string {
  return path === '/' ? `/${name}` : `${path}/${name}`
}

function walkWithArrows(event: React.KeyboardEvent<HTMLDivElement>): void {
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
  if (step === 0) return
  event.preventDefault()
  const entries = [...event.currentTarget.querySelectorAll<HTMLElement>('button.dshp-entry')]
  const at = entries.findIndex((entry) => entry === document.activeElement)
  entries[Math.min(Math.max(at + step, 0), entries.length - 1)]?.focus()
}
