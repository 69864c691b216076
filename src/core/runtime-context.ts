/**
 * What the model is told of its machine at each step: nothing in local sessions, and the same words as
 * long as nothing changes, so that it costs no tokens twice.
 */
import type { Place } from '../places/place.ts'
import { confinementOf } from '../remote/confine.ts'
import type { MachineSession } from '../remote/session.ts'
import { SEAMS, type Presence } from './presence.ts'

const CONFINEMENT = {
  bwrap: 'by bubblewrap in read-only and workspace-write mode',
  namespaces: 'by user namespaces in read-only and workspace-write mode',
  'unconfined-by-switch': "none, by the machine's own switch",
  none: 'not available: commands need danger-full-access or an approval',
} as const

const SEARCH = {
  rg: 'ripgrep',
  own: "Presence's own, which answers as ripgrep does or says why it cannot",
  none: 'none, use commands',
} as const

const LINK: Readonly<Record<string, string>> = {
  connecting: 'connecting',
  asking: 'waiting for an answer of the user',
}

const SILENT = 'connected, but the machine does not answer just now'
/** What is shown of a command, in characters. */
const LONGEST_COMMAND = 80

/** The text for a session's folder; empty for a local one. */
export function runtimeContext(presence: Presence, cwd: string | undefined, session?: string): string {
  if (cwd === undefined) return ''
  const location = presence.mounts.locate(cwd)
  switch (location.world) {
    case 'local':
      return ''
    case 'unknown-machine':
      return `This session works on the remote machine "${location.machine}", which is not known any more. Nothing can be done there until it is in the SSH configuration again.`
    case 'remote':
      return [
        ...describe(presence, location.place, cwd),
        ...foundAgain(presence, session),
        ...unfollowed(presence, session),
      ].join('\n')
  }
}

function describe(presence: Presence, place: Place, cwd: string): string[] {
  const acting = SEAMS.every((seam) => presence.seams.has(seam))
    ? 'All tools act there, and absolute paths mean its paths.'
    : 'Only the presence_* tools act there; use them instead of the others.'
  return [
    `This session works on the remote machine "${place.machine}" over SSH, in ${place.path}. ${acting}`,
    `${cwd} is another spelling of that folder; both work.`,
    facts(presence, place.machine),
  ]
}

/** Jobs get new names when they are found again. */
function foundAgain(presence: Presence, session: string | undefined): string[] {
  const jobs = session === undefined ? [] : presence.jobs.foundAgain(session)
  if (jobs.length === 0) return []
  const list = jobs.map(({ name, command }) => `${name} (${shortened(command)})`).join(', ')
  return [`Background jobs of this session that were found again after a restart, with new ids: ${list}.`]
}

/** Of these the host's job tools say only that they run. */
function unfollowed(presence: Presence, session: string | undefined): string[] {
  const jobs = session === undefined ? [] : presence.jobs.unfollowed(session)
  return jobs.map(
    ({ command, reason }) =>
      `The background job (${shortened(command)}) cannot be followed until the user has connected again, and may still run there: ${reason}`,
  )
}

function shortened(command: string): string {
  const [line = ''] = command.split('\n')
  return line.length === command.length && line.length <= LONGEST_COMMAND
    ? line
    : `${line.slice(0, LONGEST_COMMAND)}…`
}

function facts(presence: Presence, name: string): string {
  const machine = presence.machine(name)
  const session = machine.current
  if (session === undefined) {
    return `Link: ${LINK[machine.connection.state.kind] ?? 'not connected'}.`
  }
  const link = machine.connection.state.kind === 'degraded' ? SILENT : 'connected'
  const { shell } = session
  if (shell === undefined) return `Link: ${link}. ${withoutCommands(session)} Files can be used.`
  const search = SEARCH[session.searchEngine]
  const confinement = confinementOf(shell, presence.machines.get(name)?.unconfined === true)
  return [
    `Link: ${link}; ${shell.os}, user ${shell.user}.`,
    `Search engine: ${search}.`,
    `Confinement of commands: ${CONFINEMENT[confinement]}.`,
  ].join(' ')
}

function withoutCommands({ capabilities }: MachineSession): string {
  return capabilities.commands.kind === 'none'
    ? 'This account runs no commands.'
    : 'Commands are off, because SFTP and the shell show different folders there.'
}
