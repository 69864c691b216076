/**
 * A confined command on its way from the sandbox seam to the subprocess seam. The sandbox must answer at
 * once and may not ask the machine, so it marks the argv with the policy; the wrapping itself happens
 * when the machine's means are known. A marked argv can run nowhere by accident: no such program exists.
 */
import type { ConfinePolicy } from '../remote/confine.ts'

const MARKER = 'presence-confined-command'

export interface ConfinedArgv {
  readonly machine: string
  readonly policy: ConfinePolicy
  readonly argv: readonly string[]
}

export function markConfined({ machine, policy, argv }: ConfinedArgv): string[] {
  return [MARKER, JSON.stringify({ machine, mode: policy.mode, root: policy.root }), '--', ...argv]
}

/** The inverse; undefined for any other argv. */
export function readConfined(argv: readonly string[]): ConfinedArgv | undefined {
  const [marker, policy, separator, ...rest] = argv
  if (marker !== MARKER || policy === undefined || separator !== '--') return undefined
  const { machine, mode, root } = JSON.parse(policy) as { machine: string } & ConfinePolicy
  return { machine, policy: { mode, root }, argv: rest }
}

/** The machine that a marked argv is for. */
export function confinedPlace(argv: readonly string[]): string | undefined {
  return readConfined(argv)?.machine
}
