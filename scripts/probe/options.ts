/** What `npm run probe` can be told, and the sentences for what it cannot. */
import { parseArgs } from 'node:util'
import { UsageError } from '../start/options.ts'

export interface ProbeRequest {
  readonly machine: string
  readonly json: boolean
}

export const USAGE = `npm run probe -- NAME [options]

  connects to a machine of your SSH configuration as Presence would, without DSH, and tells what it finds.
  What the machine asks (an unknown host key, a passphrase, a password) is asked in this terminal.

  --json                 print one JSON object on standard output, and nothing else
  --help                 this text`

/** @throws UsageError with one sentence for a person. Undefined: only the usage is wanted. */
export function parseRequest(args: readonly string[]): ProbeRequest | undefined {
  const { values, positionals } = parse(args)
  if (values.help === true) return undefined
  const [machine, ...more] = positionals
  if (machine === undefined || machine === '') throw new UsageError('the name of a machine is needed')
  if (more.length > 0) throw new UsageError(`one machine at a time, not also ${more.join(', ')}`)
  return { machine, json: values.json === true }
}

interface Parsed {
  readonly values: { readonly json?: boolean; readonly help?: boolean }
  readonly positionals: readonly string[]
}

function parse(args: readonly string[]): Parsed {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
    })
  } catch (cause) {
    throw new UsageError((cause as Error).message, { cause })
  }
}
