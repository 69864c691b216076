/** What a call gave, in words that are the same for both worlds. */
import { FsError } from '@deepseek-ai/dsh-fs'
import type { World } from './worlds.ts'

/**
 * System errors that the local provider lets through as they are, and the code of the same kind that a
 * machine's have: a caller that knows codes must be able to tell them.
 */
const KINDS: Readonly<Record<string, string>> = {
  ENOENT: 'FS_NOT_FOUND',
  ENOTDIR: 'FS_NOT_FOUND',
  ELOOP: 'FS_NOT_FOUND',
  EACCES: 'FS_PERMISSION_DENIED',
  EPERM: 'FS_PERMISSION_DENIED',
}

/** Gives every version token a number by the order of its first appearance: equal tokens, equal numbers. */
export class Versions {
  readonly #numbers = new Map<string, number>()

  numberOf(version: string): number {
    const known = this.#numbers.get(version)
    if (known !== undefined) return known
    this.#numbers.set(version, this.#numbers.size)
    return this.#numbers.size - 1
  }

  get size(): number {
    return this.#numbers.size
  }

  /** Forget all but the first `size` of them. */
  shrink(size: number): void {
    for (const version of [...this.#numbers.keys()].slice(size)) this.#numbers.delete(version)
  }
}

export interface Failed {
  readonly failed: string
  /** Undefined where the local provider has only the system's words. */
  readonly words?: string
  /** The system's code that the local provider let through. */
  readonly system?: string
}

export type Outcome = { readonly value: unknown } | Failed

/** @param versions - undefined: tokens count as alike. */
export async function outcomeOf(
  world: World,
  versions: Versions | undefined,
  call: (world: World) => Promise<unknown>,
  changes = false,
): Promise<Outcome> {
  try {
    const value = await world.as(() => call(world), changes)
    return { value: neutral(world, versions, value ?? null) }
  } catch (error) {
    if (error instanceof FsError) {
      return { failed: error.code, words: neutral(world, undefined, error.message) as string }
    }
    const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
    if (code === undefined || world.name !== 'local') throw error
    return { failed: KINDS[code] ?? 'FS_IO_ERROR', system: code }
  }
}

/**
 * Whether the outcome there is the one here, or one of the few that are better there and meant to be so:
 *
 * - ours may say more than the host's own words, which may be none;
 * - one entry that cannot be looked at fails the whole listing of the local provider; ours has the others;
 * - a link that leads to itself is absent for the question what is below it, not an error of the system.
 */
export function compared(here: Outcome, there: Outcome): 'same' | 'kinder' | 'different' {
  if ('value' in here) {
    return 'value' in there && JSON.stringify(there.value) === JSON.stringify(here.value)
      ? 'same'
      : 'different'
  }
  if ('value' in there) {
    return isListing(there.value) || (here.system === 'ELOOP' && there.value === null)
      ? 'kinder'
      : 'different'
  }
  if (there.failed !== here.failed) return 'different'
  if (here.words === undefined || there.words?.startsWith(here.words) === true) return 'same'
  const listing = [here, there].every(({ words }) => words?.startsWith('cannot list ') === true)
  return listing && here.failed === 'FS_PERMISSION_DENIED' ? 'kinder' : 'different'
}

function isListing(value: unknown): boolean {
  return (
    Array.isArray(value) && value.length > 0 && value.every((entry) => isRecord(entry) && 'name' in entry)
  )
}

function neutral(world: World, versions: Versions | undefined, value: unknown): unknown {
  const text = JSON.stringify(value, (key, inner: unknown) => {
    if (key === 'version' && typeof inner === 'string') return versions?.numberOf(inner) ?? 'a version'
    return isRecord(inner) ? Object.fromEntries(Object.entries(inner).toSorted()) : inner
  })
  return JSON.parse(
    world.spellings.reduce(
      (changed, spelling) =>
        changed.replaceAll(
          JSON.stringify(spelling).slice(1, -1),
          spelling.endsWith('/w') ? '<folder>' : '<above>',
        ),
      text,
    ),
  )
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
