import { afterAll, beforeAll, expect, test } from 'vitest'
import { ConnectError } from '../../src/ssh/errors.ts'
import { MemoryPort, sampleRoot } from '../panel/memory-port.ts'
import { openHostPage, startRig, type HostPage, type Rig } from './host-page.ts'

let rig: Rig
beforeAll(async () => {
  rig = await startRig()
})
afterAll(() => rig[Symbol.asyncDispose]())

function twoMachines(): MemoryPort {
  const failure = new ConnectError('no key was accepted', 'auth-failed', { machine: 'broken', stage: 'auth' })
  return new MemoryPort([
    { name: 'web-1', root: sampleRoot() },
    { name: 'broken', root: {}, failure },
  ])
}

async function settings(port = twoMachines(), options = {}): Promise<HostPage> {
  const host = await openHostPage(rig, port, { lang: 'en', ...options })
  await host.page.locator('[data-presence-page]').waitFor()
  return host
}

test('shows the machines without connecting to any of them', async () => {
  await using host = await settings()
  await host.page.locator('[data-machine=web-1]').getByText('Not connected').waitFor()
  expect(await host.page.locator('[data-machine]').count()).toBe(2)
  await host.page.getByText('No remote workspaces yet').waitFor()
  expect(host.port.calls.filter((call) => call !== 'machines' && call !== 'workspaces')).toEqual([])
  expect(host.errors).toEqual([])
})

test('connects when asked, saying how far it is, and then what the machine is', async () => {
  await using host = await settings()
  const release = host.port.stall('connect')
  const row = host.page.locator('[data-machine=web-1]')
  await row.getByRole('button', { name: 'Connect: web-1' }).click()
  await row.getByText('Connecting: signing in').waitFor()
  expect(await row.getByRole('button').getAttribute('aria-disabled')).toBe('true')
  release()
  await row.getByText(/^Connected since /).waitFor()
  await row.getByText('dev@192.0.2.10 · Linux x86_64').waitFor()
  await row.getByText('commands are confined (bubblewrap); searches with ripgrep').waitFor()
  expect(await row.getByRole('button').count()).toBe(0)
  // The button went while it had the focus: the keyboard goes on from its row.
  expect(await row.evaluate((element) => element.contains(document.activeElement))).toBe(true)
})

test('says at which stage and why a connection failed, once, and offers to try again', async () => {
  await using host = await settings()
  const row = host.page.locator('[data-machine=broken]')
  await row.getByRole('button').click()
  await row.getByText(/^Could not connect at .*, while signing in$/).waitFor()
  expect(await row.getByText('no key was accepted').count()).toBe(1)
  await row.getByRole('button', { name: 'Connect again: broken' }).waitFor()
})

test('shows why a connection was lost', async () => {
  const port = twoMachines()
  port.setState('web-1', { kind: 'lost', reason: 'web-1: no answer to keepalives', at: Date.now() })
  await using host = await settings(port)
  const row = host.page.locator('[data-machine=web-1]')
  await row.getByText(/^Connection lost at /).waitFor()
  await row.getByText('no answer to keepalives', { exact: true }).waitFor()
})

test('lets a long list of machines be filtered', async () => {
  const machines = Array.from({ length: 12 }, (_, at) => ({ name: `node-${at}`, root: {} }))
  await using host = await settings(new MemoryPort(machines))
  await host.page.getByRole('searchbox', { name: 'Filter machines' }).fill('NODE-1')
  await expect.poll(() => host.page.locator('[data-machine]').count()).toBe(3)
  await host.page.getByRole('searchbox').fill('zzz')
  await host.page.getByText('No machine matches.').waitFor()
})

test('complains about the form only after an attempt, and leads to the field', async () => {
  await using host = await settings()
  const { page } = host
  const machine = page.getByLabel('Machine', { exact: true })
  await machine.waitFor()
  expect(await page.getByRole('alert').count()).toBe(0)
  await page.getByRole('button', { name: 'Create workspace' }).click()
  await page.getByText('Choose the machine first.').waitFor()
  expect(await machine.evaluate((element) => element === document.activeElement)).toBe(true)
  await machine.selectOption('web-1')
  await page.getByRole('button', { name: 'Create workspace' }).click()
  await page.getByText('Type the folder, or browse to it.').waitFor()
  await page.getByLabel('Folder', { exact: true }).fill('srv/app')
  await page.getByLabel('Folder', { exact: true }).press('Enter')
  await page.getByText('The folder must be a full path, beginning with /.').waitFor()
  expect(host.asked('POST workspaces')).toBe(0)
})

test('makes a workspace of a folder that was typed', async () => {
  await using host = await settings()
  const { page } = host
  await page.getByLabel('Machine', { exact: true }).selectOption('web-1')
  await page.getByLabel('Folder', { exact: true }).fill('/srv/app')
  await page.getByLabel('Folder', { exact: true }).press('Enter')
  await page.getByText('“web-1:/srv/app” is now in the sidebar.').waitFor()
  const row = page.locator('[data-workspace="web-1:/srv/app"]')
  await row.getByText('Current').waitFor()
  expect(await page.getByLabel('Folder', { exact: true }).inputValue()).toBe('')
})

test('tells what is wrong with a folder in plain words and in those of the machine', async () => {
  await using host = await settings()
  const { page } = host
  await page.getByLabel('Machine', { exact: true }).selectOption('web-1')
  const attempt = async (path: string): Promise<string> => {
    await page.getByLabel('Folder', { exact: true }).fill(path)
    await page.getByRole('button', { name: 'Create workspace' }).click()
    return page.locator('form [role=alert]').innerText()
  }
  expect(await attempt('/srv/nothing')).toMatch(/does not exist there.[^]*web-1: \/srv\/nothing/)
  await page.getByLabel('Folder', { exact: true }).fill('/')
  expect(await attempt('/srv/../etc')).toMatch(/cannot be used[^]*symbolic link/)
})

test('browses from the home folder to another one and chooses it', async () => {
  await using host = await settings()
  const { page } = host
  await page.getByLabel('Machine', { exact: true }).selectOption('web-1')
  await page.getByRole('button', { name: 'Browse' }).click()
  const browser = page.getByRole('group', { name: 'Folders on web-1' })
  await browser.getByText('/home/dev', { exact: true }).waitFor()
  await browser.getByText('notes.txt').waitFor()
  expect(await browser.getByRole('button', { name: /notes/ }).count()).toBe(0)
  const up = browser.getByRole('button', { name: 'Up' })
  await up.click()
  await browser.getByText('/home', { exact: true }).waitFor()
  await up.click()
  await browser.getByRole('button', { name: 'Open srv' }).waitFor()
  expect(await up.isDisabled()).toBe(true)
  await browser.getByRole('button', { name: 'Open srv' }).click()
  await browser.getByRole('button', { name: 'Open data' }).click()
  await browser.getByText('This folder is empty.').waitFor()
  await browser.getByRole('button', { name: 'Choose this folder' }).click()
  expect(await page.getByLabel('Folder', { exact: true }).inputValue()).toBe('/srv/data')
  expect(await browser.count()).toBe(0)
})

test('walks through folders by keyboard alone', async () => {
  await using host = await settings()
  const { page } = host
  await page.getByLabel('Machine', { exact: true }).selectOption('web-1')
  await page.getByLabel('Folder', { exact: true }).fill('/')
  await page.getByLabel('Folder', { exact: true }).press('Tab')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Open etc' }).waitFor()
  await page.getByRole('button', { name: 'Open home' }).focus()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Open app' }).waitFor()
  await page.keyboard.press('ArrowDown')
  expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('Open app')
  await page.keyboard.press('ArrowUp')
  expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('Open app')
})

test('begins browsing at the path that was typed, and leads out of one that is not there', async () => {
  await using host = await settings()
  const { page } = host
  await page.getByLabel('Machine', { exact: true }).selectOption('web-1')
  await page.getByLabel('Folder', { exact: true }).fill('/srv/gone')
  await page.getByRole('button', { name: 'Browse' }).click()
  const browser = page.getByRole('group', { name: 'Folders on web-1' })
  await browser.getByText('It does not exist there.').waitFor()
  expect(await browser.getByRole('button', { name: 'Choose this folder' }).isDisabled()).toBe(true)
  await browser.getByRole('button', { name: 'Up' }).click()
  await browser.getByRole('button', { name: 'Open app' }).waitFor()
})

test('says that a folder holds more than it lists', async () => {
  const port = twoMachines()
  port.entryLimit = 1
  await using host = await settings(port)
  await host.page.getByLabel('Machine', { exact: true }).selectOption('web-1')
  await host.page.getByRole('button', { name: 'Browse' }).click()
  await host.page.getByText(/holds more than is shown/).waitFor()
})

test('keeps an answer that comes too late from replacing the folder that was opened after it', async () => {
  await using host = await settings()
  const { page } = host
  await page.getByLabel('Machine', { exact: true }).selectOption('web-1')
  await page.getByRole('button', { name: 'Browse' }).click()
  const browser = page.getByRole('group', { name: 'Folders on web-1' })
  await browser.getByRole('button', { name: 'Open projects' }).waitFor()
  const release = host.port.stall('browse')
  await browser.getByRole('button', { name: 'Open projects' }).click()
  await expect.poll(() => host.port.calls.includes('browse web-1:/home/dev/projects')).toBe(true)
  release()
  host.port.stall('browse')
  await browser.getByRole('button', { name: 'Open site' }).click()
  await page.getByLabel('Machine', { exact: true }).selectOption('broken')
  await expect.poll(() => host.port.calls.includes('browse left')).toBe(true)
  expect(await browser.count()).toBe(0)
})

test('makes another workspace the current one', async () => {
  const port = twoMachines()
  await using host = await settings(port)
  const { page } = host
  for (const path of ['/srv/app', '/etc']) {
    await page.getByLabel('Machine', { exact: true }).selectOption('web-1')
    await page.getByLabel('Folder', { exact: true }).fill(path)
    await page.getByRole('button', { name: 'Create workspace' }).click()
    await page.locator(`[data-workspace="web-1:${path}"]`).waitFor()
  }
  await page.getByRole('button', { name: 'Make web-1:/etc current' }).click()
  await page.locator('[data-workspace="web-1:/etc"]').getByText('Current', { exact: true }).waitFor()
  expect(await page.getByText('Current', { exact: true }).count()).toBe(1)
})

test('removes a workspace only after a question that says nothing on the machine is touched', async () => {
  await using host = await settings()
  const { page } = host
  await page.getByLabel('Machine', { exact: true }).selectOption('web-1')
  await page.getByLabel('Folder', { exact: true }).fill('/srv/app')
  await page.getByRole('button', { name: 'Create workspace' }).click()
  const remove = page.getByRole('button', { name: 'Remove web-1:/srv/app' })
  await remove.click()
  await page.getByText('Nothing on web-1 is touched: the folder and its files stay as they are.').waitFor()
  const keep = page.getByRole('button', { name: 'Keep' })
  expect(await keep.evaluate((element) => element === document.activeElement)).toBe(true)
  await page.evaluate(() => document.addEventListener('keydown', (event) => (document.title = event.key)))
  await page.keyboard.press('Escape')
  await expect.poll(() => remove.evaluate((element) => element === document.activeElement)).toBe(true)
  // The host closes its settings on an Escape that reaches the document.
  expect(await page.title()).toBe('host')
  expect(host.asked('POST workspaces/remove')).toBe(0)
  await remove.click()
  await page.getByRole('button', { name: 'Remove', exact: true }).click()
  await page.getByText('No remote workspaces yet').waitFor()
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Remote workspaces')
})

test('tells when a removal failed, and keeps the row', async () => {
  const port = twoMachines()
  await using host = await settings(port)
  const { page } = host
  await page.getByLabel('Machine', { exact: true }).selectOption('web-1')
  await page.getByLabel('Folder', { exact: true }).fill('/srv/app')
  await page.getByRole('button', { name: 'Create workspace' }).click()
  await page.getByRole('button', { name: 'Remove web-1:/srv/app' }).click()
  port.failNext('removeWorkspace', new TypeError('a fault'))
  await page.getByRole('button', { name: 'Remove', exact: true }).click()
  await page.locator('[data-workspace]').getByText('Presence itself failed.').waitFor()
})

test('reads again and again while it can be seen, and not while it is hidden', async () => {
  await using host = await settings(twoMachines(), { ownTime: true })
  const reads = (): number => host.asked('GET machines')
  await host.page.locator('[data-machine=web-1]').waitFor()
  expect(reads()).toBe(1)
  await host.page.clock.runFor(3000)
  await expect.poll(reads).toBe(2)
  const show = (hidden: boolean): Promise<void> =>
    host.page.evaluate((value) => {
      Object.defineProperty(document, 'hidden', { configurable: true, get: () => value })
      document.dispatchEvent(new Event('visibilitychange'))
    }, hidden)
  await show(true)
  await host.page.clock.runFor(60_000)
  expect(reads()).toBe(2)
  await show(false)
  await expect.poll(reads).toBe(3)
})

test('goes on after the host was started anew with another secret', async () => {
  await using host = await settings()
  const row = host.page.locator('[data-machine=web-1]')
  await row.getByText('Not connected').waitFor()
  host.restart()
  await row.getByRole('button').click()
  await row.getByText(/^Connected since /).waitFor()
  expect(host.asked('GET session')).toBe(2)
})

test('says that what it shows may be old while DSH does not answer, and recovers by itself', async () => {
  const port = twoMachines()
  port.setState('web-1', { kind: 'ready', since: Date.now() })
  await using host = await settings(port)
  const row = host.page.locator('[data-machine=web-1]')
  await row.getByText(/^Connected since /).waitFor()
  host.setDown(true)
  await host.page.getByText('DSH does not answer, so this may no longer be true.').waitFor()
  await row.getByText(/^Last known: Connected since /).waitFor()
  expect(await row.locator('.dshp-dot-ready').count()).toBe(0)
  host.setDown(false)
  await row.locator('.dshp-dot-ready').waitFor()
  expect(await host.page.getByText('may no longer be true').count()).toBe(0)
})

test('offers another try when nothing could be read at all', async () => {
  const port = twoMachines()
  port.failNext('machines', new TypeError('a fault'))
  await using host = await settings(port)
  await host.page.getByText('Presence itself failed.').first().waitFor()
  await host.page.getByRole('button', { name: 'Try again' }).first().click()
  await host.page.locator('[data-machine=web-1]').waitFor()
})

test('says what to do when there are no machines', async () => {
  await using host = await settings(new MemoryPort([]))
  await host.page.getByText('No machines yet').first().waitFor()
})

test('gives every control a name', async () => {
  await using host = await settings()
  const { page } = host
  await page.getByLabel('Machine', { exact: true }).selectOption('web-1')
  await page.getByRole('button', { name: 'Browse' }).click()
  await page.getByRole('button', { name: 'Open projects' }).waitFor()
  const nameless = await page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>('.dshp-root :is(button, input, select)')]
      .filter((control) => {
        const labels = 'labels' in control ? (control.labels as NodeListOf<HTMLElement> | null) : null
        return !(
          control.getAttribute('aria-label') ??
          labels?.[0]?.textContent ??
          control.textContent
        )?.trim()
      })
      .map((control) => control.outerHTML),
  )
  expect(nameless).toEqual([])
})
