/**
 * Which public keys to offer and in which order, decided before the first offer: keys of the
 * configuration that the agent holds, then key files, then the agent's other keys, and last the files
 * that need a passphrase. Servers cut off after a few refusals (`MaxAuthTries`), so order matters.
 */
import type { ParsedKey } from 'ssh2'
import { messageOf } from '../../base/failure.ts'
import type { AuthSettings } from '../config/settings.ts'
import { agentPath, openAgent, sameKey, type Agent } from './agent.ts'
import { readKeyFile, readPublicKeyFile } from './key-file.ts'

export type Identity =
  | { readonly kind: 'agent'; readonly agent: Agent; readonly key: ParsedKey; readonly label: string }
  | { readonly kind: 'file'; readonly key: ParsedKey; readonly label: string }
  | { readonly kind: 'encrypted-file'; readonly path: string; readonly label: string }

export interface Identities {
  readonly offers: readonly Identity[]
  /** What could not be used and why, for the message of a failed authentication. */
  readonly notes: readonly string[]
}

export async function collectIdentities(
  settings: AuthSettings,
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform,
): Promise<Identities> {
  const notes: string[] = []
  const agent = await reachAgent(settings, env, platform, notes)
  const files = await Promise.all(
    settings.identityFiles.map(async (path) => ({
      path,
      file: await readKeyFile(path),
      publicKey: await readPublicKeyFile(path),
    })),
  )
  const held = (key: ParsedKey | undefined): ParsedKey | undefined =>
    key === undefined ? undefined : agent?.keys.find((candidate) => sameKey(candidate, key))

  const configuredInAgent: Identity[] = []
  const readable: Identity[] = []
  const encrypted: Identity[] = []
  for (const { path, file, publicKey } of files) {
    const own = file.kind === 'usable' ? file.key : publicKey
    const inAgent = held(own)
    if (agent !== undefined && inAgent !== undefined) {
      configuredInAgent.push({ kind: 'agent', agent, key: inAgent, label: `${path} (agent)` })
    } else if (file.kind === 'usable') {
      readable.push({ kind: 'file', key: file.key, label: path })
    } else if (file.kind === 'encrypted') {
      encrypted.push({ kind: 'encrypted-file', path, label: path })
    } else if (file.kind === 'unusable') {
      notes.push(`key file ${path}: ${file.reason}`)
    }
  }
  const named = new Set(
    configuredInAgent.map((identity) => (identity.kind === 'agent' ? identity.key : undefined)),
  )
  const othersInAgent: Identity[] =
    agent === undefined || settings.identitiesOnly
      ? []
      : agent.keys
          .filter((key) => !named.has(key))
          .map((key) => ({ kind: 'agent', agent, key, label: `${key.comment || key.type} (agent)` }))
  return { offers: [...configuredInAgent, ...readable, ...othersInAgent, ...encrypted], notes }
}

async function reachAgent(
  settings: AuthSettings,
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform,
  notes: string[],
): Promise<Agent | undefined> {
  const path = agentPath(settings.agent, env, platform)
  if (path === undefined) return undefined
  try {
    return await openAgent(path)
  } catch (error) {
    notes.push(`agent ${path}: ${messageOf(error)}`)
    return undefined
  }
}
