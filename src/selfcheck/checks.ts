/** All checks, in the order in which they are made; what they are about is in `checks/`. */
import type { Check } from './check.ts'
import { BOUNDARIES } from './checks/boundaries.ts'
import { COMMANDS } from './checks/commands.ts'
import { IDENTITY } from './checks/identity.ts'
import { READING } from './checks/reading.ts'
import { WRITING } from './checks/writing.ts'

export const CHECKS: readonly Check[] = [...IDENTITY, ...READING, ...WRITING, ...COMMANDS, ...BOUNDARIES]
