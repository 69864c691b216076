/** `npm run bench`: our speed beside our peers', on this computer, in one run; see docs/performance.md. */
import { parseRequest, USAGE } from './bench/options.ts'
import { allMet, reportOf, textOf } from './bench/report.ts'
import { isLeaving, releaseAll } from './project/endings.ts'
import { UsageError } from './start/options.ts'

async function main(): Promise<number> {
  try {
    const request = parseRequest(process.argv.slice(2))
    if (request === undefined) {
      console.log(USAGE)
      return 0
    }
    const report = await reportOf(request.bench, request.rounds, (text) => console.error(text))
    // What a signal has broken off is no finding; the process leaves from where it was received.
    if (isLeaving()) return await new Promise(() => undefined)
    console.log(request.json ? JSON.stringify(report) : textOf(report))
    return allMet(report) ? 0 : 1
  } catch (failure) {
    if (!(failure instanceof UsageError)) throw failure
    console.error(`presence: ${failure.message}\n\n${USAGE}`)
    return 2
  } finally {
    await releaseAll()
  }
}

process.exitCode = await main()
