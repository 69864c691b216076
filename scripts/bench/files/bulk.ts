/** Large files moved as a whole, in rates. */
import { able } from './client.ts'
import { clocked, type Task } from './tasks.ts'

export interface Move extends Task {
  readonly mib: number
}

/** The longest text that Node can hold is a little shorter than 512 MiB. */
export const PULL_NEAR = pulling(512)
export const PUSH_NEAR = pushing(511)
export const PULL_FAR = pulling(64)
export const PUSH_FAR = pushing(64)

/** Both ways over a long line. */
export const FAR_MOVES = [
  { doing: 'fetched', direction: 'from', task: PULL_FAR },
  { doing: 'sent', direction: 'to', task: PUSH_FAR },
] as const

function pulling(mib: number): Move {
  return {
    what: `fetch ${mib} MiB`,
    needs: 'pull',
    mib,
    measure: async (client, ground) => {
      const large = await ground.large(mib)
      const into = ground.path()
      const comparison = large.comparison()
      const { ms, answer } = await clocked(async () => {
        const coming = await able(client, 'pull').pull(large.path, into)
        if (coming === undefined) return 'file'
        for await (const piece of coming) comparison.take(piece)
        return 'pieces'
      })
      if (answer === 'pieces') comparison.end()
      else await large.compareWith(into)
      await ground.remove(into)
      return ms
    },
  }
}

function pushing(mib: number): Move {
  return {
    what: `send ${mib} MiB`,
    needs: 'push',
    mib,
    measure: async (client, ground) => {
      const large = await ground.large(mib)
      const { text } = large
      const file = ground.path()
      const { ms } = await clocked(() => able(client, 'push').push(large.path, file, text))
      await large.compareWith(file)
      await ground.remove(file)
      return ms
    },
  }
}
