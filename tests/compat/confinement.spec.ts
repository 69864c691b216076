/** What the host is told of a command that user namespaces confine: how far it can be trusted, and what a denial is. */
import { mkdtempSync, realpathSync, rmdirSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { entryOf } from '../support/host.ts'
import { startRig, type Rig } from '../support/rig.ts'
import { replacing } from '../../scripts/machine/hiding.ts'
import { setStage, SHAPES, type Stage } from './stage.ts'

let rig: Rig
beforeAll(async () => {
  rig = await startRig({ within: replacing({ bwrap: '/dev/null' }) })
})
afterAll(() => rig.stop())

describe.each(SHAPES.slice(0, 1))(
  'on the classes of %s, on a machine without bubblewrap',
  (_version, shape) => {
    let stage: Stage
    beforeAll(async () => {
      stage = await setStage(shape, entryOf(rig.server))
      await stage.presence.machine('demo').session()
    })
    afterAll(() => stage.stop())

    const run = async (
      mode: 'read-only' | 'workspace-write',
      script: string,
      cwd = stage.mount(realpathSync(rig.folder)),
    ): Promise<{
      code: number | null
      out: string
      err: string
      taken: ReturnType<Stage['sandbox']['confine']>
    }> => {
      const taken = stage.sandbox.confine(['sh', '-c', script], {
        mode,
        workspaceRoot: stage.mount(realpathSync(rig.folder)),
      })
      const handle = stage.subprocess.spawn({
        argv: taken.argv,
        cwd,
        stdio: { stdin: 'ignore', stdout: { maxBytes: 1000 }, stderr: { maxBytes: 1000 } },
        graceMs: 1000,
      })
      const { exitCode } = await handle.done
      const { stdout, stderr } = handle.collected
      return {
        code: exitCode,
        out: stdout?.readFrom(0).text ?? '',
        err: stderr?.readFrom(0).text ?? '',
        taken,
      }
    }

    it('C67: it is partial, and a denial has the words that the host looks for', async () => {
      const written = await run('workspace-write', 'echo ok >made; cat made')
      expect(written).toMatchObject({ code: 0, out: 'ok\n', err: '' })
      expect(written.taken.enforcement).toBe('partial')
      const denied = await run('read-only', 'echo no >made')
      expect(denied.code).not.toBe(0)
      expect(denied.taken.denialSignatures.some((words) => denied.err.toLowerCase().includes(words))).toBe(
        true,
      )
      expect(failures(denied)).toEqual([])
    })

    it('C67: a command that could not be confined is told as the sandbox’s failure, and did not run', async () => {
      const hidden = mkdtempSync('/tmp/presence-hidden-')
      try {
        const refused = await run('workspace-write', 'echo ran', stage.mount(hidden))
        expect(refused.out).toBe('')
        expect(failures(refused)).toHaveLength(1)
      } finally {
        rmdirSync(hidden)
      }
    })
  },
)

/** The rules that the host would know a failure of the sandbox by. */
function failures({
  code,
  err,
  taken,
}: {
  readonly code: number | null
  readonly err: string
  readonly taken: ReturnType<Stage['sandbox']['confine']>
}): unknown[] {
  return taken.runnerFailureRules.filter(
    ({ allowedExitCodes, fatalSignatures }) =>
      (allowedExitCodes?.includes(code ?? 0) ?? true) &&
      fatalSignatures.some((words) => err.toLowerCase().includes(words.toLowerCase())),
  )
}
