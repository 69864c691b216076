/**
 * Machines that confine commands by one or another means, a folder to work in and things outside of it to
 * get at. What is tried in there is the test's; this owns the server, its accounts and what it cannot see.
 */
import { chmodSync, chownSync, linkSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseRemotePath, type RemotePath } from '../../src/base/remote-path.ts'
import type { Confiner } from '../../src/remote/capabilities.ts'
import { wrappedArgv } from '../../src/remote/confine.ts'
import { Machine } from '../../src/remote/machine.ts'
import { RemoteProcess, type Prepare, type ProcessRequest } from '../../src/remote/process/remote-process.ts'
import { RemoteTerminal } from '../../src/remote/process/terminal.ts'
import type { MachineSession } from '../../src/remote/session.ts'
import { inForegroundGroup } from '../../src/remote/shell/job-control.ts'
import type { DemoMachine } from '../../scripts/machine/machine.ts'
import { startOpenSsh } from '../../scripts/machine/openssh.ts'
import { findProgram } from '../../scripts/project/programs.ts'
import { makeAccounts, type Account } from './accounts.ts'
import { poolFor, settingsFor } from './rig.ts'
import { replacing } from '../../scripts/machine/hiding.ts'

/** `busybox`: namespaces by busybox's programs under its shell, which cannot show the account as itself. */
export type Means = 'bwrap' | 'namespaces' | 'busybox' | 'none'

const BUSYBOX = findProgram('busybox') ?? '/nonexistent/busybox'

/** What takes the place of the machine's programs. */
const VIEWS: Readonly<Record<Means, Readonly<Record<string, string>>>> = {
  bwrap: {},
  namespaces: { bwrap: '/dev/null' },
  busybox: { bwrap: '/dev/null', unshare: BUSYBOX, mount: BUSYBOX, umount: BUSYBOX, sh: BUSYBOX },
  none: { bwrap: '/dev/null', unshare: findProgram('false') ?? '/bin/false' },
}

export type Mode = 'read-only' | 'workspace-write'

export interface Ran {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export interface Confined {
  readonly session: MachineSession
  readonly machine: Machine
  /** The account that is logged in to, when it is not root. */
  readonly account: Account
  /** The workspace; there is a link `way-out` to `outside` in it, and a second name `twin` of its file `own`. */
  readonly workspace: string
  /** A folder of the same account beside the workspace, with a file `victim`. */
  readonly outside: string
  /** Where the login shell looks for its start files. */
  readonly home: string
  /** A file of another account that everybody may write to. */
  readonly stranger: string
  /** In the workspace, unless another folder is given, which is then the workspace. */
  start(mode: Mode, argv: readonly string[], change?: Partial<ProcessRequest>): RemoteProcess
  run(mode: Mode, script: string, change?: Partial<ProcessRequest>): Promise<Ran>
  terminal(mode: Mode, argv: readonly string[]): Promise<RemoteTerminal>
  /** Confines what else is started on the machine. */
  confine(mode: Mode): Prepare
  readonly server: DemoMachine
  stop(): Promise<void>
}

/** @param as - `root` logs in as root instead of an account of its own. */
export async function startConfined(means: Means, as: 'account' | 'root'): Promise<Confined> {
  const accounts = await makeAccounts({ own: '/bin/bash', other: '/bin/bash' })
  const { own, other } = accounts.of
  const server = await startOpenSsh({
    folder: join(accounts.folder, 'machine'),
    ...(as === 'root' ? {} : { user: own.name }),
    within: replacing(VIEWS[means]),
  }).catch(async (error: unknown) => {
    await accounts.remove()
    throw error
  })
  const pool = poolFor(() => settingsFor(server))
  const machine = new Machine(pool.connection(server.alias))
  const owner = as === 'root' ? { uid: 0, gid: 0 } : own
  const folder = realpathSync(own.home)
  const workspace = join(folder, 'work space')
  const outside = join(folder, 'outside')
  const stranger = join(other.home, 'open')
  for (const path of [workspace, outside]) mkdirSync(path)
  symlinkSync(outside, join(workspace, 'way-out'))
  writeFileSync(join(outside, 'victim'), 'untouched')
  writeFileSync(join(workspace, 'own'), '')
  linkSync(join(workspace, 'own'), join(workspace, 'twin'))
  for (const path of [workspace, outside, join(outside, 'victim'), join(workspace, 'own')])
    chownSync(path, owner.uid, owner.gid)
  other.write('open', 'untouched')
  chmodSync(stranger, 0o666)
  const root = parseRemotePath(workspace)
  const session = await machine.session()
  const base: Omit<ProcessRequest, 'argv'> = { folder: root, env: {}, input: 'none', graceMs: 1000 }
  const confine: Confined['confine'] =
    (mode) =>
    ({ shell }, request) => ({
      ...request,
      argv: wrapped(request.argv, mode, request.folder, shell),
    })
  const start: Confined['start'] = (mode, argv, change) =>
    new RemoteProcess(machine, { ...base, argv, ...change }, confine(mode))
  return {
    session,
    machine,
    account: own,
    workspace,
    outside,
    home: server.home,
    stranger,
    start,
    confine,
    server,
    run: async (mode, script, change) => {
      const process = start(mode, ['sh', '-c', script], change)
      const [out, err] = [process.stdout, process.stderr].map((stream) => {
        const chunks: Buffer[] = []
        stream.on('data', (chunk: Buffer) => chunks.push(chunk))
        return chunks
      })
      const { exitCode } = await process.done
      const text = (chunks: Buffer[] | undefined): string => Buffer.concat(chunks ?? []).toString()
      return { code: exitCode, out: text(out), err: text(err) }
    },
    terminal: (mode, argv) =>
      RemoteTerminal.start(
        machine,
        { argv, folder: root, env: {}, size: { type: 'dumb', rows: 24, cols: 80 }, graceMs: 1000 },
        (at, request) => {
          const within = inForegroundGroup(request.argv, at.requireShell())
          return Promise.resolve({ ...request, argv: wrapped(within, mode, root, at.shell) })
        },
      ),
    stop: async () => {
      pool.close()
      await server.stop()
      await accounts.remove()
    },
  }
}

function wrapped(
  argv: readonly string[],
  mode: Mode,
  root: RemotePath,
  shell: { readonly confiner: Confiner | undefined; readonly uid: number } | undefined,
): string[] {
  if (shell?.confiner === undefined) throw new Error('this machine can confine nothing')
  return wrappedArgv(argv, { mode, root }, shell.confiner, shell.uid)
}
