/** Checks with a sentence each, counted and printed as they are made. */
export interface Check {
  /** What should be so. */
  readonly claim: string
  /** Where it is so, and how that is found out without Presence. */
  readonly how: string
  /** Undefined when it is so, otherwise what was found instead. */
  readonly look: () => Promise<string | undefined>
}

export class Findings {
  #passed = 0
  #failed = 0

  /** @returns whether the check has passed. */
  async make(check: Check): Promise<boolean> {
    // A check that cannot be made has not been passed.
    const looked = (async () => check.look())()
    const wrong = await looked.catch((failure: unknown) => `could not be checked: ${String(failure)}`)
    if (wrong === undefined) this.#passed += 1
    else this.#failed += 1
    console.log(`${wrong === undefined ? 'passed' : 'FAILED'}  ${check.claim}`)
    console.log(`        ${check.how}`)
    if (wrong !== undefined) console.log(wrong.trim().replace(/^/gm, '        ! '))
    return wrong === undefined
  }

  get failed(): number {
    return this.#failed
  }

  get summary(): string {
    return `${this.#passed} passed, ${this.#failed} failed`
  }
}

/** For a check of two texts that must be the same. */
export function same(found: string, expected: string): string | undefined {
  if (found === expected) return undefined
  return `expected:\n${expected.trimEnd()}\nfound:\n${found.trimEnd()}`
}

/** For a check that a text holds every one of the others. */
export function holds(text: string, wanted: readonly string[]): string | undefined {
  const missing = wanted.filter((one) => !text.includes(one))
  return missing.length === 0 ? undefined : `missing:\n${missing.join('\n')}\nfound:\n${text}`
}
