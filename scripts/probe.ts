/** `npm run probe`: one machine as Presence would use it, looked at without DSH. */
import { atTheEnd, isLeaving, releaseAll } from './project/endings.ts'
import { probe } from './probe/examine.ts'
import { parseRequest, USAGE } from './probe/options.ts'
import { ownTerminal, questionsIn } from './probe/terminal.ts'
import { textOf } from './probe/text.ts'
import { UsageError } from './start/options.ts'

async function main(): Promise<number> {
  const leave = new AbortController()
  atTheEnd({ release: () => Promise.resolve(leave.abort()) })
  try {
    const request = parseRequest(process.argv.slice(2))
    if (request === undefined) {
      console.log(USAGE)
      return 0
    }
    const terminal = ownTerminal()
    const result = await probe({
      machine: request.machine,
      questions: questionsIn(terminal),
      asked: terminal !== undefined,
      signal: leave.signal,
      ...(process.stderr.isTTY && !request.json
        ? { onProgress: (doing: string) => console.error(`… ${doing}`) }
        : {}),
      env: process.env,
    })
    // What a signal has broken off is no finding; the process leaves from where it was received.
    if (isLeaving()) return await new Promise(() => undefined)
    console.log(request.json ? JSON.stringify(result, null, 2) : textOf(result))
    return result.ok ? 0 : 1
  } catch (failure) {
    if (failure instanceof UsageError) {
      console.error(`presence: ${failure.message}\n\n${USAGE}`)
      return 2
    }
    console.error(`presence: ${failure instanceof Error ? failure.message : String(failure)}`)
    return 1
  } finally {
    await releaseAll()
  }
}

process.exitCode = await main()
