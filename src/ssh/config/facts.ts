/**
 * What the local machine contributes to a configuration: who and where we are. Read once per use and
 * handed on, so that nothing below looks at the process itself.
 */
import { hostname, userInfo } from 'node:os'
import { systemCode } from '../../base/failure.ts'

export interface LocalFacts {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Home of the local user as the system knows it. `ssh` does not look at `HOME`, so neither do we. */
  readonly home: string
  readonly user: string
  /** Empty where the platform has no numeric user ID. */
  readonly uid: string
  readonly hostname: string
  readonly platform: NodeJS.Platform
}

export function localFacts(): LocalFacts {
  const { home, user, uid } = account()
  return { env: process.env, home, user, uid, hostname: hostname(), platform: process.platform }
}

function account(): { home: string; user: string; uid: string } {
  try {
    const { homedir: home, username, uid } = userInfo()
    return { home, user: username, uid: uid < 0 ? '' : String(uid) }
  } catch (error) {
    // Containers run under user IDs that have no entry in the user database.
    if (systemCode(error) !== 'ERR_SYSTEM_ERROR') throw error
    const uid = process.getuid?.()
    return {
      home: process.env['HOME'] ?? '/',
      user: process.env['USER'] ?? process.env['USERNAME'] ?? '',
      uid: String(uid ?? ''),
    }
  }
}
