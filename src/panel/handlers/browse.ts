/** `browse` and `file`: looking at a machine's folders and files, without a workspace. */
import type { Api } from '../../wire/api.ts'
import type { Place } from '../port.ts'
import { hostName, remotePath, soleParameter } from '../validate.ts'
import type { Call, Handler } from './call.ts'

export const browseFolder: Handler<Api['GET browse']> = (call) => call.port.browse(placeOf(call), call.signal)

export const readFile: Handler<Api['GET file']> = (call) => call.port.readFile(placeOf(call), call.signal)

function placeOf({ query }: Call): Place {
  return { host: hostName(soleParameter(query, 'host')), path: remotePath(soleParameter(query, 'path')) }
}
