/**
 * Why an account that has files runs no commands: its login shell as the machine's own list of accounts has
 * it, which can be read over SFTP. A label for a person; nothing depends on it.
 */
import { PresenceError } from '../base/failure.ts'
import type { SftpChannel } from '../ssh/channel/sftp.ts'
import { refuses } from './shell/login-shell.ts'

const LONGEST_LIST = 256 * 1024
const PIECE = 32 * 1024

/** @returns true when the account is known to have a login shell that refuses everybody. */
export async function hasNoLogin(
  sftp: SftpChannel | undefined,
  user: string,
  said: string,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  // The words of the shell that most systems have for this; others are not recognised by them.
  if (/account is currently not available/i.test(said)) return true
  if (sftp === undefined) return false
  try {
    const line = (await accounts(sftp, signal)).split('\n').find((one) => one.startsWith(`${user}:`))
    return line !== undefined && refuses(line.slice(line.lastIndexOf(':') + 1))
  } catch (error) {
    // Not to be read there: then it is not known.
    if (error instanceof PresenceError && error.family !== 'cancelled') return false
    throw error
  }
}

async function accounts(sftp: SftpChannel, signal: AbortSignal | undefined): Promise<string> {
  const handle = await sftp.openForReading('/etc/passwd', signal)
  const parts: Buffer[] = []
  try {
    for (let at = 0; at < LONGEST_LIST;) {
      const part = await sftp.read(handle, at, PIECE, signal)
      if (part.length === 0) break
      parts.push(part)
      at += part.length
    }
  } finally {
    sftp.close(handle).catch((_onlyTheHandleIsLost: unknown) => undefined)
  }
  return Buffer.concat(parts).toString('utf8')
}
