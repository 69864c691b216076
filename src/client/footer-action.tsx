/** The entry at the foot of the sidebar that opens the dialog. */
import * as React from 'react'
import { AddFolderDialog } from './add-folder-dialog.tsx'
import type { FooterActionProps } from './host.ts'
import { RemoteFolderIcon } from './parts/icons.tsx'
import { useStrings } from './surroundings.tsx'

export function FooterAction({ wide = true }: FooterActionProps) {
  const strings = useStrings()
  const [open, setOpen] = React.useState(false)
  return (
    <>
      <button
        type="button"
        className={`dshp-root dshp-footer ${wide ? '' : 'dshp-footer-rail'}`}
        aria-haspopup="dialog"
        aria-label={strings.addFolder}
        title={wide ? undefined : strings.addFolder}
        data-presence-add=""
        onClick={() => setOpen(true)}
      >
        <RemoteFolderIcon />
        {wide && <span className="dshp-cut">{strings.addFolder}</span>}
      </button>
      {open && <AddFolderDialog close={() => setOpen(false)} />}
    </>
  )
}
