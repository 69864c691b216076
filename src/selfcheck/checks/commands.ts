/** Checks of commands on the machine: where and how they run, how they end, what confines them. */
import type { SandboxPolicy } from '@deepseek-ai/dsh-sandbox'
import type { SubprocessHandle, SubprocessSpawnSpec } from '@deepseek-ai/dsh-subprocess'
import { pause } from '../../base/race.ts'
import type { Check, Workplace } from '../check.ts'
import { holds, same } from '../expectations.ts'

const OUTPUT = { maxBytes: 64 * 1024 } as const
const GRACE_MS = 1000
/** Milliseconds until an ended process must have gone, its parent's collecting included. */
const GONE_WITHIN_MS = 5000

interface Ran {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export const COMMANDS: readonly Check[] = [
  {
    name: 'a command runs in its folder, and its output and exit code come back',
    make: async (at) => {
      await at.bench.makeFolder(at.path('sub'))
      const script = 'pwd -P; echo problem >&2; exit 7'
      const ran = await run(at, ['sh', '-c', script], { cwd: at.mount('sub') })
      same('exit code', ran.code, 7)
      same('output', ran.out, `${at.path('sub')}\n`)
      same('error output', ran.err, 'problem\n')
    },
  },
  {
    name: 'a command finds the end of its input',
    make: async (at) => {
      same('what a command without input reads', (await run(at, ['cat'])).out, '')
      const stdin = { data: 'first\nlast without an end' }
      same('what a command with input reads', (await run(at, ['cat'], { stdin })).out, stdin.data)
    },
  },
  {
    name: 'arguments and variables reach a command as they are',
    make: async (at) => {
      const words = [
        '',
        'two words',
        `it's "quoted"`,
        '$HOME `id` $(id)',
        'back\\slash!',
        '*',
        '-n',
        'ünï\ncode',
      ]
      const ran = await run(at, ['sh', '-c', 'printf "<%s>" "$@" "$WORD"', 'sh', ...words], {
        env: { WORD: words.join('') },
      })
      same('words', ran.out, [...words, words.join('')].map((word) => `<${word}>`).join(''))
    },
  },
  {
    name: 'a file has the same path for a command as for the file system',
    make: async (at) => {
      const target = await at.target('file')
      await at.fs.writeText(target, 'written\n', undefined, at.signal)
      const ran = await run(at, ['cat', at.fs.processPath(target)])
      same('what a command reads by the path given to processes', ran.out, 'written\n')
    },
  },
  {
    name: 'an ended command leaves no process on the machine',
    make: async (at) => {
      const handle = spawn(at, ['sh', '-c', 'sleep 600 & echo $$; sleep 600'], {})
      try {
        const group = await firstNumber(handle, at.signal)
        at.bench.endLater(group)
        holds('the command must run before it is ended', await at.bench.groupLives(group))
        handle.terminate()
        await handle.done
        holds('the end of all its processes must be told', await handle.waitForExit(at.signal))
        const until = performance.now() + GONE_WITHIN_MS
        while (await at.bench.groupLives(group)) {
          holds('no process of it may be left', performance.now() < until)
          await pause(100)
        }
      } finally {
        handle.terminate()
      }
    },
  },
  {
    name: 'a confined command changes nothing, or does not run',
    make: async (at) => {
      const policy: SandboxPolicy = { mode: 'read-only', workspaceRoot: at.mount() }
      let confined: ReturnType<Workplace['sandbox']['confine']>
      try {
        confined = at.sandbox.confine(['touch', 'forbidden'], policy)
      } catch (error) {
        const code = error instanceof Error && 'code' in error ? error.code : undefined
        same('code of the refusal', code, 'SANDBOX_UNAVAILABLE')
        return 'the machine has no confinement: such commands are refused'
      }
      const ran = await run(at, confined.argv)
      const made = await at.bench.exists(at.path('forbidden'))
      // A switch that a person has set lets commands run as they are; then nothing else may be claimed.
      const bySwitch = at.presence.machines.get(at.bench.machine)?.unconfined === true
      if (bySwitch && confined.enforcement === 'partial') return "unconfined, by the machine's own switch"
      holds('a read-only command must not have made a file', !made)
      holds(`a read-only command that writes must fail (it ended with ${String(ran.code)})`, ran.code !== 0)
      return undefined
    },
  },
]

interface Wishes {
  readonly cwd?: string
  readonly env?: Record<string, string>
  readonly stdin?: SubprocessSpawnSpec['stdio']['stdin']
}

function spawn(at: Workplace, argv: readonly string[], wishes: Wishes): SubprocessHandle {
  return at.subprocess.spawn({
    argv,
    cwd: wishes.cwd ?? at.mount(),
    stdio: { stdin: wishes.stdin ?? 'ignore', stdout: OUTPUT, stderr: OUTPUT },
    graceMs: GRACE_MS,
    signal: at.signal,
    env: wishes.env,
  })
}

async function run(at: Workplace, argv: readonly string[], wishes: Wishes = {}): Promise<Ran> {
  const handle = spawn(at, argv, wishes)
  const { exitCode } = await handle.done
  const { stdout, stderr } = handle.collected
  return { code: exitCode, out: stdout?.readFrom(0).text ?? '', err: stderr?.readFrom(0).text ?? '' }
}

/** The first line of a running command's output, which must be a number. */
async function firstNumber(handle: SubprocessHandle, signal: AbortSignal): Promise<number> {
  let ended = false
  const end = handle.done.finally(() => (ended = true))
  end.catch((_toldBelow: unknown) => undefined)
  for (;;) {
    signal.throwIfAborted()
    const line = /^(\d+)\n/.exec(handle.collected.stdout?.readFrom(0).text ?? '')
    if (line !== null) return Number(line[1])
    if (ended) await end
    holds('a running command must be heard while it runs', !ended)
    await pause(20)
  }
}
