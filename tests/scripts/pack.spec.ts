/** The tarball is what users get: everything that package.json promises, nothing of the checkout. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { pack } from '../../scripts/pack.ts'
import { readJson, ROOT } from '../../scripts/project/checkout.ts'
import { run } from '../../scripts/project/children.ts'

interface Manifest {
  readonly version: string
  readonly exports: Readonly<Record<string, string>>
  readonly dsh: { readonly bundle: { readonly patch: string } }
}

describe('pack', () => {
  let tarball: string
  let files: string[]
  let packed: Manifest & Record<string, unknown>
  let checkoutBefore: string

  beforeAll(async () => {
    checkoutBefore = await readFile(join(ROOT, 'package.json'), 'utf8')
    tarball = await pack()
    files = (await run(['tar', '-tzf', tarball])).stdout.trim().split('\n')
    packed = JSON.parse((await run(['tar', '-xzOf', tarball, 'package/package.json'])).stdout)
  })

  it('holds every file that the exports and the bundle name', () => {
    const promised = [...Object.values(packed.exports), packed.dsh.bundle.patch]
    for (const file of promised) expect(files).toContain(file.replace('./', 'package/'))
  })

  it('holds nothing of the checkout: no sources, tests or development dependencies', () => {
    expect(files.filter((file) => /\.tsx?$/.test(file) && !file.endsWith('.d.ts'))).toEqual([])
    expect(files.filter((file) => /^package\/(scripts|tests|samples)\//.test(file))).toEqual([])
    expect(packed).not.toHaveProperty('devDependencies')
    expect(packed).not.toHaveProperty('scripts')
  })

  it('holds what it needs at run time, so that no registry is asked for it', () => {
    const bundled = (packed as { bundledDependencies?: string[] }).bundledDependencies ?? []
    expect(bundled).toEqual(expect.arrayContaining(Object.keys(packed['dependencies'] as object)))
    for (const name of bundled) expect(files).toContain(`package/node_modules/${name}/package.json`)
  })

  it('has a version of its own that sorts before the release, and leaves the checkout alone', async () => {
    const { version } = readJson(join(ROOT, 'package.json')) as Manifest
    expect(packed.version).toMatch(new RegExp(`^${version}-dev\\.\\d{8}T\\d{9}Z$`))
    expect(await readFile(join(ROOT, 'package.json'), 'utf8')).toBe(checkoutBefore)
  })

  it('names no folder of the computer it was packed on', async () => {
    const text = (await run(['tar', '-xzOf', tarball])).stdout
    expect(text).not.toContain(ROOT)
  })
})
