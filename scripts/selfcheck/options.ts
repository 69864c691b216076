/** What `npm run selfcheck` can be told, and the sentences for what it cannot. */
import { parseArgs } from 'node:util'
import { UsageError } from '../start/options.ts'

export interface SelfcheckRequest {
  /** `demo`: the demo machine, started for this run. */
  readonly machine: string
  /** Folder on the machine to work in; undefined: the account's home. */
  readonly folder: string | undefined
  readonly json: boolean
}

export const DEMO = 'demo'

export const USAGE = `npm run selfcheck -- --machine NAME [options]

  examines Presence, installed in a DSH of its own, on one machine: in a fresh folder there, which is
  removed again. Ends with exit code 0 only when every check has passed.

  --machine NAME         a machine of your own SSH configuration, or "${DEMO}": a machine that is started
                         on this computer for the run
  --path FOLDER          where on the machine to make the fresh folder (default: the account's home)
  --json                 print the report as JSON, and nothing else
  --help                 this text`

/** @throws UsageError with one sentence for a person. Undefined: only the usage is wanted. */
export function parseRequest(args: readonly string[]): SelfcheckRequest | undefined {
  const { machine, path, json, help } = parse(args)
  if (help === true) return undefined
  if (machine === undefined || machine === '') {
    throw new UsageError(`--machine is needed: the name of a machine, or "${DEMO}"`)
  }
  if (path !== undefined && !path.startsWith('/')) {
    throw new UsageError(`--path must be an absolute path on the machine, not "${path}"`)
  }
  return { machine, folder: path, json: json === true }
}

interface Values {
  readonly machine?: string
  readonly path?: string
  readonly json?: boolean
  readonly help?: boolean
}

function parse(args: readonly string[]): Values {
  try {
    return parseArgs({
      args: [...args],
      options: {
        machine: { type: 'string' },
        path: { type: 'string' },
        json: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values
  } catch (cause) {
    throw new UsageError((cause as Error).message, { cause })
  }
}
