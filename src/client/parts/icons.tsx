/** The few pictures of the panel; all of them stand beside words, so none has a name of its own. */
import * as React from 'react'

function icon(path: string): () => React.JSX.Element {
  return function Icon() {
    return (
      <svg
        className="dshp-icon"
        width="16"
        height="16"
        viewBox="0 0 16 16"
        aria-hidden="true"
        focusable="false"
      >
        <path
          d={path}
          fill="none"
          stroke="currentColor"
          strokeWidth="1.2"
          strokeLinecap="round"
          strokeLinejoin="round"
        />
      </svg>
    )
  }
}

export const FolderIcon = icon(
  'M1.8 4.4c0-.8.6-1.4 1.4-1.4h2.6l1.5 1.7h5.5c.8 0 1.4.6 1.4 1.4v5.5c0 .8-.6 1.4-1.4 1.4H3.2c-.8 0-1.4-.6-1.4-1.4z',
)
export const FileIcon = icon('M4 1.8h5l3 3v9.4H4zM9 1.8v3h3')
export const UpIcon = icon('M8 13V3.2M4 7l4-4 4 4')
export const RemoteFolderIcon = icon(
  'M14.2 7.2V6.1c0-.8-.6-1.4-1.4-1.4H7.3L5.8 3H3.2c-.8 0-1.4.6-1.4 1.4v7.2c0 .8.6 1.4 1.4 1.4h3.6' +
    'M12 9.2v4.6M9.7 11.5h4.6',
)
