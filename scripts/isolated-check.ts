/**
 * `npm run isolated-check`: the rows of Presence in bare Cordis contexts with the host's real packages,
 * without DSH around them. Exit code 0 when every check passed.
 *
 *   npm run isolated-check                                both orders of loading
 *   ORDER=provider-first npm run isolated-check           one of them
 *   npm run isolated-check -- --order provider-last
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { tmpdir } from 'node:os'
import { parseArgs } from 'node:util'
import type { Verdict } from './isolated/run.ts'
import type { Order } from './isolated/scenarios.ts'
import type { DemoMachine } from './machine/machine.ts'
import { startMachine } from './machine/start.ts'
import { ROOT, toolEnvironment } from './project/checkout.ts'
import { run } from './project/children.ts'

const ORDERS: readonly Order[] = ['provider-first', 'provider-last']

/** The scenarios take seconds; a process that is still there after this would never have ended. */
const PATIENCE_MS = 60_000

interface Line extends Verdict {
  readonly order: Order
}

/** Empty for an order that does not exist. */
function chosenOrders(): readonly Order[] {
  const { values } = parseArgs({ options: { order: { type: 'string' } }, strict: false })
  const chosen = values['order'] ?? process.env['ORDER'] ?? ''
  return chosen === '' || chosen === 'both' ? ORDERS : ORDERS.filter((order) => order === chosen)
}

async function checkOrder(order: Order, folder: string, machine: DemoMachine): Promise<Line[]> {
  const home = join(folder, order)
  const local = join(home, 'local')
  const remote = join(realpathSync(machine.home), order)
  for (const made of [local, remote, join(home, 'presence')]) mkdirSync(made, { recursive: true })
  const { host, port, user, identityFile, knownHostsFile } = machine
  const machines = { demo: { host, port, user, identityFile, knownHostsFile } }
  writeFileSync(join(home, 'presence', 'machines.yml'), JSON.stringify(machines))
  const mount = join(home, 'presence/mounts/demo', remote)
  const script = join(ROOT, 'scripts', 'isolated', 'run.ts')
  const ending = 'the process ends by itself once the last row is gone'
  try {
    const { stdout, stderr, code, signal } = await run(
      [process.execPath, script, order, local, mount, remote],
      {
        cwd: ROOT,
        // Nothing of the developer's own configuration is looked at.
        env: { ...toolEnvironment(), DSH_HOME: home, HOME: home },
        timeoutMs: PATIENCE_MS,
      },
    )
    const verdicts = stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => ({ ...(JSON.parse(line) as Verdict), order }))
    const problem = code === 0 ? undefined : `it ended with ${signal ?? `exit code ${code}`}: ${stderr}`
    return [...verdicts, { order, name: ending, problem }]
  } catch (failure) {
    return [{ order, name: ending, problem: failure instanceof Error ? failure.message : String(failure) }]
  }
}

const orders = chosenOrders()
if (orders.length === 0) {
  console.error(`presence: the order of loading is one of ${ORDERS.join(', ')}, or both`)
  process.exit(2)
}
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'presence-isolated-')))
const machine = await startMachine({ folder: join(folder, 'machine') })
const lines: Line[] = []
try {
  for (const order of orders) lines.push(...(await checkOrder(order, folder, machine)))
} finally {
  await machine.stop()
  rmSync(folder, { recursive: true, force: true })
}
for (const { order, name, problem } of lines) {
  console.log(`${problem === undefined ? 'ok    ' : 'FAILED'}  ${order.padEnd(14)}  ${name}`)
  if (problem !== undefined) console.log(`        ${problem}`)
}
const failed = lines.filter((line) => line.problem !== undefined).length
console.log(`${lines.length - failed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1
