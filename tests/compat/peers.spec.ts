/** What the bundle asks of the host, in its manifest and in its imports. */
import { createRequire } from 'node:module'
import { beforeAll, describe, expect, inject, it } from 'vitest'
import { nestedPackage } from '../../scripts/project/checkout.ts'
import { importsIn, unpack, type Packed } from './packed.ts'
import { SHAPES } from './stage.ts'

/** The rules that npm, pnpm and DSH itself compare versions by. */
const semver = createRequire(import.meta.url)(nestedPackage('semver')) as {
  satisfies(version: string, range: string, options?: { includePrerelease: boolean }): boolean
}

/** Every version of DSH that has been published or named as such. */
const PUBLISHED = [
  '0.1.0-rc.8',
  '0.1.1-rc.2',
  '0.1.2-alpha.2',
  '0.1.2',
  '0.1.3-alpha.1',
  '0.1.5-rc.2',
  '0.1.6-alpha.1',
  '0.1.6-alpha.2',
  '0.1.7-alpha.2',
  '0.1.7-rc.1',
  '0.1.7-rc.2',
  '0.2.0-rc.2',
  '0.2.1-alpha.1',
  '0.2.1-alpha.2',
]
const NOT_KNOWN = ['0.1.0-rc.6', '0.0.1-rc.5', '0.3.0-alpha', '0.3.0-alpha.1', '0.3.0', '1.0.0']

const CORDIS = '@deepseek-ai/cordis'

let packed: Packed
beforeAll(async () => {
  packed = await unpack(inject('tarball'))
})

describe('the manifest', () => {
  it('names as peers exactly the packages of the host that the code imports, and Cordis, all of them optional', () => {
    const imported = [...packed.hostImports.keys()].map((module) => module.split('/').slice(0, 2).join('/'))
    expect(imported).toContain('@deepseek-ai/dsh-fs-sandbox')
    const peers = Object.keys(packed.manifest.peerDependencies).toSorted()
    expect(peers).toEqual([...new Set([CORDIS, ...imported])].toSorted())
    for (const peer of peers)
      expect(packed.manifest.peerDependenciesMeta[peer], peer).toEqual({ optional: true })
  })

  it('C18: brings no package of the host along, which would be a second one', () => {
    const own = Object.keys(packed.manifest.dependencies)
    expect(own.filter((name) => name.startsWith('@deepseek-ai/'))).toEqual([])
  })

  it('C19: lets in every published version, by the rules of package managers and by the host’s own', () => {
    for (const [peer, range] of Object.entries(packed.manifest.peerDependencies)) {
      if (peer === CORDIS) continue
      for (const version of PUBLISHED) {
        expect(semver.satisfies(version, range), `${peer} ${version}`).toBe(true)
        expect(semver.satisfies(version, range, { includePrerelease: true }), `${peer} ${version}`).toBe(true)
      }
      for (const version of NOT_KNOWN) {
        expect(semver.satisfies(version, range), `${peer} ${version}`).toBe(false)
        expect(semver.satisfies(version, range, { includePrerelease: true }), `${peer} ${version}`).toBe(
          false,
        )
      }
    }
  })

  it('lets in the Cordis of each of them', () => {
    const range = packed.manifest.peerDependencies[CORDIS] ?? ''
    for (const version of ['4.0.1', '4.0.2', '4.0.3', '4.0.4', '4.0.5-alpha.1', '4.0.5'])
      expect(semver.satisfies(version, range), version).toBe(true)
    for (const version of ['3.18.1', '4.0.0', '5.0.0'])
      expect(semver.satisfies(version, range), version).toBe(false)
  })
})

describe('the code', () => {
  it.each(SHAPES)('imports no module and no name that %s does not have', (_version, { modules }) => {
    const missing = [...packed.hostImports].flatMap(([module, names]) => {
      const exported = modules[module]
      if (exported === undefined) return [module]
      return [...names]
        .filter((name) => name !== '*' && !(name in exported))
        .map((name) => `${module} ${name}`)
    })
    expect(missing).toEqual([])
  })

  it('is searched for every form of import', () => {
    const source = [
      "import { A, B as C } from '@deepseek-ai/one'",
      "import D, * as E from '@deepseek-ai/two'",
      "import {\n  F,\n} from '@deepseek-ai/three'",
      "export { G } from '@deepseek-ai/four'",
      "import '@deepseek-ai/five'",
      "const six = await import('@deepseek-ai/six')",
      "import { H } from './own.js'",
    ].join('\n')
    expect(importsIn(source)).toEqual([
      { module: '@deepseek-ai/one', names: ['A', 'B'] },
      { module: '@deepseek-ai/two', names: ['default', '*'] },
      { module: '@deepseek-ai/three', names: ['F'] },
      { module: '@deepseek-ai/four', names: ['G'] },
      { module: '@deepseek-ai/five', names: [] },
      { module: '@deepseek-ai/six', names: ['*'] },
    ])
  })
})
