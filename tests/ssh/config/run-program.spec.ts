import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { CancelledError } from '../../../src/base/failure.ts'
import { ConfigProblem } from '../../../src/ssh/config/problem.ts'
import { runProgram, type Ended } from '../../../src/ssh/config/run-program.ts'
import { Workbench } from './workbench.ts'

function sh(bench: Workbench, script: string, timeoutMs = 10_000, signal?: AbortSignal): Promise<Ended> {
  return runProgram('/bin/sh', ['-c', script], { facts: bench.facts, timeoutMs, signal })
}

/** Wait until the process is gone; the test's own time limit is the only one. */
async function gone(pid: number): Promise<void> {
  while (existsSync(`/proc/${pid}`) && !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))) {
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

async function appeared(path: string): Promise<number> {
  while (!existsSync(path) || readFileSync(path, 'utf8') === '') {
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return Number(readFileSync(path, 'utf8'))
}

describe('a local program', () => {
  it('is heard on both outputs, with its exit code, and finds its input empty', async () => {
    const ended = await sh(new Workbench(), 'cat; echo out; echo err >&2; exit 3')
    expect(ended).toEqual({ code: 3, stdout: 'out\n', stderr: 'err\n' })
  })

  it('is killed with all it has started when it does not end in time', async () => {
    const bench = new Workbench()
    const child = join(bench.folder, 'child')
    await expect(sh(bench, `sleep 300 & echo $! > ${child}; wait`, 500)).rejects.toThrow(ConfigProblem)
    await gone(await appeared(child))
  })

  it('is killed when the caller leaves', async () => {
    const bench = new Workbench()
    const leave = new AbortController()
    const child = join(bench.folder, 'child')
    const running = sh(bench, `sleep 300 & echo $! > ${child}; wait`, 10_000, leave.signal)
    const pid = await appeared(child)
    leave.abort()
    await expect(running).rejects.toThrow(CancelledError)
    await gone(pid)
  })

  it('is a problem of the configuration when it cannot be run', async () => {
    const { facts, folder } = new Workbench()
    const run = runProgram(join(folder, 'missing'), [], { facts, timeoutMs: 1000, signal: undefined })
    await expect(run).rejects.toThrow(/cannot be run: .*ENOENT/)
  })
})
