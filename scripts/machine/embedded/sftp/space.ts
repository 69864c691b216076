/** The answer to `statvfs@openssh.com`: eleven 64-bit numbers (OpenSSH's PROTOCOL file, section 4.4). */
import { constants } from 'node:fs'
import { access, statfs } from 'node:fs/promises'
import { uint64 } from './wire.ts'

/** Node tells neither of these; Linux has the same for every file system in common use. */
const LONGEST_NAME = 255
const READ_ONLY = 1

export async function spaceOf(path: Buffer): Promise<Buffer> {
  const fs = await statfs(path)
  const numbers = [
    fs.bsize,
    fs.bsize,
    fs.blocks,
    fs.bfree,
    fs.bavail,
    fs.files,
    fs.ffree,
    fs.ffree,
    fs.type,
    (await isReadOnly(path)) ? READ_ONLY : 0,
    LONGEST_NAME,
  ]
  return Buffer.concat(numbers.map((value) => uint64(value)))
}

async function isReadOnly(path: Buffer): Promise<boolean> {
  const refusal = await access(path, constants.W_OK).catch((failure: unknown) => failure)
  return (refusal as NodeJS.ErrnoException | undefined)?.code === 'EROFS'
}
