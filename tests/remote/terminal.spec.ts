import { readFileSync, readdirSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseRemotePath } from '../../src/base/remote-path.ts'
import { RemoteTerminal, type TerminalRequest } from '../../src/remote/process/terminal.ts'
import { LinkLostError } from '../../src/ssh/errors.ts'
import { startRig, type Rig } from '../support/rig.ts'

let rig: Rig
const open: RemoteTerminal[] = []
beforeAll(async () => {
  rig = await startRig()
})
afterAll(async () => {
  for (const terminal of open) await terminal.terminate()
  await rig.stop()
})

interface Screen {
  readonly terminal: RemoteTerminal
  text(): string
  until(pattern: RegExp): Promise<void>
}

async function start(argv: readonly string[], change: Partial<TerminalRequest> = {}): Promise<Screen> {
  const terminal = await RemoteTerminal.start(
    rig.machine,
    {
      argv,
      folder: parseRemotePath(rig.folder),
      env: { PS1: 'ready> ' },
      size: { type: 'dumb', rows: 24, cols: 80 },
      graceMs: 1000,
      ...change,
    },
    (_session, request) => Promise.resolve(request),
  )
  open.push(terminal)
  let text = ''
  terminal.output.on('data', (chunk: Buffer) => (text += chunk.toString()))
  return {
    terminal,
    text: () => text,
    until: async (pattern) => {
      while (!pattern.test(text)) await new Promise((resolve) => setTimeout(resolve, 10))
    },
  }
}

const bash = ['bash', '--noprofile', '--norc', '-i']

/** Live processes of a session, as the kernel's table shows them. */
function sessionMembers(leader: number): number {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
      const [state, , , session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      return Number(session) === leader && state !== 'Z'
    } catch (endedMeanwhile) {
      expect(endedMeanwhile).toBeInstanceOf(Error)
      return false
    }
  }).length
}

describe('a terminal on a machine', () => {
  it('is a real one: folder, size, variables, and typed input with its echo', async () => {
    const { terminal, until, text } = await start(bash)
    await until(/ready> $/)
    expect(text()).toBe('ready> ')
    await terminal.write('pwd; stty size; tty\n')
    await until(/dev\/pts\/\d+\r\nready> $/)
    expect(text()).toContain(`${rig.folder}\r\n24 80\r\n/dev/pts/`)
    terminal.resize(50, 132)
    await terminal.write('stty size\n')
    await until(/50 132/)
    await terminal.write('exit 3\n')
    expect(await terminal.done).toEqual({ exitCode: 3, signal: null })
    expect(terminal.output.readableEnded || terminal.output.writableEnded).toBe(true)
    await expect(terminal.write('x')).rejects.toThrow(/has ended/)
  })

  it('tells its foreground group, and signals it', async () => {
    const { terminal, until } = await start(bash)
    await until(/ready> $/)
    expect(await terminal.foreground()).toMatchObject({ processGroup: terminal.leader })
    await terminal.write('sleep 4801\n')
    while ((await terminal.foreground())?.processGroup === terminal.leader)
      await new Promise((resolve) => setTimeout(resolve, 10))
    const group = await terminal.signalForeground('SIGINT')
    expect(group).not.toBe(terminal.leader)
    await until(/ready> $/)
    await expect(terminal.signalForeground('SIGKILL')).rejects.toThrow(/not killed/)
  })

  it('knows a program that waits for input from one that works', async () => {
    const { terminal, until } = await start([
      'sh',
      '-c',
      'echo begun; read answer; echo "got $answer"; sleep 4802',
    ])
    await until(/begun/)
    while ((await terminal.foreground())?.inputWaiting !== true)
      await new Promise((resolve) => setTimeout(resolve, 10))
    await terminal.write('yes\n')
    await until(/got yes/)
    while ((await terminal.foreground())?.inputWaiting !== false)
      await new Promise((resolve) => setTimeout(resolve, 10))
  })

  it('drives a program that edits lines, answers questions and pages', async () => {
    const { terminal, until } = await start(['python3', '-q'])
    await until(/>>> $/)
    await terminal.write('6 * 7\n')
    await until(/42\r\n>>> $/)
    await terminal.write('name = input("who? ")\n')
    await until(/who\? $/)
    await terminal.write('Ada\n')
    await until(/>>> $/)
    await terminal.write('name\n')
    await until(/'Ada'/)
    await terminal.write('\u0004')
    expect(await terminal.done).toMatchObject({ exitCode: 0 })
  })
})

describe('ending a terminal', () => {
  it('ends its whole session: jobs in the background, stopped ones, and one that ignores everything', async () => {
    const { terminal, until } = await start(bash)
    await until(/ready> $/)
    await terminal.write('sleep 4803 & sh -c \'trap "" TERM HUP; echo deaf; while :; do sleep 1; done\' &\n')
    await until(/deaf/)
    await terminal.write('sleep 4803\n')
    while ((await terminal.foreground())?.processGroup === terminal.leader)
      await new Promise((resolve) => setTimeout(resolve, 10))
    await terminal.signalForeground('SIGTSTP')
    await until(/Stopped/)
    expect(sessionMembers(terminal.leader)).toBeGreaterThanOrEqual(4)
    await terminal.terminate()
    await terminal.terminate()
    expect(sessionMembers(terminal.leader)).toBe(0)
    expect((await terminal.done).signal ?? 'exit').not.toBe('')
  })

  it('that cannot begin says why', async () => {
    await expect(start(['no-such-program'])).rejects.toMatchObject({ reason: 'no-program' })
    await expect(start(bash, { folder: parseRemotePath('/no/such') })).rejects.toMatchObject({
      reason: 'no-folder',
    })
  })

  it('whose connection breaks is a lost link, and its session dies on the machine', async () => {
    const { terminal, until } = await start(bash)
    await until(/ready> $/)
    await rig.server.restart()
    await expect(terminal.done).rejects.toBeInstanceOf(LinkLostError)
    while (sessionMembers(terminal.leader) > 0) await new Promise((resolve) => setTimeout(resolve, 10))
    expect(terminal.output.writableEnded).toBe(true)
  })
})
