/**
 * The panel's button. While what it started runs it is `busy`: it does nothing, but stays where it is
 * for the keyboard, which a disabled button would lose.
 */
import * as React from 'react'

interface ButtonProps extends React.ButtonHTMLAttributes<HTMLButtonElement> {
  readonly look?: 'plain' | 'primary' | 'danger' | 'quiet'
  readonly busy?: boolean
}

export const Button = React.forwardRef<HTMLButtonElement, ButtonProps>(function Button(
  { look = 'plain', busy = false, className = '', onClick, ...rest },
  ref,
) {
  return (
    <button
      type="button"
      ref={ref}
      className={`dshp-button dshp-${look} ${className}`}
      aria-disabled={busy || undefined}
      onClick={busy ? undefined : onClick}
      {...rest}
    />
  )
})
