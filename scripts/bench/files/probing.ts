/**
 * How the host looks around before the model's steps, call by call: instructions and skills of the
 * session's folder (dsh-agent-instructions and dsh-skill-filesystem of 0.1.0-rc.8, as recorded there).
 */
import { dirname, join } from 'node:path'
import type { FsTarget } from '@deepseek-ai/dsh-fs'
import { onBehalfOf } from '../../../src/core/current-session.ts'
import type { Provider } from './provider.ts'

/** Of each folder from the project's root down to the session's. */
const INSTRUCTIONS = ['AGENTS.md', 'CLAUDE.md', 'AGENTS.local.md', 'CLAUDE.local.md']
const GLOBAL_INSTRUCTIONS = 'AGENTS.md'
const PROJECT_SKILLS = ['.dsh/skills', '.agents/skills']

/**
 * How often the host looks before each of six steps, when the five calls between them are `read`, `bash`,
 * `grep`, `edit` and `write`: once more after a tool that touches a file.
 */
export const LOOKS = [1, 2, 1, 1, 2, 2]

export interface Project {
  /** The session's folder in the host's spelling. */
  readonly cwd: string
  /** The host's own home, on this computer; here the person's too. */
  readonly dshHome: string
}

export interface Probed {
  readonly root: string
  /** Of the instructions that were read, in order. */
  readonly texts: readonly string[]
}

/** The six steps of a turn. `between` runs between two, as the model's answer and its tool would. */
export async function probeTurn(
  provider: Provider,
  project: Project,
  between: () => Promise<void>,
): Promise<Probed> {
  const session = { cwd: project.cwd, phase: 'step', named: [] } as const
  const { signal } = new AbortController()
  const looking = new Looking(provider.fs, project, signal)
  const seen: Probed[] = []
  for (const [step, looks] of LOOKS.entries()) {
    if (step > 0) await between()
    await onBehalfOf(session, async () => {
      if (step === 0) await looking.forSkills()
      for (let look = 0; look < looks; look += 1) seen.push(await looking.forInstructions(seen.length === 0))
    })
  }
  const [first] = seen
  if (first === undefined) throw new Error('nothing was probed')
  return first
}

class Looking {
  readonly #fs: Provider['fs']
  readonly #project: Project
  readonly #signal: AbortSignal

  constructor(fs: Provider['fs'], project: Project, signal: AbortSignal) {
    this.#fs = fs
    this.#project = project
    this.#signal = signal
  }

  async forSkills(): Promise<void> {
    const root = await this.#projectRoot()
    const { dshHome } = this.#project
    const folders = [...PROJECT_SKILLS.map((name) => join(root, name)), join(dshHome, 'skills')]
    for (const folder of [...folders, join(dshHome, '.agents/skills')]) {
      const target = await this.#fs.resolve(folder)
      await this.#fs.listDir(target).catch((error: unknown) => {
        if (!isAbsent(error)) throw error
      })
    }
  }

  async forInstructions(read: boolean): Promise<Probed> {
    const { cwd, dshHome } = this.#project
    const root = await this.#projectRoot()
    const present: FsTarget[] = []
    const folders = chainOf(root, cwd)
    const files = folders.flatMap((folder) => INSTRUCTIONS.map((name) => join(folder, name)))
    for (const file of [join(dshHome, GLOBAL_INSTRUCTIONS), ...files]) {
      const target = await this.#fs.resolve(file, { signal: this.#signal })
      if ((await this.#fs.stat(target, this.#signal))?.type === 'file') present.push(target)
    }
    const texts: string[] = []
    // Later the version tells that the text is known.
    for (const target of read ? present : []) {
      const parts: string[] = []
      for await (const part of await this.#fs.streamText(target, this.#signal)) parts.push(part)
      texts.push(parts.join(''))
    }
    return { root, texts }
  }

  /** The nearest folder upward with a repository, or the session's own where there is none. */
  async #projectRoot(): Promise<string> {
    const { cwd } = this.#project
    for (let folder = cwd; ; folder = dirname(folder)) {
      const target = await this.#fs.resolve(join(folder, '.git'), { signal: this.#signal })
      if ((await this.#fs.stat(target, this.#signal)) !== undefined) return folder
      if (dirname(folder) === folder) return cwd
    }
  }
}

function chainOf(root: string, cwd: string): string[] {
  const chain = [cwd]
  for (let folder = cwd; folder !== root;) {
    folder = dirname(folder)
    chain.unshift(folder)
  }
  return chain
}

function isAbsent(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return code === 'FS_NOT_FOUND' || code === 'FS_NOT_DIRECTORY'
}
