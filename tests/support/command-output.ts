/** Running one command line through a login shell, for what it prints. */
import type { Exec } from '../../src/ssh/connection/link.ts'

export async function outputOf(exec: Exec, command: string): Promise<string> {
  const channel = await exec(command)
  let text = ''
  channel.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()))
  channel.stdin.end()
  await channel.exit
  await channel.closed
  return text
}
