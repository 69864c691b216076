/** The host's own `bash` where the host mounts only `pwsh`: its real packages, a real machine, no host. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { Context, Service } from '@deepseek-ai/cordis'
import AgentRegistry, { type Agent } from '@deepseek-ai/dsh-agent'
import SystemPrompt from '@deepseek-ai/dsh-system-prompt'
import ToolRuntime, { defineTool } from '@deepseek-ai/dsh-tools'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { nestedPackage } from '../../scripts/project/checkout.ts'
import { sharePresence } from '../../src/core/presence.ts'
import PresenceFileSystem from '../../src/seams/fs.ts'
import PresenceSandbox from '../../src/seams/sandbox.ts'
import PresenceSubprocess from '../../src/seams/subprocess.ts'
import { bashOnWindows } from '../../src/tools/bash-on-windows.ts'
import { entryOf } from '../support/host.ts'
import { startRig, type Rig } from '../support/rig.ts'

interface Plugging {
  plugin(row: unknown, config?: unknown): { await(): Promise<unknown>; dispose(): Promise<void> }
}

interface Scopes {
  createScope(ctx: Context, key: object): { readonly ctx: Context; dispose(): Promise<void> }
}

/** The host's policy service, of which only the answers count here. */
class Policy extends Service {
  readonly defaultMode = 'workspace-write'
  mode = 'workspace-write'

  constructor(ctx: Context) {
    super(ctx, 'sandboxPolicy')
  }

  resolve({ session }: { session?: { header: { cwd?: string } } } = {}): object {
    return { mode: this.mode, workspaceRoot: session?.header.cwd ?? '/nowhere' }
  }
}

const load = (name: string): Promise<unknown> => import(nestedPackage(name))

let rig: Rig
let folder = ''
let project = ''
let host: Context
let scopes: Scopes
const undo: (() => Promise<void>)[] = []

beforeAll(async () => {
  rig = await startRig()
  folder = realpathSync(mkdtempSync('/var/tmp/presence-windows-bash-'))
  project = join(realpathSync(rig.folder), 'project')
  mkdirSync(join(project, 'sub'), { recursive: true })
  mkdirSync(join(folder, 'presence'))
  writeFileSync(join(folder, 'presence/machines.yml'), JSON.stringify({ demo: entryOf(rig.server) }))
  process.env['DSH_HOME'] = folder
  scopes = (await load('@deepseek-ai/dsh-scope')) as Scopes
  const rows = new Context() as unknown as Plugging
  const shellEnv = await load('@deepseek-ai/dsh-shell-env')
  const plugins = [Policy, SystemPrompt, ToolRuntime, AgentRegistry, shellEnv]
  for (const row of [...plugins, PresenceFileSystem, PresenceSubprocess, PresenceSandbox]) {
    const fiber = rows.plugin(row, {})
    await fiber.await()
    undo.push(() => fiber.dispose())
  }
  const fiber = rows.plugin({
    inject: ['agents', 'tools'],
    apply: (scope: Context) => {
      host = scope
      // The shell of Windows, for those sessions that have one.
      scope.effect(() => scope.tools.register(pwsh), 'pwsh')
      bashOnWindows(scope, sharePresence(scope), load)
    },
  })
  await fiber.await()
  undo.push(() => fiber.dispose())
})
afterAll(async () => {
  for (const step of undo.toReversed()) await step()
  await rig.stop()
  rmSync(folder, { recursive: true, force: true })
})

const pwsh = defineTool({
  name: 'pwsh',
  description: 'PowerShell.',
  parameters: {},
  output: { schema: { type: 'string' }, render: (_args, text) => [{ type: 'text', text }] },
  execute: () => Promise.resolve(''),
})

let serial = 0

/** A live session in a folder. */
function open(cwd: string, adjust: (agent: Agent) => void = () => undefined): Agent {
  serial += 1
  const id = `session-${serial}`
  const agent = { id, session: { id, header: { id, cwd } } } as unknown as Agent & { ctx: Context }
  const scope = scopes.createScope(host, agent)
  agent.ctx = scope.ctx
  adjust(agent)
  scope.ctx.effect(() => host.agents.register(agent), 'agent')
  undo.push(() => scope.dispose())
  return agent
}

/** Whether a session comes to have the tool; loading it takes a moment. */
async function hasBash(agent: Agent): Promise<boolean> {
  // What is to come has come when a session that has it for certain does.
  const certain = open(mount())
  while (host.tools.get('bash', certain) === undefined) await new Promise((resume) => setTimeout(resume, 5))
  return host.tools.get('bash', agent) !== undefined
}

const mount = (path = project): string => join(folder, 'presence/mounts/demo', path)

function bash(agent: Agent, args: Readonly<Record<string, unknown>>): Promise<string> {
  return callTool(agent, 'bash', { description: 'Run it', ...args })
}

async function callTool(
  agent: Agent,
  name: string,
  args: Readonly<Record<string, unknown>>,
): Promise<string> {
  const { signal } = new AbortController()
  const call = { callId: `call-${(serial += 1)}`, name, agent, signal, arguments: args }
  const { content } = await host.tools.execute(call as Parameters<typeof host.tools.execute>[0])
  return content.map((part) => ('text' in part ? part.text : '')).join('')
}

it('a session on a machine has it, and its commands run there, confined by the machine’s own means', async () => {
  const agent = open(mount())
  expect(await hasBash(agent)).toBe(true)
  expect(host.tools.get('pwsh', agent)).toBeUndefined()
  expect(await bash(agent, { command: 'pwd; exit 3' })).toBe(`${project}\n[exit code: 3]`)
  expect(await bash(agent, { command: 'pwd', workdir: 'sub' })).toBe(`${project}/sub\n`)
  expect(await bash(agent, { command: 'echo x > /var/presence-denied' })).toContain(
    '[sandbox: file access denied under workspace-write mode]',
  )
})

it('a shell of its own, which cannot be hidden from a session, is denied and named', async () => {
  const agent = open(mount(), (made) => {
    made.ctx.inject(['tools'], (scope) => void scope.effect(() => scope.tools.register(pwsh), 'own pwsh'))
  })
  expect(await hasBash(agent)).toBe(true)
  expect(await callTool(agent, 'pwsh', {})).toContain(
    'the commands of this session run on its machine: use bash',
  )
})

it('on this computer it runs nothing, and says what does', async () => {
  const agent = open(mount())
  expect(await hasBash(agent)).toBe(true)
  const text = await bash(agent, { command: 'touch made-here', workdir: folder })
  expect(text).toContain('is on this computer, and the commands of this session run on its machine')
  expect(existsSync(join(folder, 'made-here'))).toBe(false)
})

it('local sessions, and sessions without a shell, are as they were', async () => {
  const local = open(folder)
  expect(await hasBash(local)).toBe(false)
  expect(host.tools.get('pwsh', local)).toBeDefined()
  const quiet = open(mount(), (agent) => void agent.ctx.tools.restrict({ deny: ['pwsh'] }))
  expect(host.tools.get('pwsh', quiet)).toBeUndefined()
  expect(await hasBash(quiet)).toBe(false)
  expect(host.tools.get('bash')).toBeUndefined()
  expect(host.get('shell')).toBeUndefined()
})

it('a host that lacks the packages is told so, and goes on', async () => {
  const warnings: string[] = []
  const bare = {
    logger: { warn: (text: string) => void warnings.push(text) },
    effect: (begin: () => unknown) => void begin(),
    on: () => undefined,
    agents: { list: () => [] },
  }
  const missing = new Error('Cannot find package')
  bashOnWindows(bare as unknown as Context, {} as never, () => Promise.reject(missing))
  await new Promise((resume) => setImmediate(resume))
  expect(warnings).toEqual(['presence: sessions on machines have no "bash" on Windows: Cannot find package'])
})

it('is what the host leaves out on Windows, in its base and in every preset that has a shell', () => {
  const files = [
    join(packageFolder('@deepseek-ai/dsh-base'), 'cordis.patch.yml'),
    ...['standard', 'code', 'cordis', 'minimal'].map((preset) =>
      join(packageFolder('@deepseek-ai/dsh'), 'config/agent-presets', preset, 'agent.cordis.yml'),
    ),
  ]
  for (const file of files) {
    const rows = readFileSync(file, 'utf8').split(/^ *- (?=id: )/m)
    const disabled = (tool: RegExp): (string | undefined)[] =>
      rows
        .filter((row) => tool.test(row))
        .map((row) => /^ *disabled: !!js process\.platform (.*)$/m.exec(row)?.[1])
    expect(disabled(/^ *name: '@deepseek-ai\/dsh-tool-bash(-persistent)?'$/m), file).toEqual(["=== 'win32'"])
    expect(disabled(/^ *name: '@deepseek-ai\/dsh-tool-pwsh(-persistent)?'$/m), file).toEqual(["!== 'win32'"])
  }
})

function packageFolder(name: string): string {
  return dirname(nestedPackage(`${name}/package.json`))
}
