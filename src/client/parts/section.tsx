/** One part of the settings page, with its heading and a line of explanation. */
import * as React from 'react'

interface SectionProps {
  readonly heading: string
  readonly hint: string
  readonly children: React.ReactNode
  /** Where the focus goes when what had it is gone. */
  readonly headingRef?: React.Ref<HTMLHeadingElement>
}

export function Section({ heading, hint, children, headingRef }: SectionProps) {
  const id = React.useId()
  return (
    <section className="dshp-section" aria-labelledby={id}>
      <h3 className="dshp-heading" id={id} tabIndex={-1} ref={headingRef}>
        {heading}
      </h3>
      {hint !== '' && <p className="dshp-hint">{hint}</p>}
      {children}
    </section>
  )
}

export function EmptyNote({ headline, hint }: { headline: string; hint: string }) {
  return (
    <div className="dshp-note">
      <p>{headline}</p>
      <p className="dshp-detail">{hint}</p>
    </div>
  )
}

export function LoadingNote({ text }: { text: string }) {
  return (
    <p className="dshp-loading" role="status">
      <span className="dshp-spinner" aria-hidden="true" />
      {text}
    </p>
  )
}
