/** Counts what goes to a machine while something is done: questions to its shell, and requests for files. */
import { vi } from 'vitest'
import { SftpChannel } from '../../../src/ssh/channel/sftp.ts'
import { HelperShell } from '../../../src/remote/shell/helper-shell.ts'

const REQUESTS = [
  'realpath',
  'stat',
  'lstat',
  'readlink',
  'openForReading',
  'beginReading',
  'createExclusively',
  'openFolder',
] as const

export interface Asked {
  readonly questions: number
  readonly requests: number
}

/** @param act - is run with everything really asked. */
export async function askedBy(act: () => Promise<unknown>): Promise<Asked> {
  const questions = vi.spyOn(HelperShell.prototype, 'run')
  const requests = REQUESTS.map((name) => vi.spyOn(SftpChannel.prototype, name))
  try {
    await act()
    const sum = requests.reduce((all, { mock }) => all + mock.calls.length, 0)
    return { questions: questions.mock.calls.length, requests: sum }
  } finally {
    for (const spy of [questions, ...requests]) spy.mockRestore()
  }
}
