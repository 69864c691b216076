/**
 * `npm run selfcheck`: what a user would install, in a DSH of its own, examined on one machine. Everything
 * it makes here is under `.presence/`; on the machine it works in a fresh folder and removes it again.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { tableOf } from '../src/selfcheck/report.ts'
import { makeDshHome, type DshHome } from './host/dsh-home.ts'
import { startModel } from './model/server.ts'
import { pack } from './pack.ts'
import { STATE } from './project/checkout.ts'
import { isLeaving, releaseAll } from './project/endings.ts'
import { selfcheckTurn } from './selfcheck/in-host.ts'
import { DEMO, parseRequest, USAGE, type SelfcheckRequest } from './selfcheck/options.ts'
import { claim } from './start/claim.ts'
import { demoTarget } from './start/demo-machine.ts'
import { writeMachines } from './start/installation.ts'
import { UsageError } from './start/options.ts'

async function selfcheck({ machine, folder, json }: SelfcheckRequest): Promise<number> {
  await claim(STATE)
  const demo = machine === DEMO ? await demoTarget(join(STATE, 'demo')) : undefined
  const home = await install()
  // Without an entry of its own a machine is what the SSH configuration says; an earlier run's is forgotten.
  if (demo === undefined) await rm(join(home.folder, 'presence', 'machines.yml'), { force: true })
  else await writeMachines(home, demo)
  console.error(`Examining ${machine} …`)
  const reportFile = join(STATE, 'selfcheck-report.json')
  const { report, output } = await selfcheckTurn(home, { machine, folder, report: reportFile })
  if (report === undefined) throw new Error(`DSH did not come to the checks; it printed:\n${output}`)
  console.log(json ? JSON.stringify(report, null, 2) : tableOf(report))
  console.error(`The report is in ${reportFile}`)
  return report.failed === 0 && report.leftovers.length === 0 ? 0 : 1
}

/** Progress goes to standard error: standard output is the report's. */
async function install(): Promise<DshHome> {
  console.error('Building and packing Presence …')
  const tarball = await pack()
  const model = await startModel([{ text: 'I am there.' }])
  const folder = join(STATE, 'selfcheck-home')
  const home = await makeDshHome({ folder, model: { url: model.url, key: 'scripted' } })
  console.error(`Installing it into a DSH of its own in ${folder} …`)
  await home.addPlugin('headless', tarball)
  return home
}

async function main(): Promise<number> {
  try {
    const request = parseRequest(process.argv.slice(2))
    if (request === undefined) {
      console.log(USAGE)
      return 0
    }
    return await selfcheck(request)
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
