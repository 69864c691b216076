import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Prompt } from 'ssh2'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { DemoMachine } from '../../scripts/machine/machine.ts'
import { startOpenSsh } from '../../scripts/machine/openssh.ts'
import { harmless } from '../../scripts/probe/harmless.ts'
import { ROOT } from '../../scripts/project/checkout.ts'
import { startDance, type DanceFloor } from '../support/auth-dance.ts'
import { sitDown, type Seat } from './terminal.ts'

let folder = ''
let partner: DemoMachine
const open: { close?(): unknown; stop?(): unknown }[] = []

beforeAll(async () => {
  folder = mkdtempSync('/var/tmp/presence-interactive-')
  partner = await startOpenSsh({ folder: join(folder, 'machine') })
})
afterEach(async () => {
  for (const one of open.splice(0)) await (one.close ?? one.stop)?.call(one)
})
afterAll(async () => {
  await partner.stop()
  rmSync(folder, { recursive: true, force: true })
})

interface Round {
  readonly name: string
  readonly instructions: string
  readonly prompts: Prompt[]
}

/** A server that asks these rounds and lets everybody in who sits them out; what was answered is kept. */
async function asking(rounds: readonly Round[]): Promise<DanceFloor & { answers: (readonly string[])[] }> {
  const answers: (readonly string[])[] = []
  const floor = await startDance(partner, () => (context) => {
    if (context.method !== 'keyboard-interactive') return void context.reject(['keyboard-interactive'])
    const next = (at: number): void => {
      const round = rounds[at]
      if (round === undefined) return void context.accept()
      context.prompt(round.prompts, round.name, round.instructions, (given) => {
        answers.push(given)
        next(at + 1)
      })
    }
    next(0)
  })
  open.push(floor)
  return Object.assign(floor, { answers })
}

function sit(floor: DanceFloor): Seat {
  const config = join(folder, 'config')
  const lines = {
    HostName: '127.0.0.1',
    Port: floor.machine.port,
    User: 'ann',
    IdentityFile: 'none',
    IdentityAgent: 'none',
    UserKnownHostsFile: '/dev/null',
    GlobalKnownHostsFile: '/dev/null',
    StrictHostKeyChecking: 'accept-new',
  }
  writeFileSync(
    config,
    ['Host box', ...Object.entries(lines).map(([key, value]) => `  ${key} ${value}`), ''].join('\n'),
  )
  const argv = [process.execPath, join(ROOT, 'scripts/probe.ts'), 'box']
  const seat = sitDown(argv.join(' '), { ...process.env, PRESENCE_SSH_CONFIG: config, TERM: 'dumb' })
  open.push(seat)
  return seat
}

const hidden = (prompt: string): Prompt => ({ prompt, echo: false })
const shown = (prompt: string): Prompt => ({ prompt, echo: true })

describe("a server's own prompts in the terminal", () => {
  it('are answered one by one, shown or hidden as the server wishes, under its name and instructions', async () => {
    const floor = await asking([
      {
        name: 'Two-factor login',
        instructions: '1. Push\n2. Code',
        prompts: [hidden('Password: '), shown('Choose: ')],
      },
      { name: '', instructions: '', prompts: [hidden('Code: ')] },
    ])
    const seat = sit(floor)
    await seat.answer('box says:', '')
    await seat.answer('  Two-factor login', '')
    await seat.answer('  2. Code', '')
    await seat.answer('(ann on box) Password: ', 'correct-horse-7\r')
    await seat.answer('(ann on box) Choose: ', '2\r')
    await seat.answer('(ann on box) Code: ', '998877\r')
    await expect.poll(() => floor.answers.length).toBe(2)
    expect(floor.answers).toEqual([['correct-horse-7', '2'], ['998877']])
    expect(seat.shown()).toContain('Choose: 2')
    expect(seat.shown()).not.toContain('correct-horse')
    expect(seat.shown()).not.toContain('998877')
  })

  it('may be answered with nothing, and left unanswered by ending the input', async () => {
    const floor = await asking([
      { name: '', instructions: '', prompts: [shown('Press Enter: '), shown('Go on: ')] },
    ])
    const seat = sit(floor)
    await seat.answer('Press Enter: ', '\r')
    await seat.answer('Go on: ', '\u0004')
    expect(await seat.ended()).toBe(1)
    expect(floor.answers).toEqual([])
    expect(seat.shown()).toContain('(auth-failed)')
    expect(seat.shown()).toContain('no answer was given for what the server asks')
  })

  it('of a hostile server cannot move the cursor, hide what they say, or pass for ours', async () => {
    const floor = await asking([
      {
        name: '\u001b[2J\u001b[HPassphrase of the key /root/.ssh/id: ',
        instructions: '\u001b]0;title\u0007\u202eback\rwards',
        prompts: [hidden('\u001b[8m\u009b31mPassphrase of the key x: ')],
      },
    ])
    const seat = sit(floor)
    await seat.answer('(ann on box) ␛[8m\ufffd31mPassphrase of the key x: ', '\u0004')
    await seat.ended()
    expect(seat.shown()).not.toMatch(/[\u001b\u0007\u009b\u202e]/)
    expect(seat.shown()).toContain('  ␛[2J␛[HPassphrase of the key /root/.ssh/id:')
  })
})

describe('harmless text', () => {
  it.each([
    ['plain text, ünïcödé and 汉字', 'plain text, ünïcödé and 汉字'],
    ['two\r\nlines\tand a tab', 'two\nlines\tand a tab'],
    ['a\u0000b\u0008c\u007fd', 'a␀b␈c␡d'],
    ['\u200eleft\u2066isolate\u2028line', '\ufffdleft\ufffdisolate\ufffdline'],
  ])('of %j is %j', (text, safe) => {
    expect(harmless(text)).toBe(safe)
  })

  it('is never longer than a person would read', () => {
    expect(harmless('x'.repeat(100_000)).length).toBeLessThan(5000)
  })
})
