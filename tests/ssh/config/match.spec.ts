import { describe, expect, it } from 'vitest'
import { criteriaHold, readCriteria, type MatchSubject } from '../../../src/ssh/config/match.ts'
import { Workbench } from './workbench.ts'

const SUBJECT: MatchSubject = {
  host: 'real.example',
  originalHost: 'box',
  user: 'alice',
  localUser: 'me',
  tag: '',
  secondPass: false,
}

async function holds(line: string, subject: Partial<MatchSubject> = {}): Promise<boolean> {
  const criteria = readCriteria(line.split(' '))
  if ('problem' in criteria) throw new Error(criteria.problem)
  return criteriaHold(criteria, { ...SUBJECT, ...subject }, (command) => Promise.resolve(command === 'true'))
}

describe('criteria of newer versions', () => {
  it('know the tag', async () => {
    expect(await holds('tagged work*', { tag: 'work-1' })).toBe(true)
    expect(await holds('tagged work*')).toBe(false)
    expect(await holds('!tagged work*')).toBe(true)
  })

  it('know the networks this machine is on', async () => {
    expect(await holds('localnetwork 127.0.0.0/8')).toBe(true)
    expect(await holds('localnetwork 203.0.113.0/24,2001:db8::/32')).toBe(false)
    expect(await holds('localnetwork nonsense,127.0.0.1/99')).toBe(false)
  })

  it('know that there is no command and no OpenSSH', async () => {
    expect(await holds('!command *x*')).toBe(true)
    expect(await holds('sessiontype shell')).toBe(true)
    expect(await holds('version OpenSSH_*')).toBe(false)
  })

  it('take the tag that an earlier block has set', async () => {
    const bench = new Workbench()
    bench.write('config', 'Host box', '  Tag work', 'Match tagged work', '  Port 7')
    expect((await bench.own('box')).port).toBe(7)
    expect((await bench.own('other')).port).toBe(22)
  })
})

describe('criteria that mean nothing', () => {
  it.each(['', 'nonsense', 'host', 'user=', 'all host x', 'host a user b all', 'exec'])('%j', (line) => {
    expect(readCriteria(line.split(' ').filter((word) => word !== ''))).toHaveProperty('problem')
  })

  it('shut their block for everybody', async () => {
    const bench = new Workbench()
    bench.write('config', 'Match nonsense', '  Port 7', 'Match host', '  Port 8')
    expect((await bench.own('box')).port).toBe(22)
  })
})
