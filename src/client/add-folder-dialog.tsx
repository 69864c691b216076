/**
 * "Add remote folder" in a dialog of its own. A native modal dialog: the browser keeps the focus inside,
 * closes it with Escape, puts it above everything and gives the focus back afterwards.
 */
import * as React from 'react'
import { AddFolderForm } from './parts/add-folder-form.tsx'
import { useApi, useStrings } from './surroundings.tsx'
import { usePolled } from './use-polled.ts'

export function AddFolderDialog({ close }: { close: () => void }) {
  const api = useApi()
  const strings = useStrings()
  const titleId = React.useId()
  const machines = usePolled(api.machines)
  const dialog = React.useRef<HTMLDialogElement>(null)

  React.useEffect(() => {
    const element = dialog.current
    element?.showModal()
    return () => element?.close()
  }, [])
  // The browser gives the focus back only if the dialog is closed before it leaves the page.
  const closeNatively = (): void => dialog.current?.close()

  return (
    <dialog
      className="dshp-root dshp-dialog"
      ref={dialog}
      aria-labelledby={titleId}
      data-presence-dialog=""
      onClose={close}
      // Keys pressed here are not for the host's own shortcuts.
      onKeyDown={(event) => event.stopPropagation()}
    >
      <h2 className="dshp-dialog-title" id={titleId}>
        {strings.addFolder}
      </h2>
      <AddFolderForm machines={machines} created={closeNatively} cancel={closeNatively} />
    </dialog>
  )
}
