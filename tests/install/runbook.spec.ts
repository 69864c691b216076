/** The commands of the runbook that bring a profile back, taken from its text and run. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { startWeb } from '../../scripts/host/web.ts'
import { ROOT } from '../../scripts/project/checkout.ts'
import { run } from '../../scripts/project/children.ts'
import { done, startInstallRig, type InstallRig } from './rig.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const RUNBOOK = readFileSync(join(ROOT, 'docs/runbook.md'), 'utf8')

let rig: InstallRig
beforeAll(async () => {
  rig = await startInstallRig({ profile: 'web' })
  await rig.prepare('installed', 'fresh', async (home) => {
    await done(home.install())
  })
})
afterAll(() => rig.remove())

function block(language: string, holding: string): string {
  const blocks = [...RUNBOOK.matchAll(/^```(\w+)\n([\s\S]*?)^```/gm)]
  const found = blocks.find(([, kind, text]) => kind === language && text?.includes(holding) === true)?.[2]
  if (found === undefined) throw new Error(`the runbook has no ${language} block with ${holding}`)
  return found
}

it('one start without Presence needs only the overlay, and changes nothing', async () => {
  const home = await rig.home('installed')
  const overlay = join(home.folder, 'without-presence.yml')
  writeFileSync(overlay, block('yaml', 'without-presence.yml'))
  const dump = [...home.dsh, '--profile', 'web', '--dump-config', '--patch', overlay]
  const { stdout } = await done(run(dump, { env: home.env, cwd: home.folder }))
  const off = (id: string): boolean =>
    stdout.split(/^- /m).some((row) => row.startsWith(`id: ${id}\n`) && row.includes('\n  disabled: true'))
  for (const id of ['presence', 'presence-fs', 'presence-subprocess', 'presence-sandbox'])
    expect(off(id)).toBe(true)
  for (const id of ['fs-sandbox', 'subprocess', 'sandbox', 'file-reference-local'])
    expect(off(id)).toBe(false)
  expect((await home.composition()).presence).toBe('fs')
})

it('by hand, a profile starts again although the package is damaged beyond repair', async () => {
  const home = await rig.home('installed')
  rmSync(join(home.profileFolder, 'node_modules/dsh-presence/package.json'))
  await expect(home.composition()).rejects.toThrow('cannot resolve profile bundle')
  const command = block('sh', 'bundles.filter').replace('~/.dsh', home.folder)
  await done(run(['sh', '-c', command], { env: home.env }))
  expect((await home.composition()).presence).toBe('none')
  const web = await startWeb(home)
  try {
    const { sessionId } = await web.rpc<{ sessionId: string }>('session.create', { cwd: rig.folder })
    expect(sessionId).not.toBe('')
  } finally {
    await web.stop()
  }
  // And the installer puts it back from there.
  await done(home.install())
  expect((await home.composition()).presence).toBe('fs')
})

it('the addresses for a look at the panel answer as it says', async () => {
  const home = await rig.home('installed')
  const web = await startWeb(home)
  try {
    const script = block('sh', '/plugins/dsh-presence/client.js').replaceAll('http://127.0.0.1:PORT', web.url)
    const { stdout } = await done(run(['sh', '-c', script]))
    expect(stdout).toMatch(/^200\n/)
    expect(stdout).toContain(`"version":"${rig.version}"`)
  } finally {
    await web.stop()
  }
})
