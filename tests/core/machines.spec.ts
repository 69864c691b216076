import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Machines } from '../../src/core/machines.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync('/var/tmp/presence-machines-')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function machines(yml: string, config = ''): Machines {
  const file = join(folder, 'machines.yml')
  writeFileSync(file, yml)
  writeFileSync(join(folder, 'config'), config)
  const sources = {
    onlyFile: join(folder, 'config'),
    userFile: join(folder, 'config'),
    systemFile: '/nonexistent',
    sshProgram: undefined,
  }
  return new Machines(sources, file)
}

const never = new AbortController().signal

describe('machines.yml', () => {
  it('adds machines, and may refer to an alias for all that it does not say', async () => {
    const known = machines(
      'own: { host: 10.0.0.1, port: 2200, user: ann }\nother-name: { alias: web, user: bob }\n',
      'Host web\n  HostName 10.0.0.2\n  User carl\n  ProxyJump bastion\n',
    )
    expect(known.list().map(({ name, source }) => [name, source])).toEqual([
      ['web', 'config'],
      ['own', 'panel'],
      ['other-name', 'panel'],
    ])
    expect(await known.settings('own', never)).toMatchObject({ host: '10.0.0.1', port: 2200, user: 'ann' })
    expect(await known.settings('other-name', never)).toMatchObject({
      alias: 'other-name',
      host: '10.0.0.2',
      user: 'bob',
      proxyJump: ['bastion'],
    })
  })

  it('with a wrong entry still has that machine, which says what is wrong, and all the others', async () => {
    const known = machines('bad: { port: 99999 }\njump: { proxyJump: x }\ngood: { host: 10.0.0.1 }\n')
    expect(known.list().map(({ name, problem }) => [name, problem])).toEqual([
      ['good', undefined],
      ['bad', 'bad: port must be a number from 1 to 65535'],
      ['jump', 'jump: proxyJump is not a setting'],
    ])
    await expect(known.settings('bad', never)).rejects.toMatchObject({
      code: 'bad-config',
      message: expect.stringContaining('machines.yml is wrong: bad: port must be') as string,
    })
    await expect(known.preview('jump')).rejects.toMatchObject({ code: 'bad-config' })
    expect(known.isMachine('bad')).toBe(true)
  })

  it('that cannot be read is told to whoever misses a machine', async () => {
    const known = machines('own: [broken')
    expect(known.warnings).toHaveLength(1)
    await expect(known.settings('own', never)).rejects.toMatchObject({
      code: 'unknown-machine',
      message: expect.stringContaining('machines.yml (which could not be read: ') as string,
    })
  })
})
