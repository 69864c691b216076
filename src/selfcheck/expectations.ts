/** What should be so, and the sentence for what was found instead. Nothing here knows a machine. */
import type { FsErrorCode } from '@deepseek-ai/dsh-fs'

/** Something is not as it should be; the message is for a person. */
export class UnmetExpectation extends Error {}

const LONGEST_SHOWN = 160

/** @throws UnmetExpectation when the two are not the same data. */
export function same(what: string, found: unknown, expected: unknown): void {
  const [one, other] = [spelled(found), spelled(expected)]
  if (one === other) return
  throw new UnmetExpectation(`${what}: expected ${shortened(other)}, found ${shortened(one)}`)
}

/** @throws UnmetExpectation when `so` is false. */
export function holds(what: string, so: boolean): void {
  if (!so) throw new UnmetExpectation(what)
}

/** The host's error class, by which it tells refusals. */
export type ErrorClass = new (message: string, code: FsErrorCode) => Error & { readonly code: FsErrorCode }

/**
 * Run a call that must be refused with this code, in an error of the host's own class.
 * @throws UnmetExpectation otherwise, also when it is refused in another way.
 */
export async function refusedWith(
  code: FsErrorCode,
  what: string,
  hostError: ErrorClass,
  call: () => Promise<unknown>,
): Promise<void> {
  const outcome = await call().then(
    (answer) => ({ answer }),
    (error: unknown) => ({ error }),
  )
  if ('answer' in outcome) {
    throw new UnmetExpectation(
      `${what}: expected ${code}, but it succeeded with ${shortened(spelled(outcome.answer))}`,
    )
  }
  const { error } = outcome
  if (error instanceof hostError && error.code === code) return
  const found = error instanceof Error && 'code' in error ? String(error.code) : 'an error without a code'
  const stranger = error instanceof hostError ? '' : " (and not in the host's own class)"
  throw new UnmetExpectation(`${what}: expected ${code}, found ${found}${stranger}: ${textOf(error)}`)
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Undefined and bytes are told apart from what JSON would make of them. */
function spelled(value: unknown): string {
  const text = JSON.stringify(value, (_key, inner: unknown) => {
    if (inner === undefined) return '(nothing)'
    if (inner instanceof Uint8Array) return `bytes ${Buffer.from(inner).toString('hex')}`
    return inner
  }) as string | undefined
  return text ?? '(nothing)'
}

function shortened(text: string): string {
  return text.length <= LONGEST_SHOWN
    ? text
    : `${text.slice(0, LONGEST_SHOWN)}… (${text.length} characters in all)`
}
