/** `presence_hosts`: the machines there are, what is known of each, and whether one answers. */
import { defineTool, type ToolDefinition } from '@deepseek-ai/dsh-tools'
import { messageOf } from '../base/failure.ts'
import type { KnownMachine } from '../core/machines.ts'
import type { Presence } from '../core/presence.ts'
import { inHostTerms } from '../host/errors.ts'
import { confinementOf } from '../remote/confine.ts'
import { shownName, textBlock } from './bounded.ts'
import type { ToolDeps } from './deps.ts'

const SEARCH = { rg: 'ripgrep', own: "Presence's own engine (no ripgrep there)", none: 'none' } as const

const CONNECT_MS = 60_000

export function hostsTool({ presence }: ToolDeps): ToolDefinition {
  return defineTool({
    name: 'presence_hosts',
    description:
      'List the remote machines that can be used over SSH, with address, connection state and workspaces. With host: connect to that one and tell what it has.',
    parameters: {
      host: { type: 'string', description: 'Connect to this machine and tell its facts.' },
    },
    output: {
      schema: {
        type: 'object',
        additionalProperties: false,
        properties: { text: { type: 'string', required: true } },
      },
      render: (_args, value) => textBlock(value.text),
    },
    timeoutMs: CONNECT_MS,
    isConcurrencySafe: () => true,
    presentCall: (args) => ({
      card: 'generic',
      kind: 'other',
      title: args.host === undefined ? 'Remote machines' : `Remote machine ${args.host}`,
    }),
    execute: (args, exec) =>
      inHostTerms(async () => {
        if (args.host === undefined) {
          const machines = presence.machines.list()
          const lines = await Promise.all(machines.map((machine) => summary(presence, machine)))
          const none = 'No machine is known: neither in the SSH configuration nor in machines.yml.'
          return {
            text: [...(lines.length === 0 ? [none] : lines), ...presence.machines.warnings].join('\n'),
          }
        }
        const known = presence.machines.get(args.host)
        if (known === undefined) throw presence.machines.unknown(args.host)
        await presence.machine(args.host).session(exec.signal)
        return { text: `${await summary(presence, known)}\n${facts(presence, known)}` }
      }),
  })
}

async function summary(presence: Presence, known: KnownMachine): Promise<string> {
  const { state } = presence.machine(known.name).connection
  const told =
    state.kind === 'failed' || state.kind === 'lost'
      ? `${state.kind}: ${state.reason}`
      : state.kind === 'connecting' || state.kind === 'asking'
        ? `${state.kind} (${state.hop === undefined ? '' : `jump host ${state.hop}, `}${state.stage})`
        : state.kind
  const folders = presence.workspaces.list().filter((record) => record.machine === known.name)
  const workspaces =
    folders.length === 0 ? '' : `; workspaces: ${folders.map((record) => shownName(record.path)).join(', ')}`
  return `${known.name}: ${await address(presence, known.name)}; ${told}${workspaces}`
}

async function address(presence: Presence, name: string): Promise<string> {
  try {
    const { user, host, port } = await presence.machines.preview(name)
    return `${user}@${host.includes(':') ? `[${host}]` : host}:${port}`
  } catch (error) {
    return messageOf(error)
  }
}

function facts(presence: Presence, known: KnownMachine): string {
  const session = presence.machine(known.name).current
  if (session === undefined) return 'The connection was lost again.'
  const { shell } = session
  const warnings = [...session.link.facts.warnings, ...session.capabilities.warnings]
  const files = session.sftpAvailable ? 'yes' : 'no'
  if (shell === undefined)
    return [`It runs no commands for this account. Files: ${files}.`, ...warnings].join('\n')
  const confinement = confinementOf(shell, known.unconfined)
  return [
    `${shell.os}, account ${shell.user}, home ${shell.home}`,
    `files (SFTP): ${files}; search: ${SEARCH[session.searchEngine]}; git: ${shell.programs.git === undefined ? 'no' : 'yes'}`,
    `confinement of commands: ${confinement}`,
    ...warnings,
  ].join('\n')
}
