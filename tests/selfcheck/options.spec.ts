/** What `npm run selfcheck` accepts, and what it says to the rest. */
import { expect, it } from 'vitest'
import { parseRequest } from '../../scripts/selfcheck/options.ts'
import { UsageError } from '../../scripts/start/options.ts'

it('takes a machine, a folder on it, and the wish for JSON', () => {
  expect(parseRequest(['--machine', 'demo'])).toEqual({ machine: 'demo', folder: undefined, json: false })
  expect(parseRequest(['--machine', 'box', '--path', '/srv', '--json'])).toEqual({
    machine: 'box',
    folder: '/srv',
    json: true,
  })
})

it('wants only the usage when asked for help', () => {
  expect(parseRequest(['--help'])).toBeUndefined()
})

it.each([
  [[], /--machine is needed/],
  [['--machine', ''], /--machine is needed/],
  [['--machine'], /--machine/],
  [['box'], /box/],
  [['--machine', 'box', '--path', 'srv'], /absolute path on the machine, not "srv"/],
  [['--machine', 'box', '--fast'], /--fast/],
])('refuses %j with a sentence that names what is wrong', (args, sentence) => {
  expect(() => parseRequest(args)).toThrow(UsageError)
  expect(() => parseRequest(args)).toThrow(sentence)
})
