/** A folder of configuration files for one test, and settings from both sources that must agree. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, expect } from 'vitest'
import { listAliases, type AliasList } from '../../../src/ssh/config/aliases.ts'
import { localFacts, type LocalFacts } from '../../../src/ssh/config/facts.ts'
import { resolveSettings } from '../../../src/ssh/config/resolve.ts'
import { defaultSources } from '../../../src/ssh/config/sources.ts'
import type { ConfigSources, MachineSettings } from '../../../src/ssh/config/settings.ts'

/** The judge of all these tests. */
export const SSH = defaultSources().sshProgram ?? 'no ssh on the path'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

export class Workbench {
  readonly folder: string
  readonly facts: LocalFacts

  constructor(env: LocalFacts['env'] = {}) {
    this.folder = mkdtempSync(join(tmpdir(), 'presence-config-'))
    folders.push(this.folder)
    this.facts = { ...localFacts(), env: { PATH: process.env['PATH'], SHELL: '/bin/sh', ...env } }
  }

  write(name: string, ...lines: string[]): string {
    const path = join(this.folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, `${lines.join('\n')}\n`, { mode: 0o600 })
    return path
  }

  /** The file `config` alone, without an `ssh` program. */
  get sources(): ConfigSources {
    return {
      onlyFile: join(this.folder, 'config'),
      userFile: join(this.facts.home, '.ssh', 'config'),
      systemFile: '/etc/ssh/ssh_config',
      sshProgram: undefined,
    }
  }

  /** The files `home/.ssh/config` and `etc/ssh_config`, as user's and system's. */
  get pair(): ConfigSources {
    return {
      onlyFile: undefined,
      userFile: join(this.folder, 'home', '.ssh', 'config'),
      systemFile: join(this.folder, 'etc', 'ssh_config'),
      sshProgram: undefined,
    }
  }

  list(sources: ConfigSources = this.sources): AliasList {
    return listAliases(sources, this.facts)
  }

  own(alias: string, sources: ConfigSources = this.sources): Promise<MachineSettings> {
    return resolveSettings(alias, sources, undefined, this.facts)
  }

  bySsh(alias: string): Promise<MachineSettings> {
    return resolveSettings(alias, { ...this.sources, sshProgram: SSH }, undefined, this.facts)
  }

  /** Settings that `ssh -G` and our own evaluation agree upon. */
  async settings(alias: string): Promise<MachineSettings> {
    const [theirs, ours] = await Promise.all([this.bySsh(alias), this.own(alias)])
    expect({ ...ours, algorithms: undefined }).toEqual({ ...theirs, algorithms: undefined })
    return theirs
  }
}
