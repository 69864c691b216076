/** Opening an encrypted key file: once for the whole process, with as many tries as `ssh` gives. */
import type { ParsedKey } from 'ssh2'
import { messageOf } from '../../base/failure.ts'
import type { MachineSettings } from '../config/settings.ts'
import type { AuthReport } from './auth-report.ts'
import type { EncryptedFile } from './identities.ts'
import { UnusableKeyError } from './key-file.ts'
import type { Person } from './person.ts'
import type { Secrets } from './secrets.ts'

/** @returns undefined when it stays locked; the report knows why. */
export function unlock(
  file: EncryptedFile,
  settings: MachineSettings,
  person: Person,
  secrets: Secrets,
  report: AuthReport,
): Promise<ParsedKey | undefined> {
  return secrets.unlocked(file.path, file.digest, () => askToUnlock(file, settings, person, report))
}

async function askToUnlock(
  file: EncryptedFile,
  { alias: machine, auth }: MachineSettings,
  person: Person,
  report: AuthReport,
): Promise<ParsedKey | undefined> {
  for (let attempt = 0; attempt < auth.passwordPrompts; attempt += 1) {
    const question = { kind: 'passphrase', machine, keyFile: file.path, retry: attempt > 0 } as const
    const [passphrase] = (await person.texts(question)) ?? []
    if (passphrase === undefined || passphrase === '') break
    try {
      const key = await file.unlock(passphrase)
      if (key !== undefined) return key
    } catch (error) {
      if (!(error instanceof UnusableKeyError)) throw error
      report.note(`key file ${file.path}: ${messageOf(error)}`)
      return undefined
    }
  }
  report.note(`key file ${file.path} is encrypted and was not unlocked (load it with ssh-add)`)
  return undefined
}
