import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, inject, it, vi } from 'vitest'
import { makeDshHome, type DshHome } from '../../scripts/host/dsh-home.ts'
import { startWeb } from '../../scripts/host/web.ts'
import { run } from '../../scripts/project/children.ts'

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 })

let folder = ''
let home: DshHome

beforeEach(async () => {
  folder = mkdtempSync('/var/tmp/presence-install-')
  home = await makeDshHome({
    folder: join(folder, 'dsh'),
    userHome: folder,
    model: { url: 'http://127.0.0.1:9', key: 'x' },
  })
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Names of the rows that are switched on in a profile. */
async function activeRows(profile: string): Promise<string[]> {
  const { code, stdout, stderr } = await run([...home.dsh, '--profile', profile, '--dump-config'], {
    env: home.env,
    cwd: folder,
  })
  expect(code, stderr).toBe(0)
  const rows = stdout.split(/^- /m).slice(1)
  return rows
    .filter((row) => !/^\s*disabled: true$/m.test(row))
    .flatMap((row) => /^\s*id: ['"]?([\w-]+)/m.exec(row)?.[1] ?? [])
}

it('C18, C19, C25: the tarball goes into a fresh home as a user installs it, boots, and leaves the host as it was when removed', async () => {
  await home.addPlugin('web', inject('tarball'))
  const installed = await startWeb(home)
  try {
    const { version } = (await (await fetch(`${installed.url}/api/presence/session`)).json()) as {
      version: string
    }
    expect(version).toBe(
      (
        JSON.parse(
          readFileSync(join(home.folder, 'profiles/web/node_modules/dsh-presence/package.json'), 'utf8'),
        ) as { version: string }
      ).version,
    )
    expect((await fetch(`${installed.url}/plugins/dsh-presence/client.js`)).status).toBe(200)
  } finally {
    await installed.stop()
  }
  const rows = await activeRows('web')
  expect(rows).toEqual(
    expect.arrayContaining([
      'presence',
      'presence-fs',
      'presence-subprocess',
      'presence-sandbox',
      'presence-file-reference',
    ]),
  )
  for (const row of ['fs-sandbox', 'subprocess', 'sandbox', 'file-reference-local'])
    expect(rows).not.toContain(row)

  await home.removePlugin('web', 'dsh-presence')
  const without = await activeRows('web')
  expect(without).toEqual(
    expect.arrayContaining(['fs-sandbox', 'subprocess', 'sandbox', 'file-reference-local']),
  )
  expect(without.filter((row) => row.startsWith('presence'))).toEqual([])
  const removed = await startWeb(home)
  try {
    expect((await fetch(`${removed.url}/api/presence/session`)).status).not.toBe(200)
    const { sessionId } = await removed.rpc<{ sessionId: string }>('session.create', { cwd: folder })
    expect(sessionId).not.toBe('')
  } finally {
    await removed.stop()
  }
})
