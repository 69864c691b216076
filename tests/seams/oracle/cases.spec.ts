/** Every kind of thing with every operation: the local provider and Presence over SSH give the same. */
import type { FileSystem } from '@deepseek-ai/dsh-fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startProvider, type Provider } from '../../support/seams.ts'
import { KINDS, QUESTIONS } from './cases.ts'
import { compared, onDisk, outcomeOf, Versions } from './compare.ts'
import { openSshAsAccount, openSshAsRoot, type Subject } from './machines.ts'
import { DIFF_LIMIT, makeTwins, startLocal, type Twins } from './worlds.ts'

const EXTERNAL = 'Subsystem sftp /usr/lib/openssh/sftp-server'

const SUBJECTS: Readonly<Record<string, () => Promise<Subject>>> = {
  'OpenSSH with sftp-server, an account without privileges': () => openSshAsAccount([EXTERNAL], true),
  'OpenSSH with internal-sftp, root': () => openSshAsRoot(),
  'OpenSSH, an account with SFTP only': () =>
    openSshAsAccount(['Subsystem sftp internal-sftp', 'ForceCommand internal-sftp'], false),
}

let local: FileSystem
beforeAll(async () => {
  local = await startLocal('/')
})

describe.each(Object.keys(SUBJECTS))('%s', (name) => {
  let subject: Subject
  let provider: Provider
  let twins: Twins
  let asked = 0

  beforeAll(async () => {
    const start = SUBJECTS[name]
    if (start === undefined) throw new Error(`no ${name}`)
    subject = await start()
    provider = await startProvider({ demo: subject.server }, DIFF_LIMIT)
    twins = makeTwins(local, provider, 'demo', subject.account)
  })
  afterAll(async () => {
    console.log(`${name}: ${asked} comparisons`)
    twins.remove()
    await provider.stop()
    await subject.stop()
  })

  it.each(KINDS.map((kind) => [kind.title, kind] as const))('%s', async (_title, kind) => {
    const wrong: unknown[] = []
    let fresh = false
    for (const { title, changes, ask } of QUESTIONS) {
      if (!fresh) {
        twins.clear()
        twins.both((disk) => kind.prepare(disk))
      }
      fresh = !changes
      const { here, there } = twins
      const versions = subject.exact ? [new Versions(), new Versions()] : [undefined, undefined]
      const wanted = await outcomeOf(here, versions[0], (world) => ask(world, kind.path))
      const got = await outcomeOf(there, versions[1], (world) => ask(world, kind.path))
      const [local, remote] = [onDisk(here), onDisk(there)]
      asked += 1
      if (compared(wanted, got) === 'different') wrong.push({ title, wanted, got })
      else if (remote.join('\n') !== local.join('\n')) wrong.push({ title, local, remote })
    }
    expect(wrong).toEqual([])
  })
})
