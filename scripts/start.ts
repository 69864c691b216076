/**
 * `npm start`: Presence in a real DSH, with a machine to work on. Everything it makes is under
 * `.presence/`; the user's own `~/.dsh` and `~/.ssh` are not written to.
 */
import { join } from 'node:path'
import { assertFree } from './project/port.ts'
import { openConversation } from './model/conversation.ts'
import { startModel } from './model/server.ts'
import { STATE } from './project/checkout.ts'
import { isLeaving, releaseAll } from './project/endings.ts'
import { checkedTurn } from './start/checked-turn.ts'
import { claim } from './start/claim.ts'
import { demoTarget } from './start/demo-machine.ts'
import { installPresence, writeMachines } from './start/installation.ts'
import { parseOptions, USAGE, UsageError, type StartOptions } from './start/options.ts'
import { ownTarget } from './start/own-machine.ts'
import { servePage } from './start/page.ts'

async function start(options: StartOptions): Promise<number> {
  await claim(STATE)
  if (options.port !== 0) await assertFree(options.port)
  const target =
    options.own === undefined
      ? await demoTarget(join(STATE, 'demo'))
      : await ownTarget(options.own, options.unconfined)
  // A checked turn needs to know what the model will say; a page may talk to a real one.
  const scripted = options.headless || !process.env.DEEPSEEK_API_KEY
  const model = scripted ? await startModel(openConversation) : undefined
  const home = await installPresence(
    join(STATE, 'home'),
    options.headless ? 'headless' : 'web',
    model === undefined ? undefined : { url: model.url, key: 'scripted' },
  )
  await writeMachines(home, target)
  if (options.headless && model !== undefined) {
    const failed = await checkedTurn(home, target, model, options.own !== undefined)
    return failed === 0 ? 0 : 1
  }
  return servePage(home, target, { port: options.port, scripted })
}

async function main(): Promise<number> {
  try {
    const options = parseOptions(process.argv.slice(2))
    if (options === undefined) {
      console.log(USAGE)
      return 0
    }
    return await start(options)
  } catch (failure) {
    // What a signal has broken off is no failure; the process leaves from where it was received.
    if (isLeaving()) return new Promise(() => undefined)
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

process.exit(await main())
