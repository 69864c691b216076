import { chmodSync, mkdirSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { defaultSources } from '../../../src/ssh/config/sources.ts'
import { Workbench } from './workbench.ts'

describe('the default sources', () => {
  it('are the files that ssh reads, at the home that the system knows', () => {
    const { userFile, systemFile, onlyFile } = defaultSources({
      env: { HOME: '/elsewhere' },
      platform: 'linux',
    })
    expect(userFile).toBe(join(userInfo().homedir, '.ssh', 'config'))
    expect(systemFile).toBe('/etc/ssh/ssh_config')
    expect(onlyFile).toBeUndefined()
  })

  it('lie elsewhere on Windows', () => {
    const env = { PROGRAMDATA: 'D:\\Data' }
    const { userFile, systemFile } = defaultSources({ env, home: 'C:\\Users\\me', platform: 'win32' })
    expect(userFile).toBe('C:\\Users\\me\\.ssh\\config')
    expect(systemFile).toBe('D:\\Data\\ssh\\ssh_config')
  })

  it('are replaced by the file that PRESENCE_SSH_CONFIG names', () => {
    expect(defaultSources({ env: { PRESENCE_SSH_CONFIG: '/some/file' } }).onlyFile).toBe('/some/file')
    expect(defaultSources({ env: { PRESENCE_SSH_CONFIG: 'file' } }).onlyFile).toBe(
      join(process.cwd(), 'file'),
    )
    expect(defaultSources({ env: { PRESENCE_SSH_CONFIG: '' } }).onlyFile).toBeUndefined()
  })

  it('name the first ssh on the path that can be run', () => {
    const bench = new Workbench()
    const { folder } = bench
    bench.write('no-program/ssh', '')
    mkdirSync(join(folder, 'a-folder', 'ssh'), { recursive: true })
    chmodSync(bench.write('good/ssh', '#!/bin/sh'), 0o755)
    chmodSync(bench.write('late/ssh', '#!/bin/sh'), 0o755)
    const folders = ['missing', 'no-program', 'a-folder', 'good', 'late'].map((name) => join(folder, name))
    const find = (PATH: string): string | undefined =>
      defaultSources({ env: { PATH }, platform: 'linux' }).sshProgram
    expect(find(folders.join(':'))).toBe(join(folder, 'good', 'ssh'))
    expect(find(`:.:relative:${folders.slice(0, 3).join(':')}`)).toBeUndefined()
    expect(defaultSources({ env: {}, platform: 'linux' }).sshProgram).toBeUndefined()
  })
})
