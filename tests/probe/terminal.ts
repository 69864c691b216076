/** A program in a pseudo-terminal of its own, with a person at it who reads before typing. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'

export interface Seat {
  /** Everything that the terminal has shown so far. */
  shown(): string
  /** Wait until this is shown, after what was waited for before; then type. */
  answer(prompt: string, typed: string): Promise<void>
  /** The exit code, once the program has ended. */
  ended(): Promise<number | null>
  stop(): void
}

/** `command` is a line for a shell. */
export function sitDown(command: string, env: NodeJS.ProcessEnv): Seat {
  const child = spawn('script', ['-qec', command, '/dev/null'], { env, stdio: ['pipe', 'pipe', 'inherit'] })
  const exit = once(child, 'exit') as Promise<[number | null]>
  let shown = ''
  let read = 0
  let look = (): void => undefined
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text
    look()
  })
  return {
    shown: () => shown,
    answer: async (prompt, typed) => {
      await new Promise<void>((resolve, reject) => {
        look = () => {
          const at = shown.indexOf(prompt, read)
          if (at < 0) return
          read = at + prompt.length
          resolve()
        }
        look()
        void exit.then(() => reject(new Error(`ended without "${prompt}":\n${shown}`)))
      })
      child.stdin.write(typed)
    },
    ended: async () => (await exit)[0],
    stop: () => void child.kill(),
  }
}
