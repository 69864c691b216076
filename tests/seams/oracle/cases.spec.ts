/** Every kind of thing with every operation: the local provider and Presence over SSH give the same. */
import type { FileSystem } from '@deepseek-ai/dsh-fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startProvider, type Provider } from '../../support/seams.ts'
import { ESSENTIAL, KINDS, QUESTIONS, type Question } from './cases.ts'
import { compared, outcomeOf, Versions } from './compare.ts'
import {
  LESS,
  dropbear,
  embedded,
  lesser,
  openSshAsAccount,
  openSshAsRoot,
  type Subject,
} from './machines.ts'
import { DIFF_LIMIT, makeTwins, startLocal, type Twins } from './worlds.ts'

const EXTERNAL = 'Subsystem sftp /usr/lib/openssh/sftp-server'

const SFTP_ONLY = ['Subsystem sftp internal-sftp', 'ForceCommand internal-sftp']

interface Examined {
  readonly questions: readonly Question[]
  /** Of so many kinds of things one is looked at. */
  readonly every: number
  start(): Promise<Subject>
}

const SUBJECTS: Readonly<Record<string, Examined>> = {
  'OpenSSH with sftp-server, an account without privileges': {
    questions: QUESTIONS,
    every: 2,
    start: () => openSshAsAccount([EXTERNAL], true),
  },
  'OpenSSH with internal-sftp, root, taken for far away': {
    questions: QUESTIONS,
    every: 3,
    start: async () => ({ ...(await openSshAsRoot()), far: true }),
  },
  'OpenSSH, an account with SFTP only': {
    questions: ESSENTIAL,
    every: 2,
    start: () => openSshAsAccount(SFTP_ONLY, false),
  },
  dropbear: { questions: ESSENTIAL, every: 3, start: dropbear },
  'the embedded server': { questions: ESSENTIAL, every: 3, start: embedded },
  ...Object.fromEntries(
    Object.entries(LESS).map(([what, lessen]) => [
      `a server with ${what}`,
      { questions: ESSENTIAL, every: 3, start: () => lesser(lessen) },
    ]),
  ),
}

let local: FileSystem
beforeAll(async () => {
  local = await startLocal('/')
})

describe.each(Object.entries(SUBJECTS))('%s', (name, { questions, every, start }) => {
  let subject: Subject
  let provider: Provider
  let twins: Twins
  let asked = 0

  beforeAll(async () => {
    subject = await start()
    provider = await startProvider({ demo: subject.server }, DIFF_LIMIT)
    twins = makeTwins(local, provider, 'demo', subject)
  })
  afterAll(async () => {
    console.log(`${name}: ${asked} comparisons`)
    twins.remove()
    await provider.stop()
    await subject.stop()
  })

  const kinds = KINDS.filter((_kind, index) => index % every === 0)
  it.each(kinds.map((kind) => [kind.title, kind] as const))('%s', async (_title, kind) => {
    const wrong: unknown[] = []
    let fresh = false
    for (const { title, changes, ask } of questions) {
      if (!fresh) {
        twins.clear()
        twins.both((disk) => kind.prepare(disk))
      }
      fresh = !changes
      const { here, there } = twins
      const versions = subject.exact ? [new Versions(), new Versions()] : [undefined, undefined]
      const wanted = await outcomeOf(here, versions[0], (world) => ask(world, kind.path), changes)
      const got = await outcomeOf(there, versions[1], (world) => ask(world, kind.path), changes)
      const [local, remote] = twins.onDisks()
      asked += 1
      if (compared(wanted, got) === 'different') wrong.push({ title, wanted, got })
      else if (remote.join('\n') !== local.join('\n')) wrong.push({ title, local, remote })
    }
    expect(wrong).toEqual([])
  })
})
