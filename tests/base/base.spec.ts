import { describe, expect, it } from 'vitest'
import { CancelledError, PresenceError } from '../../src/base/failure.ts'
import { KeyedLock } from '../../src/base/keyed-lock.ts'
import { callerLeaves, diesWith, race } from '../../src/base/race.ts'
import { childOf, containsPath, joinRemote, parseRemotePath, segmentsOf } from '../../src/base/remote-path.ts'
import { SharedAttempt } from '../../src/base/shared-attempt.ts'

describe('a remote path', () => {
  it('is folded as the machine would read it, never as the local system would', () => {
    expect(parseRemotePath('/srv//app/./x/../y/')).toBe('/srv/app/y')
    expect(parseRemotePath('//srv')).toBe('/srv')
    expect(parseRemotePath('/..')).toBe('/')
    expect(joinRemote(parseRemotePath('/srv/app'), '../../../../etc')).toBe('/etc')
    expect(joinRemote(parseRemotePath('/srv'), '/abs')).toBe('/abs')
    expect(joinRemote(parseRemotePath('/srv'), 'C:\\x')).toBe('/srv/C:\\x')
    expect(childOf(parseRemotePath('/'), 'a')).toBe('/a')
    expect(segmentsOf(parseRemotePath('/'))).toEqual([])
  })

  it.each(['', '  ', 'srv', './srv', '/srv\0x'])('cannot be %j', (text) => {
    expect(() => parseRemotePath(text)).toThrow(/path/)
  })

  it('contains only what is below it, not what begins alike', () => {
    const root = parseRemotePath('/srv/app')
    expect(containsPath(root, parseRemotePath('/srv/app/x'))).toBe(true)
    expect(containsPath(root, root)).toBe(true)
    expect(containsPath(root, parseRemotePath('/srv/app2'))).toBe(false)
    expect(containsPath(parseRemotePath('/'), root)).toBe(true)
  })
})

describe('a race', () => {
  const never = (): Promise<never> => new Promise(() => undefined)

  it('ends with the caller, the link or the deadline, whichever comes first', async () => {
    const caller = new AbortController()
    const link = new AbortController()
    const ways = [...callerLeaves(caller.signal, 'a read'), diesWith(link.signal)]
    const waiting = race(never, ways)
    link.abort(new Error('link died'))
    await expect(waiting).rejects.toThrow('link died')
    caller.abort()
    await expect(race(never, callerLeaves(caller.signal, 'a read'))).rejects.toBeInstanceOf(CancelledError)
    await expect(race(never, [], { afterMs: 5, error: () => new Error('too late') })).rejects.toThrow(
      'too late',
    )
  })

  it('does not start what nobody waits for', async () => {
    const started: string[] = []
    const gone = AbortSignal.abort(new Error('gone'))
    await expect(race(async () => void started.push('x'), [diesWith(gone)])).rejects.toThrow('gone')
    expect(started).toEqual([])
  })

  it('turns a throw at the start into a rejection', async () => {
    const broken = (): Promise<void> => {
      throw new Error('at once')
    }
    await expect(race(broken, [])).rejects.toThrow('at once')
  })
})

describe('a shared attempt', () => {
  it('is one for all who wait, and is abandoned only when the last has left', async () => {
    let begun = 0
    let abandoned = 0
    const attempt = new SharedAttempt('test', async (signal) => {
      begun += 1
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      abandoned += 1
      throw new Error('abandoned')
    })
    const first = new AbortController()
    const second = new AbortController()
    const waiting = [attempt.join(first.signal), attempt.join(second.signal)]
    first.abort()
    await expect(waiting[0]).rejects.toBeInstanceOf(CancelledError)
    expect([begun, abandoned]).toEqual([1, 0])
    second.abort()
    await expect(waiting[1]).rejects.toBeInstanceOf(CancelledError)
    await Promise.resolve()
    expect([begun, abandoned]).toEqual([1, 1])
  })

  it('begins anew after a failure, and after everyone left the last one', async () => {
    let begun = 0
    const attempt = new SharedAttempt('test', async () => {
      begun += 1
      if (begun === 1) throw new PresenceError('no', 'refused')
      return begun
    })
    await expect(attempt.join()).rejects.toThrow('no')
    expect(await attempt.join()).toBe(2)
  })
})

describe('a keyed lock', () => {
  it('C46: runs one at a time for a key, in order, and keys side by side', async () => {
    const lock = new KeyedLock()
    const log: string[] = []
    const step = (key: string, name: string) => async (): Promise<void> => {
      log.push(`${name} in`)
      await new Promise((resolve) => setTimeout(resolve, 5))
      log.push(`${name} out`)
      if (name === 'a1') throw new Error(`${key} failed`)
    }
    const runs = [
      lock.run('a', step('a', 'a1')),
      lock.run('a', step('a', 'a2')),
      lock.run('b', step('b', 'b1')),
    ]
    await Promise.allSettled(runs)
    expect(log.indexOf('a2 in')).toBeGreaterThan(log.indexOf('a1 out'))
    expect(log.indexOf('b1 in')).toBeLessThan(log.indexOf('a1 out'))
    expect(lock.size).toBe(0)
  })
})
