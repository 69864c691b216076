/** What `npm start` can be told, and the sentences for what it cannot. */
import { parseArgs } from 'node:util'

export interface StartOptions {
  /** One checked turn instead of the page. */
  readonly headless: boolean
  /** Port of the page; 0: a free one. */
  readonly port: number
  /** A machine of the user's own configuration instead of the demo machine. */
  readonly own: { readonly alias: string; readonly path: string } | undefined
  /** Let commands run unconfined on a machine of one's own that has no confinement. */
  readonly unconfined: boolean
}

export const USAGE = `npm start [-- options]

  starts DSH with Presence in a page, with a demo machine to work on

  --headless             one agent turn without a page; every step is checked
  --port N               port of the page (default: a free one)
  --machine ALIAS        use this machine of your own SSH configuration instead …
  --path FOLDER          … with this folder on it as the workspace (absolute)
  --unconfined           … and run its commands unconfined if it cannot confine them
  --help                 this text`

export class UsageError extends Error {}

/** @throws UsageError with one sentence for a person. Undefined: only the usage is wanted. */
export function parseOptions(args: readonly string[]): StartOptions | undefined {
  const values = parse(args)
  if (values.help === true) return undefined
  if ((values.machine === undefined) !== (values.path === undefined)) {
    throw new UsageError('--machine and --path belong together: which folder on which machine')
  }
  if (values.path !== undefined && !values.path.startsWith('/')) {
    throw new UsageError(`--path must be an absolute path on the machine, not "${values.path}"`)
  }
  if (values.unconfined === true && values.machine === undefined) {
    throw new UsageError('--unconfined is for a machine of your own: give --machine and --path as well')
  }
  const { machine, path } = values
  return {
    headless: values.headless === true,
    port: parsePort(values.port),
    own: machine === undefined || path === undefined ? undefined : { alias: machine, path },
    unconfined: values.unconfined === true,
  }
}

interface Values {
  readonly headless?: boolean
  readonly port?: string
  readonly machine?: string
  readonly path?: string
  readonly unconfined?: boolean
  readonly help?: boolean
}

function parse(args: readonly string[]): Values {
  try {
    return parseArgs({
      args: [...args],
      options: {
        headless: { type: 'boolean' },
        port: { type: 'string' },
        machine: { type: 'string' },
        path: { type: 'string' },
        unconfined: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values
  } catch (cause) {
    throw new UsageError((cause as Error).message, { cause })
  }
}

function parsePort(text: string | undefined): number {
  if (text === undefined) return 0
  const port = Number(text)
  if (!/^\d+$/.test(text) || port > 65_535)
    throw new UsageError(`--port must be a number from 0 to 65535, not "${text}"`)
  return port
}
