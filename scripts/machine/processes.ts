/**
 * Finds the processes that a rig machine has to end. It looks at this computer's process table only;
 * where there is no `/proc` (macOS) it asks `ps`, which cannot tell environments.
 */
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { run } from '../project/children.ts'

/** Children, grandchildren and so on of a process, nearest first. */
export async function descendantsOf(pid: number): Promise<number[]> {
  const parents = existsSync('/proc/self/stat') ? await parentsFromProc() : await parentsFromPs()
  const found: number[] = []
  for (let generation = [pid]; generation.length > 0;) {
    generation = parents.filter(({ parent }) => generation.includes(parent)).map((one) => one.pid)
    found.push(...generation)
  }
  return found
}

/** Processes whose environment holds `name=value`, whoever started them; this process is not among them. */
export async function processesWith(name: string, value: string): Promise<number[]> {
  if (!existsSync('/proc/self/environ')) return []
  const wanted = `${name}=${value}`
  const found: number[] = []
  for (const pid of await processIds()) {
    if (pid === process.pid) continue
    const environment = await readProc(pid, 'environ')
    if (environment?.split('\0').includes(wanted) === true) found.push(pid)
  }
  return found
}

/** End processes: first asked, then made to. Processes that are gone already are no failure. */
export async function endProcesses(pids: readonly number[], graceMs = 500): Promise<void> {
  const alive = pids.filter((pid) => signal(pid, 'SIGTERM'))
  const until = Date.now() + graceMs
  while (alive.some((pid) => signal(pid, 0)) && Date.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  for (const pid of alive) signal(pid, 'SIGKILL')
}

function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name)
  } catch (failure) {
    if ((failure as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw failure
  }
}

interface Parentage {
  readonly pid: number
  readonly parent: number
}

async function parentsFromProc(): Promise<Parentage[]> {
  const found: Parentage[] = []
  for (const pid of await processIds()) {
    // "pid (name) state ppid …"; the name may hold spaces and brackets.
    const stat = await readProc(pid, 'stat')
    const parent = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[1]
    if (parent !== undefined) found.push({ pid, parent: Number(parent) })
  }
  return found
}

async function parentsFromPs(): Promise<Parentage[]> {
  const listed = await run(['ps', '-axo', 'pid=,ppid='])
  return listed.stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .map(([pid = 0, parent = 0]) => ({ pid, parent }))
}

async function processIds(): Promise<number[]> {
  return (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
}

/** Undefined for a process that ended meanwhile, or that is not ours to look into. */
async function readProc(pid: number, file: string): Promise<string | undefined> {
  try {
    return await readFile(`/proc/${pid}/${file}`, 'utf8')
  } catch (failure) {
    const code = (failure as NodeJS.ErrnoException).code
    if (code === 'ENOENT' || code === 'ESRCH' || code === 'EACCES' || code === 'EPERM') return undefined
    throw failure
  }
}
