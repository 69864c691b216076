import { afterAll, beforeAll, expect, test } from 'vitest'
import { MemoryPort, sampleRoot } from '../panel/memory-port.ts'
import { openHostPage, startRig, type HostPage, type Rig } from './host-page.ts'

let rig: Rig
beforeAll(async () => {
  rig = await startRig()
})
afterAll(() => rig[Symbol.asyncDispose]())

async function dialog(port = new MemoryPort([{ name: 'web-1', root: sampleRoot() }])): Promise<HostPage> {
  const host = await openHostPage(rig, port, { lang: 'en' })
  await host.page.locator('[data-presence-add]').click()
  await host.page.getByRole('dialog', { name: 'Add remote folder' }).waitFor()
  return host
}

test('opens a dialog that takes the focus and keeps it', async () => {
  await using host = await dialog()
  const { page } = host
  await page.getByRole('dialog').getByLabel('Machine', { exact: true }).waitFor()
  expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('SELECT')
  for (let presses = 0; presses < 12; presses += 1) {
    await page.keyboard.press('Tab')
    const outside = await page.evaluate(() => {
      const { activeElement, body } = document
      return activeElement !== body && activeElement?.closest('dialog') === null
    })
    expect(outside).toBe(false)
  }
})

test('closes on Escape and on Cancel, and gives the focus back', async () => {
  await using host = await dialog()
  const { page } = host
  await page.evaluate(() => document.addEventListener('keydown', (event) => (document.title = event.key)))
  await page.keyboard.press('Escape')
  await expect.poll(() => page.locator('dialog').count()).toBe(0)
  const hasFocus = (): Promise<boolean> =>
    page.evaluate(() => document.activeElement?.hasAttribute('data-presence-add') === true)
  expect(await hasFocus()).toBe(true)
  expect(await page.title()).toBe('host')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Cancel' }).click()
  await expect.poll(() => page.locator('dialog').count()).toBe(0)
  expect(await hasFocus()).toBe(true)
})

test('makes the workspace and closes', async () => {
  await using host = await dialog()
  const { page } = host
  await page.getByRole('dialog').getByLabel('Folder', { exact: true }).fill('/srv/app')
  await page.keyboard.press('Enter')
  await expect.poll(() => page.locator('dialog').count()).toBe(0)
  expect(host.port.calls).toContain('createWorkspace web-1:/srv/app')
})

test('gives up what it was doing when it is closed', async () => {
  await using host = await dialog()
  const { page } = host
  host.port.stall('createWorkspace')
  await page.getByRole('dialog').getByLabel('Folder', { exact: true }).fill('/srv/app')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').getByRole('button', { name: 'Creating…' }).waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  await expect.poll(() => host.port.calls.includes('createWorkspace left')).toBe(true)
  expect(host.errors).toEqual([])
})

test('stands above everything and fits a narrow window', async () => {
  await using host = await openHostPage(rig, new MemoryPort([{ name: 'web-1', root: sampleRoot() }]), {
    lang: 'en',
    viewport: { width: 360, height: 500 },
  })
  const { page } = host
  await page.locator('[data-presence-add]').click()
  await page.getByRole('dialog').getByRole('button', { name: 'Browse' }).click()
  const box = await page.getByRole('dialog').boundingBox()
  expect(box?.x).toBeGreaterThanOrEqual(0)
  expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(360)
  expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(500)
})
