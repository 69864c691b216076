import { execFile, spawn, type ChildProcess } from 'node:child_process'
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'
import { oneLine, quotingOf, startProbe, startScript } from '../../src/remote/shell/command-line.ts'
import { markedLines } from '../../src/remote/shell/marked-answer.ts'
import { MarkedStream } from '../../src/remote/shell/marked.ts'
import {
  AWAIT_GROUP,
  END_GROUP,
  LAUNCH,
  NOTIFY,
  PROBE,
  READY,
  helperScript,
  readyLine,
} from '../../src/remote/shell/scripts.ts'
import { parseProbe } from '../../src/remote/capabilities.ts'

const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'presence scripts '))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Shells that may be `/bin/sh` on a machine. */
const SYSTEM_SHELLS: readonly (readonly [string, ...string[]])[] = [
  ['dash'],
  ['bash', '--posix'],
  ['busybox', 'sh'],
  ['zsh'],
]
/** Shells that a user may log in with; each gets our command line by `-c`, as sshd does it. */
const LOGIN_SHELLS = ['sh', 'bash', 'dash', 'zsh', 'fish', 'tcsh'] as const

const quoting = (shell: string): 'posix' | 'foreign' =>
  shell === 'fish' || shell === 'tcsh' ? 'foreign' : 'posix'

const HARD_WORDS = [
  "it's",
  'a "quoted" word',
  '$HOME `id` $(id)',
  'back\\slash \\n \\0',
  'bang! history!!',
  'two\nlines\n',
  ' leading and trailing ',
  '-n',
  '*?[a]{b,c}~',
  'tab\there',
  'ünïcödé 你好 🙂',
  '%s %d %%',
  '',
]

interface Started {
  readonly child: ChildProcess
  readonly output: () => string
  readonly errors: () => string
  readonly exit: Promise<{ code: number | null; signal: string | null }>
}

function start(shell: readonly [string, ...string[]], script: string, args: readonly string[]): Started {
  const [program, ...options] = shell
  const child = spawn(program, [...options, '-c', script, 'presence', ...args], { detached: true })
  let output = ''
  let errors = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  const exit = new Promise<{ code: number | null; signal: string | null }>((resolve) =>
    child.on('exit', (code, signal) => resolve({ code, signal })),
  )
  return { child, output: () => output, errors: () => errors, exit }
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 10))
}

/** Live processes of a group, as the kernel's table shows them; zombies have ended. */
function membersOf(group: number): number {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.filter((pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
      const [state, , processGroup] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      return Number(processGroup) === group && state !== 'Z'
    } catch (endedMeanwhile) {
      expect(endedMeanwhile).toMatchObject({ code: expect.stringMatching(/ENOENT|ESRCH/) as string })
      return false
    }
  }).length
}

describe.each(LOGIN_SHELLS)('a command line for the login shell %s', (shell) => {
  it.each(['posix', 'unknown'] as const)('passes hard words unchanged when taken as %s', async (kind) => {
    // Only POSIX shells may be told apart as such; the careful form has to work everywhere.
    const known = kind === 'posix' ? quoting(shell) : kind
    const begin = startScript(`for a in "$@"; do printf '%s\\037' "$a"; done`, HARD_WORDS, known)
    expect(begin.preamble).toBe('')
    const { stdout } = await run(shell, ['-c', begin.commandLine])
    expect(stdout.split('\u001f').slice(0, -1)).toEqual(HARD_WORDS)
  })

  it('F70: sends what is too long for a command line through standard input', async () => {
    const long = `${'x'.repeat(200_000)}'\n!\\`
    const begin = startScript(`printf '%s' "$1" | wc -c; cat`, [long], quoting(shell))
    expect(begin.commandLine.length).toBeLessThan(200)
    const child = spawn(shell, ['-c', begin.commandLine])
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
    child.stdin.end(`${begin.preamble}and the rest is the command's own input`)
    await new Promise((resolve) => child.on('close', resolve))
    expect(output.trim()).toMatch(
      new RegExp(`^${Buffer.byteLength(long)}\\s+and the rest is the command's own input$`),
    )
  })
})

describe.each(SYSTEM_SHELLS.map((shell) => ({ shell, name: shell.join(' ') })))(
  'under $name',
  ({ shell }) => {
    const listening: number[] = []

    it('probes a machine between its marks', async () => {
      const words = ['MARK', '\\\\', '\\!']
      const env = { ...process.env, LANG: 'C.UTF-8', LC_ALL: '' }
      const { stdout } = await run(shell[0], [...shell.slice(1), '-c', PROBE, 'presence', ...words], { env })
      const answer = markedLines(`Welcome!\n${stdout}goodbye\n`, 'MARK', '')
      if (answer.kind === 'none') throw new Error(`no answer: ${answer.said}`)
      const { os, host, stat, find, loginShell, programs, tmp, locale } = parseProbe(answer.lines)
      expect({ os, stat, find, loginShell, tmp }).toEqual({
        os: 'Linux',
        stat: 'gnu',
        find: 'gnu',
        loginShell: 'posix',
        tmp: '/tmp',
      })
      expect(host).toMatch(new RegExp(`^${hostname()}( [0-9a-f]{32})?$`))
      expect(programs.find).toMatch(/^\/.*find$/)
      expect(locale).toEqual({ lang: 'C.UTF-8', lcAll: '', charmap: 'UTF-8', utf8: true })
    })

    it('starts a command in its folder with its variables and an empty input', async () => {
      const started = start(shell, LAUNCH, [
        'MARK',
        folder,
        '5',
        'watched',
        '1',
        "GREETING=it's me",
        ...['sh', '-c', 'pwd; printf "%s\\n" "$GREETING"; cat; echo err >&2; exit 7'],
      ])
      expect(await started.exit).toEqual({ code: 7, signal: null })
      await until(() => started.errors().includes('err'))
      expect(started.output()).toBe(`MARKok ${started.child.pid}\n${folder}\nit's me\n`)
      expect(started.errors()).toBe('MARK\nerr\n')
      started.child.stdin?.end()
    })

    it('waits for its command, and passes hard words and what follows them on', async () => {
      const words = [
        'direct',
        '1',
        'HARD=one\ntwo',
        'sh',
        '-c',
        'printf "<%s>" "$HARD" "$@"; cat',
        'sh',
        ...HARD_WORDS,
      ]
      const waiting = start(shell, READY, [])
      waiting.child.stdin?.end(`${readyLine(['MARK', folder, '5', ...words])}the\nrest`)
      expect(await waiting.exit).toEqual({ code: 0, signal: null })
      const printed = ['one\ntwo', ...HARD_WORDS].map((word) => `<${word}>`).join('')
      expect(waiting.output()).toBe(`MARKok ${waiting.child.pid}\n${printed}the\nrest`)
      const nobody = start(shell, READY, [])
      nobody.child.stdin?.end()
      expect(await nobody.exit).toEqual({ code: 0, signal: null })
    })

    it('says which of folder and program is missing', async () => {
      const gone = start(shell, LAUNCH, ['MARK', join(folder, 'none'), '5', 'watched', '0', 'true'])
      await gone.exit
      expect(gone.output()).toBe('MARKfolder\n')
      const missing = start(shell, LAUNCH, ['MARK', folder, '5', 'watched', '0', 'no-such-program-here'])
      await missing.exit
      expect(missing.output()).toBe('MARKprogram\n')
    })

    it('ends the whole group when the lifeline says stop, although a child ignores TERM', async () => {
      const started = start(shell, LAUNCH, [
        'MARK',
        folder,
        '3',
        'watched',
        '0',
        ...['sh', '-c', `sh -c 'trap "" TERM; while :; do sleep 0.1; done' & sleep 300 & echo up; wait`],
      ])
      await until(() => started.output().includes('up\n'))
      const group = started.child.pid ?? 0
      expect(membersOf(group)).toBeGreaterThanOrEqual(3)
      started.child.stdin?.end('stop\n')
      await started.exit
      await until(() => membersOf(group) === 0)
    })

    it('ends the group when the lifeline breaks while the command runs', async () => {
      const started = start(shell, LAUNCH, ['MARK', folder, '3', 'watched', '0', 'sleep', '300'])
      await until(() => started.output().includes('ok'))
      started.child.stdin?.destroy()
      await started.exit
      await until(() => membersOf(started.child.pid ?? 0) === 0)
    })

    it('leaves a background child alone when the command ended by itself', async () => {
      const started = start(shell, LAUNCH, [
        'MARK',
        folder,
        '3',
        'watched',
        '0',
        ...['sh', '-c', 'sleep 300 >/dev/null 2>&1 & echo $!'],
      ])
      expect((await started.exit).code).toBe(0)
      await until(() => /\n\d+\n$/.test(started.output()))
      const child = Number(/\n(\d+)\n$/.exec(started.output())?.[1])
      started.child.stdin?.end()
      await new Promise((resolve) => setTimeout(resolve, 600))
      expect(() => process.kill(child, 0)).not.toThrow()
      const ended = start(shell, END_GROUP, [String(started.child.pid), '3'])
      const awaited = start(shell, AWAIT_GROUP, [String(started.child.pid)])
      await ended.exit
      expect((await awaited.exit).code).toBe(0)
      expect(membersOf(started.child.pid ?? 0)).toBe(0)
    })

    it('tells of changes by the numbers of the paths, and when it listens to the wrong folders', async () => {
      const at = mkdtempSync(join(folder, 'news '))
      writeFileSync(join(at, 'file'), 'a')
      mkdirSync(join(at, 'folder'))
      const listen = async (
        names: readonly string[],
      ): Promise<{ says(word: string, when: () => void): Promise<void> }> => {
        const news = start(
          shell,
          NOTIFY,
          names.map((name) => join(at, name)),
        )
        listening.push(news.child.pid ?? 0)
        const said = (): string[] => news.output().split(/\s+/)
        await until(() => said().includes('ready'))
        return {
          says: async (word, when) => {
            expect(said()).not.toContain(word)
            when()
            await until(() => said().includes(word))
          },
        }
      }
      const there = await listen(['folder', 'file', 'other'])
      await there.says('2', () => appendFileSync(join(at, 'file'), 'b'))
      // It has been heard when the next one is told, and concerned none of the paths.
      writeFileSync(join(at, 'sibling'), '')
      await there.says('1', () => writeFileSync(join(at, 'folder', 'in\nit'), ''))
      await there.says('3', () => writeFileSync(join(at, 'other'), ''))
      await there.says('over', () => renameSync(join(at, 'folder'), join(at, 'moved')))
      const absent = await listen(['not/yet/there'])
      await absent.says('over', () => mkdirSync(join(at, 'not')))
      for (const pid of listening.splice(0)) {
        process.kill(-pid, 'SIGTERM')
        await until(() => membersOf(pid) === 0)
      }
    })

    it('tells of no change where nothing of it can be listened to, and ends', async () => {
      const { stdout } = await run(
        shell[0],
        [...shell.slice(1), '-c', `PATH=/nonexistent; ${NOTIFY}`, 'presence', folder],
        {},
      ).catch((ended: unknown) => ended as { stdout: string })
      expect(stdout).toBe('')
    })

    it('answers a helper one line at a time, with its status', async () => {
      const started = start(shell, helperScript(''), ['MARK', 'KEY'])
      const ask = (script: string): void => {
        started.child.stdin?.write(`\nKEY${oneLine(script)}; printf '<%s>' "$?"\n`)
      }
      ask(`printf '%s' 'a b'`)
      ask('cat; false')
      started.child.stdin?.write(`content that nobody reads\nprintf no\n${'x'.repeat(100)}`)
      ask('x=1\nprintf "%s" "$x"\n[ -e /nothing ]')
      await until(() => (started.output().match(/>/g) ?? []).length === 3)
      started.child.stdin?.end()
      expect(started.output()).toBe('MARK\na b<0><1>1<1>')
      await started.exit
    })
  },
)

describe('what a login script prints', () => {
  it('F56: stays out of an answer, before, between and after its lines, however it looks', () => {
    const noise = '\u001b[31mpresence-0123-end\nplatform Welcome\nos=Plan9'
    const output = `${noise}MARKos=Linux\n${noise}MARKuser=me\n${noise}\nMARKend\n${noise}`
    expect(markedLines(output, 'MARK', noise)).toEqual({ kind: 'answer', lines: ['os=Linux', 'user=me'] })
    expect(markedLines(output.replace('MARKend', ''), 'MARK', noise).kind).toBe('none')
  })

  it('F56: is the explanation where there is no answer, whichever stream it came on', () => {
    const none = (output: string, errors: string): object => markedLines(output, 'MARK', errors)
    expect(none('\n This service allows sftp connections only.\r\n', '')).toEqual({
      kind: 'none',
      said: 'This service allows sftp connections only.',
    })
    expect(none('', 'no shell\n')).toEqual({ kind: 'none', said: 'no shell' })
    expect(none('', '')).toEqual({ kind: 'none', said: '' })
  })

  it('is not taken for ours when it is a trace of our own command line', () => {
    const headers: string[] = []
    let body = ''
    const stream = new MarkedStream(
      'MARK',
      (line) => headers.push(line),
      (chunk) => (body += chunk.toString()),
    )
    for (const byte of `+ exec /bin/sh -c '…' presence MARK /srv\n+ 'MARK'\nMARKok 12\nits own`) {
      stream.push(Buffer.from(byte))
    }
    expect(headers).toEqual(['ok 12'])
    expect(body).toBe('its own')
  })
})

describe.each([...LOGIN_SHELLS, 'busybox ash'])('a probe of the login shell %s', (shell) => {
  it('sees how it quotes, by words and not by its name', async () => {
    const [program = '', ...applet] = shell.split(' ')
    const script = `printf '%s %s' "$2" "$3"`
    const { commandLine } = startProbe(script, 'MARK')
    const { stdout } = await run(program, [...applet, '-c', commandLine])
    expect(quotingOf(stdout)).toBe(quoting(shell))
  })
})

it('the probe fits into the command line of every server', () => {
  expect(startProbe(PROBE, 'MARK').commandLine.length).toBeLessThan(6000)
})
