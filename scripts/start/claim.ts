/** One `npm start` at a time per checkout: they share the demo machine's folder and the DSH home. */
import { mkdir, open, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { atTheEnd } from '../project/endings.ts'

/** @throws naming the process that has the folder, when one does. */
export async function claim(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  const file = join(folder, 'running')
  for (;;) {
    const claimed = await open(file, 'wx').catch((failure: NodeJS.ErrnoException) => {
      if (failure.code === 'EEXIST') return undefined
      throw failure
    })
    if (claimed !== undefined) {
      await claimed.write(String(process.pid))
      await claimed.close()
      atTheEnd({ release: () => rm(file, { force: true }) })
      return
    }
    const owner = Number(await readFile(file, 'utf8'))
    if (isAlive(owner)) {
      throw new Error(`another npm start of this checkout is running (process ${owner}); end it first`)
    }
    await rm(file, { force: true })
  }
}

function isAlive(pid: number): boolean {
  // 0 would ask about this process's own group: an owner that died before it wrote its number.
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    return process.kill(pid, 0)
  } catch (failure) {
    return (failure as NodeJS.ErrnoException).code === 'EPERM'
  }
}
