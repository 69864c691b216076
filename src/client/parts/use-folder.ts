/** Walking through the folders of one machine: the folder that is shown, or why there is none. */
import * as React from 'react'
import type { Api } from '../../wire/api.ts'
import { useApi } from '../surroundings.tsx'

export type Folder =
  /** `path` is undefined while the machine is being connected to and its home is not known yet. */
  | { readonly kind: 'opening'; readonly path: string | undefined }
  | { readonly kind: 'open'; readonly listing: Api['GET browse'] }
  | { readonly kind: 'failed'; readonly path: string | undefined; readonly failure: unknown }

export interface FolderWalk {
  readonly folder: Folder
  /** The home folder there, once it is known. */
  readonly home: string | undefined
  /** Open a folder; without a path, the home. A later call replaces an unfinished one. */
  open(path: string | undefined): void
}

export function useFolder(host: string, start: string | undefined): FolderWalk {
  const api = useApi()
  const [folder, setFolder] = React.useState<Folder>({ kind: 'opening', path: start })
  const [home, setHome] = React.useState<string | undefined>(undefined)
  const walking = React.useRef<AbortController | undefined>(undefined)

  const open = React.useCallback(
    (wanted: string | undefined) => {
      walking.current?.abort()
      const own = (walking.current = new AbortController())
      let path = wanted
      const walk = async (): Promise<void> => {
        setFolder({ kind: 'opening', path })
        try {
          // The one step that may take long, so that the page can show how far it has come.
          const { facts } = await api.connect(host, own.signal)
          setHome(facts?.home)
          path ??= facts?.home ?? '/'
          const listing = await api.browse(host, path, own.signal)
          if (!own.signal.aborted) setFolder({ kind: 'open', listing })
        } catch (failure) {
          if (!own.signal.aborted) setFolder({ kind: 'failed', path, failure })
        }
      }
      void walk()
    },
    [api, host],
  )

  React.useEffect(() => {
    open(start)
    return () => walking.current?.abort()
    // Only the machine begins a new walk: typing into the path field must not.
  }, [open])

  return { folder, home, open }
}
