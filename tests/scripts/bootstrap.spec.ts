/** The bootstrap as `npm` runs it: another Node, passed-on arguments, exit codes and signals. */
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ROOT } from '../../scripts/project/checkout.ts'
import { run, startChild } from '../../scripts/project/children.ts'
import { findProgram } from '../../scripts/project/programs.ts'

const BOOTSTRAP = join(ROOT, 'scripts', 'bootstrap.mjs')
/** Tells that it runs, and how it was ended. */
const WAITING = [
  "import { writeFileSync } from 'node:fs'",
  'const [file] = process.argv.slice(2)',
  "process.on('SIGTERM', () => { writeFileSync(file, 'asked to end'); process.exit(9) })",
  "writeFileSync(file, 'running')",
  'setInterval(() => {}, 1000)',
].join('\n')

let folder: string
let script: string
let note: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bootstrap with space '))
  script = join(folder, 'script.ts')
  note = join(folder, 'note')
})
afterEach(() => rm(folder, { recursive: true }))

function read(file: string): string | Promise<string> {
  return existsSync(file) ? readFile(file, 'utf8') : ''
}

describe('bootstrap', () => {
  it('runs a script with the Node of the dependencies, and passes arguments and exit code on', async () => {
    await writeFile(
      script,
      'console.log(JSON.stringify([process.version, process.argv.slice(2)])); process.exit(5)',
    )
    const outcome = await run([process.execPath, BOOTSTRAP, script, 'one', 'two words', '--three'])
    expect(outcome.code).toBe(5)
    const [version, args] = JSON.parse(outcome.stdout) as [string, string[]]
    expect(version).toMatch(/^v24\./)
    expect(args).toEqual(['one', 'two words', '--three'])
  })

  it('puts that Node and the programs of the dependencies first on the PATH', async () => {
    await writeFile(script, 'console.log(process.env.PATH)')
    const { stdout } = await run([process.execPath, BOOTSTRAP, script])
    const folders = [join(ROOT, 'node_modules', 'node', 'bin'), join(ROOT, 'node_modules', '.bin')]
    expect(stdout.split(':').slice(0, 2)).toEqual(folders)
  })

  it('passes a signal on and waits for the script to end its own way', async () => {
    await writeFile(script, WAITING)
    const child = await startChild([process.execPath, BOOTSTRAP, script, note])
    await expect.poll(() => read(note), { timeout: 10_000 }).toBe('running')
    process.kill(child.pid, 'SIGTERM')
    expect((await child.ended).code).toBe(9)
    expect(await read(note)).toBe('asked to end')
  })

  it('ends the script when npm is ended, although npm tells nobody below its shell', async () => {
    const npm = findProgram('npm')
    if (npm === undefined) throw new Error('npm is needed')
    await writeFile(script, WAITING)
    const start = `node ${JSON.stringify(BOOTSTRAP)} ${JSON.stringify(script)} ${JSON.stringify(note)}`
    await writeFile(join(folder, 'package.json'), JSON.stringify({ scripts: { start } }))
    // Without the dependencies' own `node`, a shell script that would be the one to be ended.
    const env = { ...process.env, PATH: `${dirname(process.execPath)}:/usr/bin:/bin` }
    const child = await startChild([npm, 'start'], { cwd: folder, env })
    await expect.poll(() => read(note), { timeout: 20_000 }).toBe('running')
    process.kill(child.pid, 'SIGKILL')
    await expect.poll(() => read(note), { timeout: 10_000 }).toBe('asked to end')
  })

  it('names a script that is not there', async () => {
    const outcome = await run([process.execPath, BOOTSTRAP, 'scripts/nothing.ts'])
    expect(outcome.code).toBe(2)
    expect(outcome.stderr).toContain('there is no script scripts/nothing.ts')
  })
})
