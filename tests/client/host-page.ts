/// <reference lib="esnext.disposable" />
/**
 * The host's page without the host: the built panel in Chromium, loaded by the host's loader protocol,
 * with the host's React and slots by their contract, and the real panel behind it.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import {
  chromium,
  type Browser,
  type BrowserContextOptions,
  type ConsoleMessage,
  type Page,
} from 'playwright-core'
import { buildClient } from '../../scripts/build-client.ts'
import { nodeHandler } from '../../src/panel/node-carrier.ts'
import { createPanel } from '../../src/panel/panel.ts'
import { MemoryPort } from '../panel/memory-port.ts'
import { listen } from '../panel/server.ts'

export interface Rig extends AsyncDisposable {
  readonly browser: Browser
  /** For one after the other: a page of its own is dear. */
  readonly page: Page
  readonly script: string
}

const VIEWPORT = { width: 900, height: 900 }

/** Once a file: the browser and the built script. */
export async function startRig(): Promise<Rig> {
  const folder = await mkdtemp(join(tmpdir(), 'presence-client-'))
  const outFile = join(folder, 'client.js')
  await buildClient({ outFile })
  const script = await readFile(outFile, 'utf8')
  await rm(folder, { recursive: true })
  const browser = await chromium.launch({
    executablePath: await browserProgram(),
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  })
  const page = await (await browser.newContext({ viewport: VIEWPORT })).newPage()
  return { browser, page, script, [Symbol.asyncDispose]: () => browser.close() }
}

export interface HostPage extends AsyncDisposable {
  readonly page: Page
  readonly port: MemoryPort
  /** Errors that reached the page or its console. */
  readonly errors: string[]
  /** From now on the panel is another run of it, with another secret. */
  restart(): void
  /** From now on nothing answers, or it does again. */
  setDown(down: boolean): void
  /** How often an address of the panel has been asked, by `METHOD operation`. */
  asked(what: string): number
}

export interface HostPageOptions extends BrowserContextOptions {
  /** What the host's locale service says; without it, there is none. */
  readonly locales?: 'en' | 'zh'
  /** `<html lang>` of the page. */
  readonly lang?: string
  /** The page's time stands still, and goes only when the test lets it. */
  readonly ownTime?: boolean
}

export async function openHostPage(
  rig: Rig,
  port: MemoryPort,
  options: HostPageOptions = {},
): Promise<HostPage> {
  const { locales, lang = '', ownTime = false, ...context } = options
  const newHandler = (): ReturnType<typeof nodeHandler> =>
    nodeHandler(createPanel(port, { version: '1.2.3', report: (fault) => errors.push(String(fault)) }))
  const errors: string[] = []
  const asked: string[] = []
  let handler = newHandler()
  let down = false
  const files: Readonly<Record<string, string>> = {
    '/react.js': await umd('react', 'react.production.min.js'),
    '/react-dom.js': await umd('react-dom', 'react-dom.production.min.js'),
    '/host.js': HOST_SCRIPT,
    '/client.js': rig.script,
  }
  const server = await listen((request, response) => {
    const path = (request.url ?? '').split('?')[0] ?? ''
    if (path.startsWith('/api/presence/')) {
      asked.push(`${request.method} ${path.slice('/api/presence/'.length)}`)
      if (down) request.socket.destroy()
      else void handler(request, response)
    } else if (path === '/') {
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(html(lang, locales))
    } else {
      response.writeHead(files[path] === undefined ? 404 : 200, {
        'content-type': 'text/javascript; charset=utf-8',
      })
      response.end(files[path] ?? '')
    }
  })
  // Each host has an address and thus a storage of its own; what belongs to a browser is not shared.
  const browsing =
    ownTime || Object.keys(context).length > 0
      ? await rig.browser.newContext({ viewport: VIEWPORT, ...context })
      : undefined
  const page = browsing === undefined ? rig.page : await browsing.newPage()
  page.setDefaultTimeout(10_000)
  const onError = (error: Error): unknown => errors.push(error.message)
  const onConsole = (message: ConsoleMessage): void => {
    // What the browser itself says of refused requests is no error of the page.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      errors.push(message.text())
  }
  page.on('pageerror', onError)
  page.on('console', onConsole)
  if (ownTime) await page.clock.install()
  await page.goto(server.origin)
  return {
    page,
    port,
    errors,
    restart: () => {
      handler = newHandler()
    },
    setDown: (value) => {
      down = value
    },
    asked: (what) => asked.filter((one) => one === what).length,
    [Symbol.asyncDispose]: async () => {
      page.off('pageerror', onError)
      page.off('console', onConsole)
      await (browsing?.close() ?? page.goto('about:blank'))
      await server.close()
    },
  }
}

function html(lang: string, locales: 'en' | 'zh' | undefined): string {
  const scripts = ['/react.js', '/react-dom.js', '/host.js', '/client.js']
  return [
    `<!doctype html><html lang="${lang}"><meta charset="utf-8"><title>host</title><link rel="icon" href="data:,">`,
    '<button id="before">before</button><div id="sidebar"></div><div id="settings"></div>',
    `<script>window.hostLocale = ${JSON.stringify(locales ?? null)}</script>`,
    ...scripts.map((src) => `<script src="${src}"></script>`),
  ].join('\n')
}

/** Runs in the page: the loader, a context with slots and perhaps a locale service, and the two slots. */
const HOST_SCRIPT = `
const listeners = new Set()
const locale = { getSnapshot: () => ({ active: window.hostLocale }), subscribe: (f) => { listeners.add(f); return () => listeners.delete(f) } }
window.switchLocale = (to) => { window.hostLocale = to; for (const f of listeners) f() }
window.required = []
window.entries = []
const render = (where, component, props) =>
  ReactDOM.createRoot(document.getElementById(where)).render(React.createElement(component, props))
const slots = {
  inject: (slot, contribute) => { contribute() },
  register: (entry, component) => {
    window.entries.push({ ...entry, label: entry.label?.() })
    if (entry.name === 'settings.section') render('settings', component, { close() {} })
    if (entry.name === 'sidebar.footer.action') render('sidebar', component, { wide: true })
    return () => {}
  },
}
window.__ModuleLoader__ = {
  load: ({ id, factory }) => {
    window.loadedId = id
    const plugin = factory((name) => { window.required.push(name); if (name === 'react') return React; throw new Error('no module ' + name) })
    window.plugin = plugin
    plugin.apply({ slots, get: (name) => (name === 'locale' && window.hostLocale !== null ? locale : undefined) })
  },
}
`

async function umd(name: string, file: string): Promise<string> {
  const folder = dirname(createRequire(import.meta.url).resolve(`${name}/package.json`))
  return readFile(join(folder, 'umd', file), 'utf8')
}

/** The browser of this machine: `PRESENCE_CHROMIUM`, or the first that is on the path. */
export async function browserProgram(): Promise<string> {
  const names = [process.env['PRESENCE_CHROMIUM'], 'chromium', 'chromium-browser', 'google-chrome']
  for (const name of names.filter((candidate) => candidate !== undefined)) {
    try {
      return (await promisify(execFile)('sh', ['-c', 'command -v "$1"', 'sh', name])).stdout.trim()
    } catch (absent) {
      if (!(absent instanceof Error && 'code' in absent && typeof absent.code === 'number')) throw absent
    }
  }
  throw new Error('these tests need a Chromium; set PRESENCE_CHROMIUM to its program')
}
