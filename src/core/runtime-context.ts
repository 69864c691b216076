/**
 * What the model is told of its machine at each step: nothing in local sessions, and the same words as
 * long as nothing changes, so that it costs no tokens twice.
 */
import { placeTitle, type Place } from '../places/place.ts'
import { confinementOf } from '../remote/confine.ts'
import type { Presence } from './presence.ts'

const CONFINEMENT = {
  bwrap: 'commands are confined by bubblewrap on the machine (read-only and workspace-write modes)',
  'unconfined-by-switch': "commands run unconfined, by the machine's own switch",
  none: 'the machine has no confinement: commands need danger-full-access or an approval',
} as const

/** The text for a session's folder; empty for a local one. */
export function runtimeContext(presence: Presence, cwd: string | undefined): string {
  if (cwd === undefined) return ''
  const location = presence.mounts.locate(cwd)
  switch (location.world) {
    case 'local':
      return ''
    case 'unknown-machine':
      return `This session works on the remote machine "${location.machine}", which is not known any more: nothing can be done there until it is in the SSH configuration again.`
    case 'remote':
      return describe(presence, location.place, cwd)
  }
}

function describe(presence: Presence, place: Place, cwd: string): string {
  const machine = presence.machine(place.machine)
  const lines = [
    `This session works on the remote machine "${place.machine}" in ${place.path} (${placeTitle(place)}), over SSH.`,
    `All tools act there. ${cwd} is the local spelling of ${place.path}; both spellings work in paths, ` +
      `and other absolute paths mean paths of ${place.machine}.`,
  ]
  const session = machine.current
  if (session === undefined) {
    lines.push(`Link: ${machine.connection.state.kind === 'connecting' ? 'connecting' : 'not connected'}.`)
  } else {
    const { shell } = session
    const search = shell?.programs.rg === undefined ? 'none (use bash with grep and find)' : 'ripgrep'
    const confinement = confinementOf(shell, presence.machines.get(place.machine)?.unconfined === true)
    lines.push(`Link: connected. Search engine: ${search}. Confinement: ${CONFINEMENT[confinement]}.`)
  }
  return lines.join('\n')
}
