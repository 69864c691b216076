/**
 * Many at once: commands beside files on one connection, and connections to a server that lets few in at a
 * time. Bursts at few sessions are tests/ssh/sftp-beside-commands.spec.ts.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { poolFor, settingsFor, startRig, type Rig } from '../../support/rig.ts'
import { file, output } from './line.ts'

let rig: Rig | undefined
afterEach(() => rig?.stop())

it('F43: 200 commands by 8 workers beside reads and writes all succeed with 10 sessions', async () => {
  const used = (rig = await startRig({ sshdConfig: ['MaxSessions 10'] }))
  writeFileSync(join(used.folder, 'f'), 'content')
  const { link } = await used.machine.session()
  const wanted = Array.from({ length: 200 }, (_, index) => `number ${index}`)
  const left = [...wanted]
  const outputs: string[] = []
  let working = true
  const commands = Array.from({ length: 8 }, async () => {
    for (let word = left.shift(); word !== undefined; word = left.shift()) {
      outputs.push(await output(used.machine, ['echo', word], used.folder))
    }
  })
  const readers = Array.from({ length: 2 }, async () => {
    let reads = 0
    for (; working; reads += 1)
      expect(await used.files.readText(file(join(used.folder, 'f')))).toBe('content')
    return reads
  })
  const writer = async (): Promise<void> => {
    for (let round = 0; working; round += 1) {
      await used.files.write(file(join(used.folder, 'g')), `round ${round}`, { kind: 'none' }, 0)
    }
  }
  const writing = writer()
  await Promise.all(commands)
  working = false
  for (const reads of await Promise.all(readers)) expect(reads).toBeGreaterThan(0)
  await writing
  expect(outputs.toSorted()).toEqual(wanted.map((word) => `${word}\n`).toSorted())
  expect((await used.machine.session()).link).toBe(link)
}, 90_000)

it('lets ten connections that come at once in one after the other, where the server begins one at a time', async () => {
  const used = (rig = await startRig({ sshdConfig: ['MaxStartups 1', 'LogLevel VERBOSE'] }))
  const pools = Array.from({ length: 10 }, () => poolFor(() => settingsFor(used.server)))
  try {
    const links = await Promise.all(pools.map((pool) => pool.connection('demo').link()))
    expect(links.every((link) => link.alive)).toBe(true)
    expect(readFileSync(join(dirname(used.folder), 'sshd.log'), 'utf8')).toMatch(/MaxStartups/)
  } finally {
    for (const pool of pools) pool.close()
  }
})
