/** Says which imports break the room table of `arrows/rooms.ts`; exit code 1 when there are any. */
import { checkArrows } from './arrows/check.ts'
import { ROOT } from './project/checkout.ts'

const violations = await checkArrows(ROOT)
for (const violation of violations) console.error(violation)
if (violations.length > 0) {
  console.error(
    `${violations.length} forbidden imports; the rules and their reasons are in scripts/arrows/rooms.ts`,
  )
}
process.exitCode = violations.length === 0 ? 0 : 1
