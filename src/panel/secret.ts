/**
 * The secret of one run of the host. A page of ours learns it from `GET session`, which no other
 * origin can read; it is never logged and dies with the process.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { SECRET_HEADER } from '../wire/api.ts'
import { RequestError } from './errors.ts'
import { soleHeader, type PanelRequest } from './request.ts'

export function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

/** @throws RequestError `forbidden` */
export function checkSecret(request: PanelRequest, secret: string): void {
  const given = soleHeader(request, SECRET_HEADER)
  // Digests have one length, so neither the time nor an exception tells how long the secret is.
  if (typeof given !== 'string' || !timingSafeEqual(digest(given), digest(secret))) {
    throw new RequestError(
      `Refused: the ${SECRET_HEADER} header must carry the secret of this run.`,
      'forbidden',
    )
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
