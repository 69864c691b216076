/** The host's own looks before a step: one question for all of them, and never an old answer after a change. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { file, lineTo, output, settled, watchProcess } from '../../ssh/life/line.ts'
import { SearchProcess } from '../../../src/remote/search/search-process.ts'
import { startRig, type Rig } from '../../support/rig.ts'
import { askedBy } from './questions.ts'

const NAMES = ['.git', 'AGENTS.md', 'CLAUDE.md', 'AGENTS.local.md', 'CLAUDE.local.md']
const caller = { phase: 'step' } as const

/** As the host does it: one name after the other. */
async function lookAround(
  { files }: Pick<Rig, 'files'>,
  folder: string,
): Promise<Readonly<Record<string, number | undefined>>> {
  const found: Record<string, number | undefined> = {}
  for (const name of NAMES) {
    const path = await files.canonical(file(join(folder, name)).path, { caller })
    found[name] = (await files.stat({ path, shown: name }, { caller }))?.size
  }
  return found
}

describe.each([
  { what: 'a machine with commands', sshdConfig: [], questions: 1 },
  {
    what: 'a machine with SFTP only',
    sshdConfig: ['Subsystem sftp internal-sftp', 'ForceCommand internal-sftp'],
    questions: 0,
  },
])('on $what', ({ sshdConfig, questions }) => {
  let rig: Rig
  let folder = ''
  beforeAll(async () => {
    rig = await startRig({ sshdConfig })
  })
  afterAll(() => rig.stop())
  beforeEach(() => {
    folder = mkdtempSync(join(rig.folder, 'project '))
  })

  const look = (): ReturnType<typeof lookAround> => lookAround(rig, folder)

  it('many looks are one flight, and see what is there', async () => {
    writeFileSync(join(folder, 'AGENTS.md'), 'instructions')
    symlinkSync('AGENTS.md', join(folder, 'CLAUDE.md'))
    const first = await askedBy(async () =>
      expect(await look()).toEqual({ 'AGENTS.md': 12, 'CLAUDE.md': 12 } satisfies Record<string, number>),
    )
    expect(first.questions).toBe(questions)
    const again = await askedBy(async () => {
      await look()
      await look()
    })
    expect(again).toEqual({ questions: 0, requests: 0 })
    const path = file(join(folder, 'CLAUDE.md')).path
    expect(await rig.files.canonical(path, { caller })).toBe(join(folder, 'AGENTS.md'))
  })

  it('what was found just now is read without another look at it', async () => {
    writeFileSync(join(folder, 'AGENTS.md'), 'instructions')
    await look()
    const asked = await askedBy(async () => {
      expect(await rig.files.readText(file(join(folder, 'AGENTS.md')), { caller })).toBe('instructions')
    })
    // Where versions are exact, it is asked for the present one.
    if (questions === 0) expect(asked).toEqual({ questions: 0, requests: 1 })
  })

  it('what was found a while ago is looked at again before it is opened', async () => {
    writeFileSync(join(folder, 'CLAUDE.md'), 'instructions')
    await look()
    rmSync(join(folder, 'CLAUDE.md'))
    execFileSync('mkfifo', [join(folder, 'CLAUDE.md')])
    const { now } = performance
    const later = vi.spyOn(performance, 'now').mockImplementation(() => now.call(performance) + 1500)
    const reading = rig.files.readRange(file(join(folder, 'CLAUDE.md')), 0, 10, { caller })
    await expect(reading).rejects.toMatchObject({ code: 'not-regular' })
    later.mockRestore()
  })

  it('folders of skills that are not there are known to be missing', async () => {
    const path = await rig.files.canonical(file(join(folder, '.dsh/skills')).path, { caller })
    expect(path).toBe(join(folder, '.dsh/skills'))
    const listing = rig.files.list({ path, shown: 'skills' }, { caller })
    await expect(listing).rejects.toMatchObject({ code: 'not-found' })
  })

  it('a file that we write is seen at once, also in folders that it makes', async () => {
    await look()
    await rig.files.write(file(join(folder, 'AGENTS.md')), 'four', { kind: 'absent' }, 1000)
    expect((await look())['AGENTS.md']).toBe(4)
    const skill = join(folder, '.dsh/skills/one/SKILL.md')
    await rig.files.canonical(file(join(folder, '.dsh/skills')).path, { caller })
    await rig.files.write(file(skill), 'skill', { kind: 'absent' }, 1000)
    const path = await rig.files.canonical(file(join(folder, '.dsh/skills')).path, { caller })
    expect((await rig.files.list({ path, shown: '' }, { caller })).map(({ name }) => name)).toEqual(['one'])
  })

  it('a tool call is never answered from them', async () => {
    await look()
    writeFileSync(join(folder, 'AGENTS.md'), 'by somebody else')
    const tool = { phase: 'tool' } as const
    const path = await rig.files.canonical(file(join(folder, 'AGENTS.md')).path, { caller: tool })
    expect((await rig.files.stat({ path, shown: '' }, { caller: tool }))?.size).toBe(16)
    expect(await rig.files.readText({ path, shown: '' }, { caller: tool })).toBe('by somebody else')
  })

  it('a line that dies meanwhile fails who asked, and nothing beside', async () => {
    const watch = watchProcess()
    const line = await lineTo(rig.server)
    try {
      await line.files.stat(file(folder))
      line.proxy.freeze()
      const looking = settled(lookAround({ files: line.files }, folder), 20_000, 'the looks')
      await new Promise((resolve) => setTimeout(resolve, 100))
      line.proxy.reset()
      line.proxy.thaw()
      expect((await looking) as object).toHaveProperty('value')
      await new Promise((resolve) => setTimeout(resolve, 100))
      expect(watch.escaped).toEqual([])
    } finally {
      watch.stop()
      await line.close()
    }
  })

  it('a folder above that is a link has its own answers', async () => {
    mkdirSync(join(folder, 'real'))
    writeFileSync(join(folder, 'real/AGENTS.md'), 'real')
    symlinkSync('real', join(folder, 'link'))
    const path = await rig.files.canonical(file(join(folder, 'link/AGENTS.md')).path, { caller })
    expect(path).toBe(join(folder, 'real/AGENTS.md'))
    const absent = await rig.files.canonical(file(join(folder, 'link/CLAUDE.md')).path, { caller })
    expect(absent).toBe(join(folder, 'real/CLAUDE.md'))
  })
})

it('a search changes nothing, and what was seen is still known after it', async () => {
  const rig = await startRig()
  try {
    writeFileSync(join(rig.folder, 'text'), 'text\n')
    await lookAround(rig, rig.folder)
    const search = new SearchProcess(rig.machine, {
      folder: file(rig.folder).path,
      graceMs: 1000,
      argv: () => ['rg', '--no-config', '--json', '--regexp=none'],
    })
    search.stdout.resume()
    search.stderr.resume()
    expect((await search.done).exitCode).toBe(1)
    const asked = await askedBy(() => lookAround(rig, rig.folder))
    expect(asked).toEqual({ questions: 0, requests: 0 })
  } finally {
    await rig.stop()
  }
})

it('what a command has made is seen as soon as it has ended', async () => {
  const rig = await startRig()
  try {
    await lookAround(rig, rig.folder)
    await output(rig.machine, ['sh', '-c', 'mkdir .git; echo text > AGENTS.md'], rig.folder)
    const found = await lookAround(rig, rig.folder)
    expect([found['AGENTS.md'], typeof found['.git']]).toEqual([5, 'number'])
    expect(await rig.files.readText(file(join(rig.folder, 'AGENTS.md')), { caller })).toBe('text\n')
  } finally {
    await rig.stop()
  }
})
