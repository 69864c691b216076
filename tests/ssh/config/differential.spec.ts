/** Our own evaluation against `ssh -G`, on generated configurations. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { applyAlgorithms } from '../../../src/ssh/config/algorithms.ts'
import { evaluate } from '../../../src/ssh/config/evaluate.ts'
import { localFacts, type LocalFacts } from '../../../src/ssh/config/facts.ts'
import { readPrinted } from '../../../src/ssh/config/printed.ts'
import { resolveSettings } from '../../../src/ssh/config/resolve.ts'
import type { AlgorithmSettings, ConfigSources, MachineSettings } from '../../../src/ssh/config/settings.ts'
import { ConnectError } from '../../../src/ssh/errors.ts'
import { SSH } from './workbench.ts'
import { generateConfig, generateLine, type GeneratedConfig } from './generated-config.ts'

const CASES = 520
const TWO_FILE_CASES = 40
const LINE_CASES = 120
/** Some thousand short-lived processes; slow only where the machine is busy with other things. */
const PATIENCE_MS = 240_000
const AT_ONCE = 4

const root = mkdtempSync(join(tmpdir(), 'presence-differential-'))
const facts: LocalFacts = {
  ...localFacts(),
  env: { PATH: process.env['PATH'], SHELL: '/bin/sh', KEYDIR: '/var/keys', MYSOCK: '/run/my.sock' },
}
afterAll(() => rmSync(root, { recursive: true, force: true }))

type Names = Readonly<Record<keyof AlgorithmSettings, readonly string[]>>
let defaults: Names
let available: Names

beforeAll(() => {
  const printed = readPrinted(
    execFileSync(SSH, ['-G', '-F', 'none', 'any'], { encoding: 'utf8', stdio: 'pipe' }),
  )
  const byDefault = (keyword: string): string[] => (printed.get(keyword)?.[0] ?? '').split(',')
  const all = (query: string): string[] =>
    execFileSync(SSH, ['-Q', query], { encoding: 'utf8' }).split('\n').filter(Boolean)
  defaults = {
    ciphers: byDefault('ciphers'),
    macs: byDefault('macs'),
    keyExchange: byDefault('kexalgorithms'),
    hostKeys: byDefault('hostkeyalgorithms'),
  }
  available = {
    ciphers: all('cipher'),
    macs: all('mac'),
    keyExchange: all('kex'),
    hostKeys: all('HostKeyAlgorithms'),
  }
})

describe('our own evaluation', () => {
  it(
    `agrees with ssh -G on ${CASES} generated configurations`,
    async () => {
      const { agreed, refused } = await compareAll(CASES, (seed) => {
        const folder = join(root, `one-${seed}`)
        const config = generateConfig(seed, folder)
        writeFiles(config, folder)
        return {
          alias: config.alias,
          sources: { ...realPlaces(), onlyFile: join(folder, 'main') },
          program: SSH,
        }
      })
      console.log(`one file: ${agreed} configurations agree, ${refused} of them are refused by both`)
      expect(agreed).toBe(CASES)
      expect(refused).toBeLessThan(CASES / 20)
    },
    PATIENCE_MS,
  )

  it(
    `agrees with ssh -G on ${TWO_FILE_CASES} pairs of a user's and a system's file`,
    async () => {
      const { agreed, refused } = await compareAll(TWO_FILE_CASES, (seed) => {
        const folder = join(root, `two-${seed}`)
        const user = generateConfig(seed * 2 + 10_000, '.')
        const system = generateConfig(seed * 2 + 10_001, '.')
        writeFiles(user, join(folder, 'user'), 'config')
        writeFiles(system, join(folder, 'system'), 'ssh_config')
        return { alias: user.alias, sources: realPlaces(), program: wrapper(folder), folder }
      })
      console.log(`two files: ${agreed} configurations agree, ${refused} of them are refused by both`)
      expect(agreed).toBe(TWO_FILE_CASES)
      expect(refused).toBeLessThan(TWO_FILE_CASES / 10)
    },
    PATIENCE_MS,
  )

  it(
    `agrees with ssh -G on ${LINE_CASES} lines of arbitrary quoting, and warns of those ssh refuses`,
    async () => {
      const folder = join(root, 'lines')
      mkdirSync(folder)
      const { agreed, refused } = await compareAll(
        LINE_CASES,
        (seed) => {
          const path = join(folder, String(seed))
          writeFileSync(path, `${generateLine(seed)}\n`, { mode: 0o600 })
          return { alias: 'box', sources: { ...realPlaces(), onlyFile: path }, program: SSH }
        },
        async (sources) => {
          const { warnings } = await evaluate(
            { host: 'box', user: undefined, port: undefined },
            sources,
            facts,
          )
          return warnings.length > 0
        },
      )
      console.log(`lines: ${agreed} agree, ${refused} of them are refused by ssh and left out by us`)
      expect(agreed).toBe(LINE_CASES)
      expect(refused).toBeLessThan(LINE_CASES * 0.75)
    },
    PATIENCE_MS,
  )
})

interface Case {
  readonly alias: string
  readonly sources: ConfigSources
  readonly program: string
  /** Where the files really lie when `sources` names the places that `ssh` insists on. */
  readonly folder?: string
}

async function compareAll(
  count: number,
  prepare: (seed: number) => Case,
  /** Whether our going on where `ssh` refuses is right; by default it is not. */
  leftOut: (sources: ConfigSources) => Promise<boolean> = () => Promise.resolve(false),
): Promise<{ agreed: number; refused: number }> {
  let next = 0
  let agreed = 0
  let refused = 0
  const worker = async (): Promise<void> => {
    for (let seed = next++; seed < count; seed = next++) {
      const { alias, sources, program, folder } = prepare(seed)
      const ours = folder === undefined ? sources : movedPlaces(folder)
      const [theirs, own] = await Promise.all([
        settled(resolveSettings(alias, { ...sources, sshProgram: program }, undefined, facts)),
        settled(resolveSettings(alias, ours, undefined, facts)),
      ])
      if (theirs === undefined && own !== undefined && (await leftOut(ours))) {
        agreed += 1
        refused += 1
        continue
      }
      const expected = theirs === undefined ? undefined : comparable(theirs)
      const actual = own === undefined ? undefined : comparable(own)
      expect(moved(actual, folder), `seed ${seed}, ${alias} in ${folder ?? sources.onlyFile}`).toEqual(
        expected,
      )
      agreed += 1
      if (theirs === undefined) refused += 1
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return { agreed, refused }
}

/** undefined: the configuration is refused. */
async function settled(settings: Promise<MachineSettings>): Promise<MachineSettings | undefined> {
  try {
    return await settings
  } catch (error) {
    if (error instanceof ConnectError && error.code === 'bad-config') return undefined
    throw error
  }
}

/** Settings with the lists of algorithms as this `ssh` would make them. */
function comparable(settings: MachineSettings): unknown {
  const names = (kind: keyof AlgorithmSettings): string[] =>
    applyAlgorithms(settings.algorithms[kind], defaults[kind], available[kind])
  const algorithms = {
    ciphers: names('ciphers'),
    macs: names('macs'),
    keyExchange: names('keyExchange'),
    hostKeys: names('hostKeys'),
  }
  return { ...settings, algorithms }
}

function writeFiles(config: GeneratedConfig, folder: string, main = 'main'): void {
  for (const [name, content] of config.files) {
    const path = join(folder, name === 'main' ? main : name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content, { mode: 0o600 })
  }
}

/** Where `ssh` looks, whatever we say; relative Includes begin there even with -F. */
function realPlaces(): ConfigSources {
  return {
    onlyFile: undefined,
    userFile: join(facts.home, '.ssh', 'config'),
    systemFile: '/etc/ssh/ssh_config',
    sshProgram: undefined,
  }
}

function movedPlaces(folder: string): ConfigSources {
  return {
    onlyFile: undefined,
    userFile: join(folder, 'user', 'config'),
    systemFile: join(folder, 'system', 'ssh_config'),
    sshProgram: undefined,
  }
}

/** The global known hosts files lie beside the system's file. */
function moved(settings: unknown, folder: string | undefined): unknown {
  if (folder === undefined || settings === undefined) return settings
  return JSON.parse(
    JSON.stringify(settings).replaceAll(join(folder, 'system'), '/etc/ssh'),
    (_, value: unknown) => (value === null ? undefined : value),
  )
}

/** An `ssh` that sees the case's folders as `~/.ssh` and `/etc/ssh`, which cannot be named otherwise. */
function wrapper(folder: string): string {
  const path = join(folder, 'ssh')
  const binds = `--bind ${folder}/user ${facts.home}/.ssh --bind ${folder}/system /etc/ssh`
  writeFileSync(path, `#!/bin/sh\nexec bwrap --dev-bind / / ${binds} -- ${SSH} "$@"\n`, { mode: 0o755 })
  return path
}
