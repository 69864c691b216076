/** What `npm start` accepts, and what it says to the rest. */
import { describe, expect, it } from 'vitest'
import { parseOptions, UsageError } from '../../scripts/start/options.ts'

describe('parseOptions', () => {
  it('starts the page on a free port with the demo machine when told nothing', () => {
    expect(parseOptions([])).toEqual({ headless: false, port: 0, own: undefined, unconfined: false })
  })

  it("takes a machine of one's own together with the folder on it", () => {
    const options = parseOptions(['--headless', '--machine', 'box', '--path', '/srv/x', '--unconfined'])
    expect(options).toEqual({
      headless: true,
      port: 0,
      own: { alias: 'box', path: '/srv/x' },
      unconfined: true,
    })
  })

  it('wants only the usage when asked for help', () => {
    expect(parseOptions(['--help'])).toBeUndefined()
  })

  it.each([
    [['--nonsense'], /--nonsense/],
    [['extra'], /extra/],
    [['--port', 'many'], /"many"/],
    [['--port', '70000'], /0 to 65535/],
    [['--port'], /--port/],
    [['--machine', 'box'], /belong together/],
    [['--path', '/srv'], /belong together/],
    [['--machine', 'box', '--path', 'srv'], /absolute path on the machine, not "srv"/],
    [['--unconfined'], /machine of your own/],
  ])('refuses %j with a sentence that names what is wrong', (args, sentence) => {
    expect(() => parseOptions(args)).toThrow(UsageError)
    expect(() => parseOptions(args)).toThrow(sentence)
  })
})
