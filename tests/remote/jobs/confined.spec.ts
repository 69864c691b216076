/** A background job of a confined session is as confined as a command, for as long as it lives. */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { lineTo, type Line } from '../../ssh/life/line.ts'
import { startConfined, type Confined, type Means } from '../../support/confined.ts'
import { living, startJob, until } from './bench.ts'

/** Prints a line `<when> <what>: done` or `failed` for each attempt. `$JOB` is the job's own folder, from outside. */
const ATTEMPTS = `
try() { n=$1; shift; if ( "$@" ) >/dev/null 2>&1; then echo "$W $n: done"; else echo "$W $n: failed"; fi; }
put() { echo escaped >"$1"; }
attempts() {
  try inside put "inside $W"
  try outside put "$OUT/$W"
  try above put "../outside/$W"
  try link put "way-out/$W"
  try stranger put "$STRANGER"
  for f in exit pid note out; do try "its $f" put "$JOB/$f"; done
  for d in 3 4 5 6 7 8 9; do try "descriptor $d" sh -c "echo escaped >&$d"; done
  try signal kill -0 "$PID"
  try remount mount -o remount,bind,rw /
}
wait_for() { while ! [ -e "$1" ]; do sleep 0.02; done; JOB=$(cat "$1"); }
`

const MEANS: readonly Means[] = ['bwrap', 'namespaces']

describe.each(MEANS)('a background job that %s confines', (means) => {
  let at: Confined
  let line: Line
  beforeAll(async () => {
    at = await startConfined(means, 'account')
    line = await lineTo(at.server)
  })
  afterAll(async () => {
    await line.close()
    await at.stop()
  })

  const start = (command: string, env: Record<string, string> = {}): ReturnType<typeof startJob> =>
    startJob(
      line.machine,
      `${ATTEMPTS}${command}`,
      at.workspace,
      { env, graceMs: 300 },
      at.confine('workspace-write'),
    )
  /** All at once: what waits for it reads what it says. */
  const open = (gate: string, says: string): void => {
    writeFileSync(join(at.workspace, `${gate}.new`), says)
    renameSync(join(at.workspace, `${gate}.new`), join(at.workspace, gate))
  }

  it('C59, C67: changes nothing outside its workspace, nor after the connection was lost, and ends with all in it', async () => {
    const bystander = spawn('sleep', ['600'], {
      stdio: 'ignore',
      uid: at.account.uid,
      gid: at.account.gid,
    })
    try {
      const nap = `sleep 7${String(process.pid)}`
      const { job, out, folder, notes } = start(
        'wait_for one; W=before; attempts; wait_for two; W=after; attempts; ' +
          `trap "" TERM HUP; ${nap} & setsid ${nap} & ( setsid sh -c 'trap "" TERM; ${nap}' & ); echo up; ${nap}`,
        { OUT: at.outside, STRANGER: at.stranger, PID: String(bystander.pid) },
      )
      await until(() => notes.length > 0)
      const place = folder()
      open('one', place)
      await until(() => out().includes('before remount'))
      line.proxy.reset()
      open('two', place)
      await until(() => out().endsWith('up\n'))
      const lines = out().trim().split('\n')
      for (const when of ['before', 'after']) {
        const done = lines.filter((each) => each.startsWith(when) && each.endsWith(': done'))
        expect(done).toEqual([`${when} inside: done`])
        expect(lines.filter((each) => each.startsWith(when) && each.endsWith(': failed')).length).toBe(17)
        expect(readFileSync(join(at.workspace, `inside ${when}`), 'utf8')).toBe('escaped\n')
      }
      expect(readdirSync(at.outside)).toEqual(['victim'])
      expect(readFileSync(at.stranger, 'utf8')).toBe('untouched')
      expect(readFileSync(join(place, 'exit'), 'latin1')).toMatch(/^- +\n$/)
      await until(() => living(nap.replace(' ', '\0')) >= 4)
      job.terminate()
      expect((await job.done).exitCode).not.toBe(0)
      expect(await job.awaitGroup()).toBe(true)
      await until(() => living(nap.replace(' ', '\0')) === 0)
      await until(() => !existsSync(place))
      expect(bystander.exitCode ?? bystander.signalCode).toBeNull()
    } finally {
      bystander.kill('SIGKILL')
    }
  })

  it('leaves nothing of it running when it ends by itself, and tells its own exit', async () => {
    const nap = `sleep 8${String(process.pid)}`
    const { job, out } = start(`( setsid ${nap} & ); echo up; exit 7`)
    expect(await job.done).toEqual({ exitCode: 7, signal: null })
    expect(out()).toBe('up\n')
    await until(() => living(nap.replace(' ', '\0')) === 0)
    await job.discard()
  })
})
