import { afterAll, beforeAll, expect, test } from 'vitest'
import { MemoryPort, sampleRoot } from '../panel/memory-port.ts'
import { openHostPage, startRig, type Rig } from './host-page.ts'

let rig: Rig
beforeAll(async () => {
  rig = await startRig()
})
afterAll(() => rig[Symbol.asyncDispose]())

const oneMachine = (): MemoryPort => new MemoryPort([{ name: 'web-1', root: sampleRoot() }])

interface LoadedHost {
  loadedId: string
  required: string[]
  entries: object[]
  plugin: { name: string; inject: string[]; apply(ctx: unknown): void }
  switchLocale(to: string): void
}

test('loads under the name of the package, asks the host for React alone and waits for slots alone', async () => {
  await using host = await openHostPage(rig, oneMachine(), { lang: 'en' })
  await host.page.locator('[data-machine=web-1]').waitFor()
  const loaded = await host.page.evaluate(() => {
    const { loadedId, required, entries, plugin } = window as unknown as LoadedHost
    return { loadedId, required: [...new Set(required)], entries, inject: plugin.inject }
  })
  expect(loaded).toEqual({
    loadedId: 'dsh-presence',
    required: ['react'],
    inject: ['slots'],
    entries: [
      { name: 'settings.section', id: 'presence', order: 60, label: 'Presence' },
      { name: 'sidebar.footer.action', id: 'presence-add-folder', order: 50 },
    ],
  })
  expect(host.errors).toEqual([])
})

test('is one script of plain ASCII that names no module of Node', () => {
  expect(rig.script).toMatch(
    /^window\.__ModuleLoader__\.load\(\{ id: "dsh-presence", factory: \(require\) => \{/,
  )
  expect(rig.script).toMatch(/^[\x09\x0a\x20-\x7e]*$/)
  expect([...rig.script.matchAll(/require\("([^"]+)"\)/g)].map((match) => match[1])).toEqual(
    expect.arrayContaining(['react']),
  )
  expect(rig.script).not.toMatch(/require\("(?!react")/)
})

test('C21: never takes the page down, whatever the host lacks', async () => {
  await using host = await openHostPage(rig, oneMachine(), { lang: 'en' })
  await host.page.locator('[data-machine=web-1]').waitFor()
  const thrown = await host.page.evaluate(() => {
    const { plugin } = window as unknown as LoadedHost
    const fault = (): never => {
      throw new Error('the host refuses')
    }
    const hosts = [
      {},
      { slots: {} },
      { slots: { inject: fault, register: fault } },
      { slots: { inject: (_slot: string, contribute: () => void) => contribute(), register: fault } },
      { slots: { inject: () => undefined }, effect: fault, get: fault },
    ]
    return hosts.flatMap((ctx) => {
      try {
        plugin.apply(ctx)
        return []
      } catch (error) {
        return [String(error)]
      }
    })
  })
  expect(thrown).toEqual([])
  expect(host.errors.some((error) => error.startsWith('Presence: settings.section could not be added'))).toBe(
    true,
  )
})

test('puts its styles into the page once, and takes them out when it is unloaded', async () => {
  await using host = await openHostPage(rig, oneMachine(), { lang: 'en' })
  await host.page.locator('[data-machine=web-1]').waitFor()
  const counts = await host.page.evaluate(() => {
    const { plugin } = window as unknown as LoadedHost
    const count = (): number => document.querySelectorAll('style[data-presence-styles]').length
    const slots = { inject: () => undefined }
    const before = count()
    plugin.apply({ slots })
    const again = count()
    document.querySelector('style[data-presence-styles]')?.remove()
    const undo: (() => void)[] = []
    plugin.apply({ slots, effect: (install: () => () => void) => undo.push(install()) })
    const fresh = count()
    for (const remove of undo) remove()
    return [before, again, fresh, count()]
  })
  expect(counts).toEqual([1, 1, 1, 0])
})

test.each([
  ['the locale service of the host', { locales: 'zh', lang: 'en', locale: 'en-US' }, '机器'],
  ['the document where the host has no such service', { lang: 'zh-CN', locale: 'en-US' }, '机器'],
  ['the browser where the document does not say', { lang: '', locale: 'zh-TW' }, '机器'],
  ['English where nobody speaks anything it knows', { lang: 'fr', locale: 'de-DE' }, 'Machines'],
] as const)('speaks the language of %s', async (_whose, options, heading) => {
  await using host = await openHostPage(rig, oneMachine(), options)
  await host.page.getByRole('heading', { name: heading }).waitFor()
  expect(host.errors).toEqual([])
})

test('changes its language with the host, while it is open', async () => {
  await using host = await openHostPage(rig, oneMachine(), { locales: 'en', lang: 'en' })
  await host.page.getByRole('heading', { name: 'Machines' }).waitFor()
  await host.page.evaluate(() => (window as unknown as LoadedHost).switchLocale('zh'))
  await host.page.getByRole('heading', { name: '机器' }).waitFor()
  await host.page.locator('[data-presence-add]').getByText('添加远程文件夹').waitFor()
})

test('changes its language with the document where the host has no locale service', async () => {
  await using host = await openHostPage(rig, oneMachine(), { lang: 'en' })
  await host.page.getByRole('heading', { name: 'Machines' }).waitFor()
  await host.page.evaluate(() => document.documentElement.setAttribute('lang', 'zh-CN'))
  await host.page.getByRole('heading', { name: '机器' }).waitFor()
})
