/**
 * The program behind install-presence.sh and install-presence.ps1. It is run from the checkout as it
 * is, and bundled into one file beside the tarball when packing; so it imports Node's modules only.
 */
import { fileURLToPath } from 'node:url'
import { InstallError } from './install/failure.ts'
import { main } from './install/main.ts'
import { sourceOf } from './install/source.ts'
import { atTheEnd } from './project/endings.ts'

const running = main(process.argv.slice(2), process.env, sourceOf(fileURLToPath(import.meta.url))).catch(
  (error: unknown) => {
    const told = error instanceof InstallError
    console.error(told ? `install-presence: ${error.message}` : error)
    process.exitCode = told && error.reason === 'usage' ? 2 : 1
  },
)
// A signal ends what is running; the change that was under way is undone before this process goes.
atTheEnd({ release: () => running })
