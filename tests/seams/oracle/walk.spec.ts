/**
 * Random walks in both worlds at once. A walk that fails is walked again with its seed:
 * `PRESENCE_WALK_SEED=… npm test -- tests/seams/oracle/walk.spec.ts`.
 */
import type { FileSystem } from '@deepseek-ai/dsh-fs'
import { afterEach, beforeAll, expect, it } from 'vitest'
import { startProvider } from '../../support/seams.ts'
import { LESS, dropbear, embedded, lesser, openSshAsAccount, type Subject } from './machines.ts'
import { walk } from './walk.ts'
import { DIFF_LIMIT, makeTwins, startLocal } from './worlds.ts'

const EXTERNAL = 'Subsystem sftp /usr/lib/openssh/sftp-server'

const SEED = Number(process.env['PRESENCE_WALK_SEED'] ?? Math.floor(Math.random() * 2 ** 32))

let local: FileSystem
const releases: (() => Promise<void> | void)[] = []
beforeAll(async () => {
  local = await startLocal('/')
})
afterEach(async () => {
  for (const release of releases.splice(0).toReversed()) await release()
})

it.each([
  {
    name: 'OpenSSH with sftp-server',
    steps: 7000,
    start: () => openSshAsAccount([EXTERNAL], true),
  },
  {
    name: 'OpenSSH with sftp-server, taken for far away',
    steps: 2000,
    start: async () => ({ ...(await openSshAsAccount([EXTERNAL], true)), far: true }),
  },
  {
    name: 'OpenSSH with SFTP only',
    steps: 500,
    start: () => openSshAsAccount(['Subsystem sftp internal-sftp', 'ForceCommand internal-sftp'], false),
  },
  { name: 'dropbear', steps: 200, start: dropbear },
  { name: 'the embedded server', steps: 200, start: embedded },
  ...Object.entries(LESS).map(([what, lessen]) => ({
    name: `a server with ${what}`,
    steps: 200,
    start: () => lesser(lessen),
  })),
])('$steps steps on $name end as on the local disk', { timeout: 600_000 }, async ({ name, steps, start }) => {
  const subject: Subject = await start()
  releases.push(() => subject.stop())
  const provider = await startProvider({ demo: subject.server }, DIFF_LIMIT)
  releases.push(() => provider.stop())
  const twins = makeTwins(local, provider, 'demo', subject)
  releases.push(() => twins.remove())
  const report = await walk(twins, subject.exact, SEED, steps)
  const { failures, kinder, kinds } = report
  console.log(`${name}, seed ${SEED}: ${steps} steps, ${failures} failed alike, ${kinder} were better here`)
  expect(Object.keys(kinds).length).toBeGreaterThan(15)
})
