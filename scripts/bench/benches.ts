/** All benches. A new one is a file that exports a `Bench`, and a line here. */
import type { Bench } from './bench.ts'
import { commands } from './commands.ts'
import { connect } from './connect.ts'
import { files } from './files.ts'
import { references } from './references.ts'
import { tools } from './tools.ts'

export const BENCHES: readonly Bench[] = [connect, files, commands, tools, references]
