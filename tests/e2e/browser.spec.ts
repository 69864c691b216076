import { cpSync, mkdirSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { chromium, type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { startWeb, type WebHost } from '../../scripts/host/web.ts'
import { DEMO_PROMPT, openConversation } from '../../scripts/model/conversation.ts'
import { STATE } from '../../scripts/project/checkout.ts'
import { SAMPLE } from '../../scripts/start/sample.ts'
import { browserProgram } from '../client/host-page.ts'
import { filesBelow, setStage, type Stage } from '../support/host.ts'

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 })

let stage: Stage
let web: WebHost
let browser: Browser
let page: Page
let project = ''
const pageErrors: string[] = []

beforeAll(async () => {
  stage = await setStage({ profile: 'web' })
  project = join(realpathSync(stage.machine.home), 'tide-table')
  cpSync(SAMPLE, project, { recursive: true })
  mkdirSync(join(project, '.git'))
  stage.model.play(openConversation)
  web = await startWeb(stage.home)
  browser = await chromium.launch({
    executablePath: await browserProgram(),
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  })
  page = await browser.newPage({ viewport: { width: 1400, height: 900 } })
  page.setDefaultTimeout(60_000)
  page.on('pageerror', (error) => pageErrors.push(error.message))
})
afterAll(async () => {
  await browser.close()
  await web.stop()
  await stage.stop()
})

/** What a person sees, kept for one who wants to look. */
const picture = (name: string): Promise<unknown> =>
  page.screenshot({ path: join(STATE, 'pictures', `${name}.png`) })

it('F106: a person adds a remote folder, opens a session in it, and sees the machine’s files in the tool cards', async () => {
  await page.goto(web.url)
  // The host's own welcome, in as many steps as it has, lies over everything on a first visit.
  await page.addLocatorHandler(page.getByRole('button', { name: 'Continue' }), async (welcome) => {
    await welcome.click()
  })
  const addFolder = page.getByRole('button', { name: 'Add remote folder' })
  await addFolder.click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Machine').selectOption('demo')
  await dialog.getByLabel('Folder').fill(project)
  await picture('add-remote-folder')
  await dialog.getByRole('button', { name: 'Create workspace' }).click()

  const title = `demo:${project}`
  await page.getByText(title).first().waitFor()
  await dialog.waitFor({ state: 'hidden' })
  await picture('sidebar')
  await page.getByRole('button', { name: 'New Session' }).first().click()
  await page.getByText(title).nth(1).waitFor()

  await page.getByPlaceholder('Describe what you want to build').fill(DEMO_PROMPT)
  await page.keyboard.press('Enter')
  await page.getByText('nothing was copied here').waitFor()
  await picture('conversation')

  // The tool cards open to what the machine holds.
  await page.getByText('Run the check of the project').click()
  await page.getByText('3,71').first().waitFor()
  await picture('tool-card')
  expect(await page.getByText(project).first().isVisible()).toBe(true)
  expect(readFileSync(join(project, 'data/cuxhaven.csv'), 'utf8')).toContain('02:57,3.71')
  expect(filesBelow(join(stage.home.folder, 'presence/mounts'))).toEqual([])
  expect(pageErrors).toEqual([])
})

it('the settings page tells the machine’s state truthfully, also when it is gone', async () => {
  await page.getByText('Settings', { exact: true }).click()
  await page.getByText('Presence', { exact: true }).first().click()
  await page.getByText(/Connected since/).waitFor()
  await picture('settings')
  await stage.machine.stop()
  await page
    .getByText(/Connection lost/i)
    .first()
    .waitFor()
  await picture('settings-lost')
  await stage.machine.restart()
  await page
    .getByRole('button', { name: /connect/i })
    .first()
    .click()
  await page.getByText(/Connected since/).waitFor()
  expect(pageErrors).toEqual([])
})
