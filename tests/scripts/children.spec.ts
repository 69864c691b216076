/** Children of the scripts end with the scripts, however those end. */
import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ROOT } from '../../scripts/project/checkout.ts'
import { run, startChild, type Child } from '../../scripts/project/children.ts'
import { processTable } from '../../scripts/project/process-table.ts'

let folder: string

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'children-')))
})
afterEach(() => rm(folder, { recursive: true }))

describe('run', () => {
  it('collects both outputs and the exit code, and gives the child its input', async () => {
    const outcome = await run(['sh', '-c', 'cat; echo err >&2; exit 4'], { input: 'text' })
    expect(outcome).toEqual({ code: 4, signal: null, stdout: 'text', stderr: 'err\n' })
  })

  it('names a program that is not there', async () => {
    await expect(run(['no-such-program'])).rejects.toThrow('no-such-program could not be started')
  })

  it('ends a child that takes too long, together with what it started', async () => {
    const file = join(folder, 'pid')
    const late = run(['sh', '-c', `sleep 600 & echo $! > "${file}"; wait`], { timeoutMs: 300 })
    await expect(late).rejects.toThrow('not finished after 300 ms')
    expect(await isAlive(Number(await readFile(file, 'utf8')))).toBe(false)
  })
})

describe('a parent that started children', () => {
  /** A program that starts a child with a child of its own, and waits; `trap` is what the child does first. */
  async function startParent(ending: string, trap = ''): Promise<{ parent: Child; grandchild: number }> {
    const script = join(folder, 'parent.ts')
    const file = join(folder, 'grandchild')
    await writeFile(
      script,
      [
        `import { startChild } from ${JSON.stringify(join(ROOT, 'scripts/project/children.ts'))}`,
        `await startChild(['sh', '-c', '${trap} sleep 600 & echo $! > ${file}.part; mv ${file}.part ${file}; wait'])`,
        `const waiting = setInterval(() => {}, 1000)`,
        ending,
      ].join('\n'),
    )
    const parent = await startChild([process.execPath, script])
    await expect
      .poll(() => readFile(file, 'utf8').catch((_notYet: unknown) => ''), { timeout: 10_000 })
      .not.toBe('')
    return { parent, grandchild: Number(await readFile(file, 'utf8')) }
  }

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'ends them when it gets %s, and tells so by its exit code',
    async (name) => {
      const { parent, grandchild } = await startParent('')
      process.kill(parent.pid, name)
      const { code } = await parent.ended
      expect(code).toBe({ SIGINT: 130, SIGTERM: 143, SIGHUP: 129 }[name])
      expect(await isAlive(grandchild)).toBe(false)
    },
  )

  it('ends those too that do not listen', async () => {
    const { parent, grandchild } = await startParent('', 'trap "" TERM;')
    process.kill(parent.pid, 'SIGTERM')
    expect((await parent.ended).code).toBe(143)
    expect(await isAlive(grandchild)).toBe(false)
  })

  it('ends them when it leaves without saying goodbye', async () => {
    const { parent, grandchild } = await startParent('setTimeout(() => process.exit(3), 1000)')
    expect((await parent.ended).code).toBe(3)
    await expect.poll(() => isAlive(grandchild)).toBe(false)
  })

  it('ends them when it fails', async () => {
    const { parent, grandchild } = await startParent('setTimeout(() => { throw new Error("failed") }, 1000)')
    expect((await parent.ended).code).toBe(1)
    await expect.poll(() => isAlive(grandchild)).toBe(false)
  })
})

async function isAlive(pid: number): Promise<boolean> {
  return (await processTable()).some((entry) => entry.pid === pid && !entry.ended)
}
