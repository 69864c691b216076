/** A real dropbear: no SFTP of its own, no two short commands at once, and a login script that prints. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseRemotePath } from '../../src/base/remote-path.ts'
import { outputOf } from '../support/command-output.ts'
import { startDropbear, type Dropbear } from '../support/dropbear.ts'
import type { Visit } from '../support/login-shells.ts'

let dropbear: Dropbear
beforeAll(async () => {
  dropbear = await startDropbear()
})
afterAll(() => dropbear.stop())

async function useFiles({ files }: Visit): Promise<string> {
  const { home } = dropbear.account
  const file = { path: parseRemotePath(join(home, 'f')), shown: 'f' }
  await files.write(file, 'content', { kind: 'none' }, 10)
  return files.readText(file)
}

async function output(visit: Visit, command: string): Promise<string> {
  return outputOf((await visit.machine.session()).exec, command)
}

const NOISE = `printf '\\033[31mWelcome\\nno end'\necho warning >&2\n`

describe.each(['quiet', 'noisy'] as const)('a dropbear whose login script is %s', (when) => {
  let visit: Visit
  beforeAll(() => {
    if (when === 'noisy') dropbear.account.write('.bashrc', NOISE)
    visit = dropbear.visit()
  })
  afterAll(() => dropbear.account.remove('.bashrc'))

  it('F55: has files, around what the script prints', async () => {
    const session = await visit.machine.session()
    expect(session.link.facts.ident).toMatch(/dropbear/)
    expect(session.capabilities.sftp).toMatchObject({
      kind: 'sftp',
      way: when === 'noisy' ? { kind: 'program' } : { kind: 'service' },
    })
    expect(await useFiles(visit)).toBe('content')
  })

  it('F56: is probed between the marks', async () => {
    const { capabilities } = await visit.machine.session()
    expect(capabilities).toMatchObject({
      loginShell: 'bash',
      commands: { kind: 'shell', shell: { os: 'Linux', user: dropbear.account.name, stat: 'gnu' } },
      roots: { kind: 'same' },
    })
  })

  it('runs short commands one after the other, beside its helper shell and its files', async () => {
    const session = await visit.machine.session()
    expect((await session.helper()).usable).toBe(true)
    const commands = Array.from({ length: 12 }, (_, index) => output(visit, `echo number ${index}`))
    const reads = Array.from({ length: 12 }, () => useFiles(visit))
    const texts = await Promise.all(commands)
    expect(texts.map((text) => text.slice(text.indexOf('number')))).toEqual(
      Array.from({ length: 12 }, (_, index) => `number ${index}\n`),
    )
    expect(new Set(await Promise.all(reads))).toEqual(new Set(['content']))
    expect((await visit.machine.session()).link).toBe(session.link)
  })

  it('gets another SFTP channel after one froze, on the same connection', async () => {
    const { home } = dropbear.account
    writeFileSync(join(home, 'f'), 'content')
    const session = await visit.machine.session()
    const frozen = await session.sftp()
    expect(await output(visit, `mkfifo ${join(home, `fifo-${when}`)}; echo made`)).toContain('made')
    session.link.requestMs = 300
    const failure = await frozen.openForReading(join(home, `fifo-${when}`)).catch((error: unknown) => error)
    session.link.requestMs = 10_000
    expect((failure as Error).message).toMatch(/no answer to open/)
    expect(await useFiles(visit)).toBe('content')
    expect((await visit.machine.session()).link).toBe(session.link)
  })
})
