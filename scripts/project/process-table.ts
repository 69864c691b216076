/**
 * The process table of this computer: who is whose child, in which group, and who has ended already
 * but was not yet collected by its parent. Reads `/proc`; where there is none (macOS), `ps`.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

export interface ProcessEntry {
  readonly pid: number
  readonly parent: number
  readonly group: number
  /** It has ended; only its entry is left. A signal to it succeeds all the same. */
  readonly ended: boolean
}

export async function processTable(): Promise<ProcessEntry[]> {
  return existsSync('/proc/self/stat') ? tableFromProc() : tableFromPs()
}

/** The environment a process was started with; undefined where that cannot be seen. */
export async function environmentOf(pid: number): Promise<readonly string[] | undefined> {
  return (await readProc(pid, 'environ'))?.split('\0')
}

async function tableFromProc(): Promise<ProcessEntry[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const entries = pids.map(async (pid) => {
    // "pid (name) state ppid pgrp …" (proc(5)); the name may hold spaces and brackets.
    const stat = await readProc(pid, 'stat')
    if (stat === undefined) return []
    const [state = '', parent, group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return [{ pid, parent: Number(parent), group: Number(group), ended: state === 'Z' || state === 'X' }]
  })
  return (await Promise.all(entries)).flat()
}

async function tableFromPs(): Promise<ProcessEntry[]> {
  const { stdout } = await promisify(execFile)('ps', ['-axo', 'pid=,ppid=,pgid=,state='])
  const rows = stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
  return rows.map(([pid, parent, group, state]) => ({
    pid: Number(pid),
    parent: Number(parent),
    group: Number(group),
    ended: state?.startsWith('Z') === true,
  }))
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
