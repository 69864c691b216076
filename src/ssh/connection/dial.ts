/**
 * The TCP socket under a connection. We make it ourselves because no-delay must be on before the first
 * byte: the transport writes each packet in pieces, and with Nagle's algorithm every one of them waits
 * for the server's delayed acknowledgement (measured: 44 ms a request on loopback, 411 ms a handshake
 * at 50 ms round trip).
 */
import { connect, isIP } from 'node:net'
import { messageOf, systemCode } from '../../base/failure.ts'
import { diesWith, race, type WayOut } from '../../base/race.ts'
import type { MachineSettings } from '../config/settings.ts'
import { ConnectError, type Stage } from '../errors.ts'
import type { Carrier } from './carrier.ts'
import { sendInBursts } from './in-bursts.ts'

const FAMILY = { any: 0, inet: 4, inet6: 6 } as const

/**
 * Open the socket.
 * @throws ConnectError `unreachable` at stage `dns` or `tcp`.
 */
export async function dial(
  settings: MachineSettings,
  ways: readonly WayOut[],
  enter: (stage: Stage) => void,
): Promise<Carrier> {
  enter(isIP(settings.host) === 0 ? 'dns' : 'tcp')
  const socket = connect({
    host: settings.host,
    port: settings.port,
    family: FAMILY[settings.addressFamily],
    ...(settings.bindAddress === undefined ? {} : { localAddress: settings.bindAddress }),
    noDelay: true,
    keepAlive: true,
  })
  socket.once('lookup', () => enter('tcp'))
  const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  const failed = new AbortController()
  const onError = (error: Error): void => failed.abort(unreachable(settings, error))
  socket.once('error', onError)
  try {
    await race(
      () => new Promise<void>((resolve) => socket.once('connect', () => resolve())),
      [...ways, diesWith(failed.signal)],
    )
    socket.off('error', onError)
    sendInBursts(socket)
    // The connection listens from when it is begun, which may be later; until then nothing may end the process.
    socket.on('error', (_seenAsClosed) => undefined)
    return {
      stream: socket,
      address: `${socket.remoteAddress ?? settings.host}:${socket.remotePort ?? settings.port}`,
      ended,
      fate: () => undefined,
      close: () => socket.destroy(),
    }
  } catch (error) {
    // Late errors of a socket that was given up must not end the process.
    socket.on('error', (_givenUp) => undefined)
    socket.destroy()
    throw error
  }
}

function unreachable(settings: MachineSettings, error: Error): ConnectError {
  const where = `${settings.host} port ${settings.port}`
  const dns = ['ENOTFOUND', 'EAI_AGAIN', 'ENODATA'].includes(systemCode(error) ?? '')
  const details = { machine: settings.alias, stage: dns ? ('dns' as const) : ('tcp' as const), cause: error }
  if (dns) return new ConnectError(`the name ${settings.host} cannot be resolved`, 'unreachable', details)
  switch (systemCode(error)) {
    case 'ECONNREFUSED':
      return new ConnectError(
        `connection refused by ${where} (is sshd running there?)`,
        'unreachable',
        details,
      )
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return new ConnectError(
        `no route to ${where} (network down, or this app is not allowed on the local network)`,
        'unreachable',
        details,
      )
    case 'ETIMEDOUT':
      return new ConnectError(`${where} does not answer`, 'connect-timeout', details)
    default:
      return new ConnectError(`cannot reach ${where}: ${messageOf(error)}`, 'unreachable', details)
  }
}
