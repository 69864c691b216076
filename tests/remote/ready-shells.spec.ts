/** Shells that wait on the machine for commands: what a command gains by one, and that it is none the worse. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Machine } from '../../src/remote/machine.ts'
import { descendantsOf } from '../../scripts/machine/processes.ts'
import { startOpenSsh } from '../../scripts/machine/openssh.ts'
import { makeAccounts, type Accounts } from '../support/accounts.ts'
import { rigOf, type Rig } from '../support/rig.ts'
import { lineTo, output } from '../ssh/life/line.ts'

let accounts: Accounts<'plain'>
let rig: Rig
let machine: Machine
beforeAll(async () => {
  accounts = await makeAccounts({ plain: '/bin/bash' })
  const folder = join(accounts.folder, 'machine')
  rig = rigOf(
    folder,
    await startOpenSsh({ folder, user: accounts.of.plain.name, sshdConfig: ['MaxSessions 10'] }),
  )
  machine = rig.machine
})
afterAll(async () => {
  await rig.stop()
  await accounts.remove()
})

/** A slow computer needs its time. */
const SOON = { timeout: 20_000 }

const printed = (argv: readonly string[], on: Machine = machine): Promise<string> => output(on, argv, '/tmp')

/** In the home of the account. */
const at = (name: string): string => join(rig.folder, name)

/** Shells of the account that wait for a command now. */
async function waiting(): Promise<number[]> {
  const all = await descendantsOf(process.pid)
  return all.filter((pid) => {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
      return words[0] === '/bin/sh' && words.some((word) => word.includes('IFS= read -r _a'))
    } catch (endedMeanwhile) {
      expect(endedMeanwhile).toMatchObject({ code: expect.stringMatching(/ENOENT|ESRCH/) as string })
      return false
    }
  })
}

it('the commands after the first do not wait for start-up files that take long', async () => {
  expect(await printed(['echo', 'first'])).toBe('first\n')
  await expect.poll(async () => (await waiting()).length, SOON).toBe(2)
  writeFileSync(
    at('.bashrc'),
    `echo read >> ${at('reads')}; while [ ! -e ${at('go')} ]; do sleep 0.1; done\n`,
  )
  expect(await printed(['echo', 'second'])).toBe('second\n')
  expect(await printed(['echo', 'third'])).toBe('third\n')
  // What comes next was begun meanwhile, and has to wait.
  const fourth = printed(['echo', 'fourth'])
  await expect.poll(() => readFileSync(at('reads'), 'utf8'), SOON).toContain('read\n')
  writeFileSync(at('go'), '')
  expect(await fourth).toBe('fourth\n')
  rmSync(at('.bashrc'))
})

it('whatever words a command has, they reach it as they are', async () => {
  const words = [
    "it's",
    'two\nlines\n',
    '$HOME `id`',
    'back\\slash',
    '',
    ' ',
    '-n',
    'é🙂',
    '"',
    '!',
    '#',
    '\r\t',
  ]
  await expect.poll(async () => (await waiting()).length, SOON).toBe(2)
  const told = await printed(['printf', '<%s>', ...words])
  expect(told).toBe(words.map((word) => `<${word}>`).join(''))
})

it('one that was ended on the machine is missed by nobody', async () => {
  for (const pid of await waiting()) process.kill(pid, 'SIGKILL')
  await expect.poll(async () => (await waiting()).length, SOON).toBe(0)
  expect(await printed(['echo', 'all the same'])).toBe('all the same\n')
  expect(await printed(['echo', 'and again'])).toBe('and again\n')
  await expect.poll(async () => (await waiting()).length, SOON).toBe(2)
})

it('they keep no connection open, and a command that runs in one does', async () => {
  const session = await machine.session()
  const long = printed(['sh', '-c', `echo up > ${at('up')}; sleep 1`])
  await expect.poll(() => readFileSync(at('up'), 'utf8'), SOON).toBe('up\n')
  machine.connection.closeIfIdle(1)
  expect(machine.current).toBe(session)
  await long
  await expect
    .poll(() => {
      machine.connection.closeIfIdle(1)
      return machine.current
    }, SOON)
    .toBeUndefined()
  await expect.poll(async () => (await waiting()).length, SOON).toBe(0)
})

it('they make way where a server allows few sessions', async () => {
  const folder = join(accounts.folder, 'few')
  const few = rigOf(
    folder,
    await startOpenSsh({ folder, user: accounts.of.plain.name, sshdConfig: ['MaxSessions 3'] }),
  )
  try {
    const line = await lineTo(few.server)
    try {
      for (let count = 0; count < 3; count += 1) {
        const all = ['a', 'b', 'c', 'd'].map((word) => printed(['echo', word], line.machine))
        expect(await Promise.all(all)).toEqual(['a\n', 'b\n', 'c\n', 'd\n'])
      }
      const session = await line.machine.session()
      const terminal = { type: 'dumb', rows: 24, cols: 80 }
      const channel = await session.exec('cat', { terminal, lasting: true })
      channel.close()
    } finally {
      await line.close()
    }
  } finally {
    await few.stop()
    rmSync(folder, { recursive: true, force: true })
  }
})
