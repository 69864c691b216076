/**
 * A connection over the standard streams of a local command (ssh_config(5), ProxyCommand). The command
 * lives exactly as long as the connection, and what it complains of is part of the connection's error.
 */
import { spawn, type ChildProcess, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { Duplex } from 'node:stream'
import { messageOf, systemCode } from '../../base/failure.ts'
import type { Carrier } from './carrier.ts'

/** Of what the command prints to standard error, the end is kept. */
const LONGEST_COMPLAINT = 2048
/** A command that has not ended by then, although its streams are closed, is killed. */
const GRACE_MS = 2000

export interface ProxyEnvironment {
  readonly env: NodeJS.ProcessEnv
  readonly platform: NodeJS.Platform
}

/** Start the command as `ssh` does, by the user's shell. What goes wrong shows on the stream and in `fate`. */
export function runProxyCommand(command: string, { env, platform }: ProxyEnvironment): Carrier {
  const child = platform === 'win32' ? underCmd(command, env) : underShell(command, env)
  let complaint = ''
  let ending: string | undefined
  child.stderr.setEncoding('utf8')
  child.stderr.on('data', (text: string) => {
    complaint = (complaint + text).slice(-LONGEST_COMPLAINT)
  })
  child.stderr.on('error', (_itIsOver) => undefined)
  const ended = new Promise<void>((resolve) => {
    child.once('error', (error) => {
      ending = `could not be started: ${messageOf(error)}`
      resolve()
    })
    // `close` and not `exit`: the complaint has been read to its end by then.
    child.once('close', (code, signal) => {
      ending ??= signal === null ? `ended with status ${code}` : `was ended by ${signal}`
      resolve()
    })
  })
  const stream = Duplex.from({ readable: child.stdout, writable: child.stdin })
  // The listener of the connection comes later, and goes with it; the stream may fail before and after.
  stream.on('error', (_toldByTheConnection) => undefined)
  let closing = false
  return {
    stream,
    address: `ProxyCommand ${command}`,
    ended,
    fate: () => {
      const words = complaint.trim()
      if (ending === undefined && words === '') return undefined
      return `the ProxyCommand ${ending ?? 'complains'}${words === '' ? '' : `: ${words}`}`
    },
    close: () => {
      if (closing) return
      closing = true
      stream.destroy()
      signalGroup(child, 'SIGHUP', platform)
      const last = setTimeout(() => signalGroup(child, 'SIGKILL', platform), GRACE_MS)
      void ended.then(() => clearTimeout(last))
    },
  }
}

function underShell(command: string, env: NodeJS.ProcessEnv): ChildProcessWithoutNullStreams {
  // A group of its own, so that all of a pipeline is ended; and no terminal that it could wait at.
  return spawn(env['SHELL'] ?? '/bin/sh', ['-c', `exec ${command}`], { env, detached: true, stdio: 'pipe' })
}

function underCmd(command: string, env: NodeJS.ProcessEnv): ChildProcessWithoutNullStreams {
  return spawn(env['ComSpec'] ?? 'cmd.exe', ['/d', '/s', '/c', `"${command}"`], {
    env,
    windowsHide: true,
    windowsVerbatimArguments: true,
    stdio: 'pipe',
  })
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals, platform: NodeJS.Platform): void {
  if (child.pid === undefined) return
  if (platform === 'win32') {
    child.kill(signal)
    return
  }
  try {
    process.kill(-child.pid, signal)
  } catch (error) {
    // It has ended by itself.
    if (systemCode(error) !== 'ESRCH') throw error
  }
}
