/** A real DSH home with Presence installed, a scripted model, and a real machine called `demo`. */
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inject } from 'vitest'
import { ROOT } from '../../scripts/project/checkout.ts'
import { run } from '../../scripts/project/children.ts'
import { makeDshHome, type DshHome, type DshHomeOptions } from '../../scripts/host/dsh-home.ts'
import { headlessTurn } from '../../scripts/host/headless.ts'
import type { SessionLog, ToolStep } from '../../scripts/host/session-log.ts'
import type { DemoMachine } from '../../scripts/machine/machine.ts'
import { startOpenSsh, type OpenSshOptions } from '../../scripts/machine/openssh.ts'
import type { Step } from '../../scripts/model/script.ts'
import { startModel, type ScriptedModel } from '../../scripts/model/server.ts'
import { copyFolder, onceInRun } from './once.ts'

export interface Stage {
  readonly home: DshHome
  readonly model: ScriptedModel
  readonly machine: DemoMachine
  /** HOME of DSH and its local commands: empty, so that nothing of the developer's is seen. */
  readonly userHome: string
  /** The marker folder that stands for a path of the machine, or of another one; made when missing. */
  marker(path: string, machine?: string): string
  /** Run the scripted calls in one headless turn. */
  turn(cwd: string, script: readonly Step[]): Promise<SessionLog>
  /** Write machines.yml; the machine `demo` is always in it. */
  machines(more?: Readonly<Record<string, object>>, demo?: object): void
  stop(): Promise<void>
}

export interface StageOptions {
  readonly profile: 'headless' | 'web'
  /** `tools`: without the seams, as the installer's mode of that name. */
  readonly presence?: boolean | 'tools'
  readonly machine?: Partial<OpenSshOptions>
  readonly home?: Partial<DshHomeOptions>
}

export async function setStage(options: StageOptions): Promise<Stage> {
  // Not in the temporary area, which workspace-write may write to.
  const folder = realpathSync(mkdtempSync('/var/tmp/presence-stage-'))
  // Beside, not below: on one disk a folder above the host would be above the machine's folders too.
  const machineFolder = realpathSync(mkdtempSync('/var/tmp/presence-machine-'))
  const userHome = join(folder, 'user')
  mkdirSync(userHome)
  const [model, machine] = await Promise.all([
    startModel([{ text: 'ok' }]),
    startOpenSsh({ folder: machineFolder, ...options.machine }),
  ])
  if (options.presence === undefined || options.presence === true) {
    await copyFolder(await homeWithPresence(options.profile), join(folder, 'dsh'))
  }
  const home = await makeDshHome({
    folder: join(folder, 'dsh'),
    model: { url: model.url, key: 'scripted' },
    userHome,
    ...options.home,
  })
  if (options.presence === 'tools') await installTools(home, options.profile)
  const presence = join(home.folder, 'presence')
  const machines: Stage['machines'] = (more = {}, demo = {}) => {
    mkdirSync(presence, { recursive: true })
    writeFileSync(
      join(presence, 'machines.yml'),
      JSON.stringify({ demo: { ...entryOf(machine), ...demo }, ...more }),
    )
  }
  machines()
  return {
    home,
    model,
    machine,
    userHome,
    machines,
    marker: (path, machine = 'demo') => {
      const marker = join(presence, 'mounts', machine, path)
      mkdirSync(marker, { recursive: true })
      return marker
    },
    turn: async (cwd, script) => {
      model.play([...script, { text: 'done' }])
      const turn = await headlessTurn(home, { cwd, prompt: `turn ${turns++}` })
      if (turn.session === undefined) throw new Error(`DSH made no session:\n${turn.stdout}${turn.stderr}`)
      return turn.session
    },
    stop: async () => {
      await machine.stop()
      await model.stop()
      for (const made of [folder, machineFolder]) rmSync(made, { recursive: true, force: true })
    },
  }
}

/** A home in whose profile the tarball was installed as a user does it; how that goes is tested elsewhere. */
function homeWithPresence(profile: string): Promise<string> {
  return onceInRun(`presence-in-${profile}`, async (folder) => {
    const userHome = `${folder}-user`
    mkdirSync(userHome)
    await (await makeDshHome({ folder, userHome })).addPlugin(profile, inject('tarball'))
  })
}

async function installTools(home: DshHome, profile: string): Promise<void> {
  const installer = [process.execPath, join(ROOT, 'scripts/install.ts')]
  const where = ['--tarball', inject('tarball'), '--dsh-home', home.folder, '--profile', profile]
  const outcome = await run([...installer, '--mode', 'tools', ...where], {
    env: home.env,
    timeoutMs: 300_000,
  })
  if (outcome.code !== 0) throw new Error(`the installer failed:\n${outcome.stdout}${outcome.stderr}`)
}

let turns = 1

/** Where a machine is and how to log in there. */
export type Login = Pick<DemoMachine, 'host' | 'port' | 'user' | 'identityFile' | 'knownHostsFile'>

export function entryOf(machine: Login): object {
  const { host, port, user, identityFile, knownHostsFile } = machine
  return { host, port, user, identityFile, knownHostsFile }
}

export function call(name: string, args: Readonly<Record<string, unknown>>): Step {
  return { calls: [{ name, args }] }
}

/** The only step of a session's calls to one tool. */
export function stepOf<S extends Pick<ToolStep, 'tool'>>(
  session: { readonly steps: readonly S[] },
  tool: string,
  index = 0,
): S {
  const step = session.steps.filter((one) => one.tool === tool)[index]
  if (step === undefined)
    throw new Error(`no step ${index} of ${tool}: ${session.steps.map((one) => one.tool).join()}`)
  return step
}

/** Every file and non-empty folder below a folder, relative to it. */
export function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .toSorted()
}
