/** Commands that are told to end, whatever they are made of, on every kind of server and for every kind of user. */
import { mkdtempSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseRemotePath } from '../../src/base/remote-path.ts'
import type { Machine } from '../../src/remote/machine.ts'
import { RemoteProcess } from '../../src/remote/process/remote-process.ts'
import { startOpenSsh } from '../../scripts/machine/openssh.ts'
import { startDropbear } from '../support/dropbear.ts'
import { living } from '../support/living.ts'
import { startLoginShells } from '../support/login-shells.ts'
import { rigOf } from '../support/rig.ts'

interface Place {
  readonly machine: Machine
  stop(): Promise<void>
}

/** Who ends the command there is the server's user: root may signal anybody, others only their own. */
const PLACES: Readonly<Record<string, () => Promise<Place>>> = {
  'OpenSSH, root': async () => {
    const folder = mkdtempSync('/var/tmp/presence-ending-')
    return rigOf(folder, await startOpenSsh({ folder }))
  },
  'OpenSSH, a normal user': async () => {
    const shells = await startLoginShells(['bash'])
    return { machine: shells.visit('bash').machine, stop: shells.stop }
  },
  'dropbear, a normal user': async () => {
    const dropbear = await startDropbear()
    return { machine: dropbear.visit().machine, stop: dropbear.stop }
  },
}

/** Words for bash, in which `nap` sleeps for ever, and how many naps there are once it is under way. */
const COMMANDS: Readonly<Record<string, readonly [script: string, naps: number]>> = {
  'a pipeline': ['nap | nap | (nap; cat)', 3],
  'a pipeline that prints without end': ['yes | tr y n | (nap & cat)', 1],
  'traps that ignore everything': ['trap "" TERM INT HUP QUIT PIPE; nap; nap; nap', 1],
  'a trap that begins anew': ['trap "while :; do nap; done" TERM; nap & wait', 1],
  'children in the background': ['nap & (nap & nap) & wait', 3],
  'children that ignore TERM, whose parents have ended': ['(trap "" TERM; nap & nap & true); nap', 3],
  'children of nohup': ['nohup sh -c "$0 & $0 & wait" >/dev/null 2>&1 & nap', 3],
  'a command that reads': ['(nap & nap & cat); nap', 2],
}

/** At a time, on one connection. */
const TOGETHER = 4

let counter = 0

/** Start one, end it when it is under way, and tell what is left of it. */
async function leftOf(
  machine: Machine,
  words: string,
  naps: number,
  input: 'none' | 'pipe',
): Promise<readonly string[]> {
  counter += 1
  const nap = `sleep 3${process.pid}.${counter}`
  const command = new RemoteProcess(
    machine,
    {
      argv: ['bash', '-c', words.replaceAll('nap', nap), nap],
      folder: parseRemotePath('/'),
      env: {},
      input,
      graceMs: 500,
    },
    (_session, request) => request,
  )
  command.stdout.resume()
  command.stderr.resume()
  // Not those whose words only speak of it.
  const sleeping = (): string[] => living(nap).filter((line) => line.startsWith(nap))
  while (sleeping().length < naps) await new Promise((resolve) => setTimeout(resolve, 50))
  const asked = Date.now()
  command.terminate()
  await command.done
  expect(await command.awaitGroup()).toBe(true)
  while (living(nap).length > 0 && Date.now() - asked < 5000) {
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return living(nap)
}

describe.each(Object.entries(PLACES).map(([name, open]) => ({ name, open })))('on $name', ({ open }) => {
  let place: Place
  beforeAll(async () => {
    place = await open()
  })
  afterAll(() => place.stop())

  it.each([
    { input: 'none', what: 'is there for nobody' },
    { input: 'pipe', what: 'is a pipe' },
  ] as const)(
    'F59, C58: nothing is left of any command 5 s after it was told to end, whose input $what',
    async ({ input }) => {
      const commands = Object.entries(COMMANDS)
      while (commands.length > 0) {
        const some = commands.splice(0, TOGETHER)
        const left = await Promise.all(
          some.map(async ([what, [words, naps]]) => [what, await leftOf(place.machine, words, naps, input)]),
        )
        expect(Object.fromEntries(left)).toEqual(Object.fromEntries(some.map(([what]) => [what, []])))
      }
    },
  )
})
