/** Finds and ends the processes that belong to a rig machine. */
import { environmentOf, processTable } from '../project/process-table.ts'

/** Children, grandchildren and so on of a process, nearest first. */
export async function descendantsOf(pid: number): Promise<number[]> {
  const table = await processTable()
  const found: number[] = []
  for (let generation = [pid]; generation.length > 0;) {
    generation = table.filter((entry) => generation.includes(entry.parent)).map((entry) => entry.pid)
    found.push(...generation)
  }
  return found
}

/**
 * Living processes whose environment holds `name=value`, whoever started them; this process is not
 * among them. Where the system does not show environments (macOS) none is found.
 */
export async function processesWith(name: string, value: string): Promise<number[]> {
  const wanted = `${name}=${value}`
  const others = (await processTable()).filter((entry) => !entry.ended && entry.pid !== process.pid)
  const marked = await Promise.all(
    others.map(async ({ pid }) => ((await environmentOf(pid))?.includes(wanted) === true ? [pid] : [])),
  )
  return marked.flat()
}

/** End processes: first asked, then made to. Processes that are gone already are no failure. */
export async function endProcesses(pids: readonly number[], graceMs = 500): Promise<void> {
  const asked = pids.filter((pid) => signal(pid, 'SIGTERM'))
  const until = Date.now() + graceMs
  while ((await living(asked)).length > 0 && Date.now() < until) await pause()
  for (const pid of await living(asked)) signal(pid, 'SIGKILL')
  while ((await living(asked)).length > 0 && Date.now() < until + graceMs) await pause()
}

async function living(pids: readonly number[]): Promise<number[]> {
  if (pids.length === 0) return []
  const table = await processTable()
  return pids.filter((pid) => table.some((entry) => entry.pid === pid && !entry.ended))
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 20))
}

function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name)
  } catch (failure) {
    if ((failure as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw failure
  }
}
