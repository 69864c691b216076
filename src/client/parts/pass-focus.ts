/** Where the keyboard goes when what it stood on leaves the page. */

/** Focus `target` if the focus is inside `leaving` or lost already; someone who moved on is left alone. */
export function passFocus(leaving: Element | null, target: HTMLElement | null): void {
  const { activeElement, body } = document
  const lost = activeElement === null || activeElement === body
  if (lost || leaving?.contains(activeElement) === true) target?.focus()
}
