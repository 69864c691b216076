/** A failure as a person should read it: what it is, what exactly was said, and what can be done. */
import * as React from 'react'
import { useStrings } from '../surroundings.tsx'
import { failureText } from '../words.ts'
import { Button } from './button.tsx'

export function FailureNote({ failure, retry }: { failure: unknown; retry?: (() => unknown) | undefined }) {
  const strings = useStrings()
  const { headline, detail } = failureText(failure, strings)
  return (
    <div className="dshp-note dshp-note-failure" role="alert">
      <p>{headline}</p>
      {detail !== '' && <p className="dshp-detail">{detail}</p>}
      {retry !== undefined && (
        <Button look="quiet" onClick={retry}>
          {strings.retry}
        </Button>
      )}
    </div>
  )
}
