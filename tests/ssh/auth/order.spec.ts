import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DemoMachine } from '../../../scripts/machine/machine.ts'
import { startAgent, type TestAgent } from '../../support/auth-agent.ts'
import { AuthBench, person } from '../../support/auth-bench.ts'
import { copyKey, makeKey, publicLine } from '../../support/auth-keys.ts'

const bench = new AuthBench()
let server: DemoMachine
let right: string
/** Holds seven keys of strangers and last the right one. */
let crowded: TestAgent
/** Holds eight keys of strangers. */
let strangers: TestAgent

beforeAll(async () => {
  right = makeKey(bench.folder, 'right')
  const keys = Array.from({ length: 8 }, (_, index) => makeKey(bench.folder, `stranger-${index}`))
  strangers = bench.keep(await startAgent(bench.path('strangers')))
  strangers.add(...keys)
  crowded = bench.keep(await startAgent(bench.path('crowded')))
  crowded.add(...keys.slice(0, 7), right)
  writeFileSync(bench.path('authorized'), `${publicLine(right)}\n`)
  server = await bench.sshd(['MaxAuthTries 6', `AuthorizedKeysFile ${bench.path('authorized')}`])
})
afterAll(() => bench.close())

describe('offers within what a server tolerates', () => {
  it.each([true, false])(
    'F25: the configured key is found among eight in the agent, with IdentitiesOnly %s',
    async (identitiesOnly) => {
      const auth = { identityFiles: [right], identitiesOnly }
      expect(await bench.method(server, { auth, env: crowded.env })).toBe(`publickey ${right} (agent)`)
      expect(await bench.method(server, { auth, env: strangers.env })).toBe(`publickey ${right}`)
    },
  )

  it('F25: the configured key is found by its public half alone', async () => {
    const alone = bench.path('only-public')
    writeFileSync(`${alone}.pub`, `${publicLine(right)}\n`)
    const auth = { identityFiles: [alone], identitiesOnly: false }
    expect(await bench.method(server, { auth, env: crowded.env })).toBe(`publickey ${alone} (agent)`)
  })

  it('F25: an encrypted key is offered before the many others of an agent, and after a few', async () => {
    const locked = makeKey(bench.folder, 'locked', { passphrase: 'open sesame' })
    const file = bench.path('authorized-locked')
    const few = bench.keep(await startAgent(bench.path('few')))
    few.add(right)
    writeFileSync(file, `${publicLine(locked)}\n${publicLine(right)}\n`)
    const both = await bench.sshd(['MaxAuthTries 6', `AuthorizedKeysFile ${file}`])
    const { asked, answer } = person('open sesame')
    const auth = { identityFiles: [locked], identitiesOnly: false }
    expect(await bench.method(both, { auth, answer, env: few.env })).toBe('publickey right (agent)')
    expect(asked).toEqual([])
    expect(await bench.method(both, { auth, answer, env: strangers.env })).toBe(`publickey ${locked}`)
    expect(asked).toHaveLength(1)
  })

  it('F26: with IdentitiesOnly nothing but the configured keys is offered', async () => {
    const alone = bench.path('only-public-26')
    writeFileSync(`${alone}.pub`, `${publicLine(right)}\n`)
    const auth = { identityFiles: [alone], identitiesOnly: true }
    expect(await bench.method(server, { auth, env: crowded.env })).toBe(`publickey ${alone} (agent)`)
    const stranger = copyKey(bench.path('stranger-0'), bench.path('stranger-copy'))
    const failure = await bench.failure(server, {
      auth: { identityFiles: [stranger], identitiesOnly: true },
      env: crowded.env,
    })
    expect(failure.message).toContain(`tried: publickey ${stranger} (agent); `)
  })

  it('keys are offered in the order of the configuration', async () => {
    const [first, second] = [bench.path('stranger-1'), bench.path('stranger-2')]
    const failure = await bench.failure(server, { auth: { identityFiles: [second, first] } })
    expect(failure.message).toContain(`tried: publickey ${second}, publickey ${first}; `)
  })

  it('a server that cuts off after too many is an error that says so, and what to do', async () => {
    const auth = { identityFiles: [], identitiesOnly: false }
    const failure = await bench.failure(server, { auth, env: crowded.env })
    expect(failure).toMatchObject({ code: 'auth-failed', stage: 'auth' })
    expect(failure.message).toMatch(/ended the connection.*too many failures.*stranger-5 \(agent\)/)
    expect(failure.message).toMatch(/IdentityFile.*IdentitiesOnly yes/)
  })
})
