import type { ExecChannel } from '../../ssh/channel/exec.ts'
import type { Exec, ExecOptions } from '../../ssh/connection/link.ts'
import type { Start } from './command-line.ts'

/** Run a script on a channel of its own; what is written to its input from here on is the script's. */
export async function openScript(
  exec: Exec,
  { commandLine, preamble }: Start,
  options: ExecOptions,
): Promise<ExecChannel> {
  const channel = await exec(commandLine, options)
  if (preamble !== '') channel.stdin.write(preamble)
  return channel
}
