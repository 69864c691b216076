/** `inotifywait` on machines where it does not do what it should, or where its place is wanted. */
import { appendFileSync, chmodSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import type { ExecChannel } from '../../../src/ssh/channel/exec.ts'
import { outputOf } from '../../support/command-output.ts'
import { startRig, type Rig } from '../../support/rig.ts'
import { lineTo, type Line } from '../../ssh/life/line.ts'
import { listen, stateOf, until } from './ears.ts'
import { listenersFor } from './listeners.ts'

let rig: Rig
let line: Line | undefined
afterEach(async () => {
  await line?.close()
  line = undefined
  await rig.stop()
})

const prepared = (): string => {
  const folder = mkdtempSync(join(rig.folder, 'w-'))
  writeFileSync(join(folder, 'f'), '')
  return folder
}

/** Put a program in place of the machine's own; it writes a line to `starts` whenever it is started. */
function replaceInotifywait(script: string): { readonly starts: () => number } {
  const folder = dirname(rig.server.home)
  const starts = join(folder, 'starts')
  const program = join(folder, 'bin/inotifywait')
  writeFileSync(program, `#!/bin/sh\necho >>'${starts}'\n${script}\n`)
  chmodSync(program, 0o755)
  return { starts: () => (existsSync(starts) ? readFileSync(starts, 'utf8').length : 0) }
}

it('a machine that refuses to listen is asked once, and looked at from then on', async () => {
  rig = await startRig()
  const { starts } = replaceInotifywait(
    'echo "Failed to watch /x; upper limit on inotify watches reached!" >&2; exit 1',
  )
  const folder = prepared()
  const ears = await listen(rig.files, join(folder, 'f'))
  await until(() => starts() > 0)
  for (const content of ['a', 'ab', 'abc']) {
    writeFileSync(join(folder, 'f'), content)
    await ears.hears(content)
  }
  const another = await listen(rig.files, folder)
  appendFileSync(join(folder, 'f'), 'd')
  await Promise.all([ears.hears('abcd'), another.hears('f=abcd')])
  expect(starts()).toBe(1)
  expect(await listenersFor(rig)).toEqual([])
  await ears.end()
  await another.end()
})

it('one that hears nothing of what others do to a shared file system is not relied on for long', async () => {
  rig = await startRig()
  const { starts } = replaceInotifywait('echo "Watches established." >&2; exec sleep 1000')
  const path = join(prepared(), 'f')
  const ears = await listen(rig.files, path)
  await until(() => starts() === 1)
  for (let count = 0; starts() < 3 || (await listenersFor(rig)).length > 0; count += 1) {
    appendFileSync(path, 'x')
    await ears.hears(stateOf(path))
    expect(count).toBeLessThan(100)
  }
  appendFileSync(path, 'y')
  await ears.hears(stateOf(path))
  expect(starts()).toBe(3)
  await ears.end()
})

it('one that listens to a folder which was moved away, with what it is in, is started anew', async () => {
  rig = await startRig()
  const above = prepared()
  const path = join(above, 'in/deep/f')
  await outputOf((await rig.machine.session()).exec, `mkdir -p '${dirname(path)}' && echo a >'${path}'`)
  const ears = await listen(rig.files, path)
  await until(() => existsSync(path))
  appendFileSync(path, 'b')
  await ears.hears('a\nb')
  await outputOf(
    (await rig.machine.session()).exec,
    `cd '${above}' && mv in out && mkdir -p in/deep && echo other >in/deep/f`,
  )
  await ears.hears('other\n')
  appendFileSync(path, 'more')
  await ears.hears('other\nmore')
  await ears.end()
})

it('gives its place up to terminals before another connection is made for them, and the watch goes on', async () => {
  rig = await startRig()
  line = await lineTo(rig.server)
  const path = join(prepared(), 'f')
  const ears = await listen(line.files, path)
  while ((await listenersFor(rig)).length === 0) await new Promise((resolve) => setTimeout(resolve, 20))
  const session = await line.machine.session()
  const terminals: ExecChannel[] = []
  for (let count = 0; count < 5; count += 1) {
    const terminal = { type: 'dumb', rows: 24, cols: 80 }
    const channel = await session.exec('cat', { terminal, lasting: true })
    channel.stdout.resume()
    terminals.push(channel)
  }
  while ((await listenersFor(rig)).length > 0) await new Promise((resolve) => setTimeout(resolve, 20))
  expect(line.proxy.made).toBe(1)
  appendFileSync(path, 'a')
  await ears.hears('a')
  for (const terminal of terminals) terminal.close()
  await ears.end()
})

it('is done without where the server allows no session for it', async () => {
  rig = await startRig({ sshdConfig: ['MaxSessions 2'] })
  line = await lineTo(rig.server)
  const path = join(prepared(), 'f')
  const ears = await listen(line.files, path)
  for (const content of ['a', 'ab']) {
    writeFileSync(path, content)
    await ears.hears(content)
  }
  expect(line.proxy.made).toBe(1)
  expect(await listenersFor(rig)).toEqual([])
  await ears.end()
})
