/**
 * Which public keys to offer and in which order, decided before the first offer. Servers cut off after a few
 * refusals (`MaxAuthTries`), so what the configuration names comes before what an agent merely holds.
 */
import { basename } from 'node:path'
import type { ParsedKey } from 'ssh2'
import { messageOf } from '../../base/failure.ts'
import type { AuthSettings } from '../config/settings.ts'
import { openAgent, AgentError, type Agent } from './agent.ts'
import { agentAddresses } from './agent-address.ts'
import { readKeyFile, type KeyFile } from './key-file.ts'
import { readPublicKey, samePublicKey, type PublicKey } from './public-key.ts'

export type EncryptedFile = Extract<KeyFile, { kind: 'encrypted' }>

/** Where the private half is. */
export type PrivateHalf =
  | { readonly kind: 'agent'; readonly agent: Agent; readonly blob: Buffer }
  | { readonly kind: 'file'; readonly key: ParsedKey }
  | { readonly kind: 'encrypted-file'; readonly file: EncryptedFile }

export interface Identity {
  readonly label: string
  /** What is offered: a key or a certificate; undefined for a file that tells only to its passphrase. */
  readonly publicKey: PublicKey | undefined
  readonly privateHalf: PrivateHalf
}

export interface Identities {
  readonly offers: readonly Identity[]
  /** What could not be used and why, for the message of a failed authentication. */
  readonly notes: readonly string[]
}

/** Offers that every server hears out: OpenSSH's `MaxAuthTries` is 6, and one try is left for another method. */
const SAFE_OFFERS = 5

export async function collectIdentities(
  settings: AuthSettings,
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform,
): Promise<Identities> {
  if (!settings.publicKey) return { offers: [], notes: [] }
  const notes: string[] = []
  const [agent, files, certificates] = await Promise.all([
    reachAgent(settings, env, platform, notes),
    Promise.all(settings.identityFiles.map(readKeyFile)),
    certificatesOf(settings, notes),
  ])
  const held = agent?.keys ?? []
  const inAgent = (key: PublicKey): PrivateHalf | undefined => {
    const found = held.find((one) => samePublicKey(one, key))
    return agent === undefined || found === undefined ? undefined : { kind: 'agent', agent, blob: found.blob }
  }

  const plain: Identity[] = []
  for (const file of files) {
    const publicKey = 'publicKey' in file ? file.publicKey : undefined
    const agentHalf = publicKey === undefined ? undefined : inAgent(publicKey)
    const half = agentHalf ?? ownHalf(file)
    if (half === undefined) noteUnusable(file, notes)
    else plain.push({ label: labelOf(file.path, half), publicKey, privateHalf: half })
  }
  const certified = certificates.flatMap(({ path, key }) => {
    const half = halfFor(key, plain, inAgent, held)
    if (half === undefined)
      notes.push(`certificate ${path}: its private key is in no key file and in no agent`)
    return half === undefined ? [] : [{ label: `${path} (certificate)`, publicKey: key, privateHalf: half }]
  })
  const named = [...certified, ...plain]
  const others: Identity[] =
    agent === undefined || settings.identitiesOnly
      ? []
      : held
          .filter(
            (key) => !named.some((one) => one.publicKey !== undefined && samePublicKey(one.publicKey, key)),
          )
          .map((key) => ({
            label: `${key.comment || key.type} (agent${key.certificate === undefined ? '' : ', certificate'})`,
            publicKey: key,
            privateHalf: { kind: 'agent', agent, blob: key.blob },
          }))
  if (settings.pkcs11Provider !== undefined) {
    notes.push(
      `PKCS11Provider ${settings.pkcs11Provider} is not supported: let an agent do it (ssh-add -s ${settings.pkcs11Provider})`,
    )
  }
  return { offers: inOrder(named, others), notes }
}

/**
 * Certificates and keys that ask nobody, then the agent's other keys, then those that may ask for a
 * passphrase. But so many other keys that the server would cut us off before come after those.
 */
function inOrder(named: readonly Identity[], others: readonly Identity[]): Identity[] {
  const silent = named.filter(({ privateHalf }) => privateHalf.kind !== 'encrypted-file')
  const asking = named.filter(({ privateHalf }) => privateHalf.kind === 'encrypted-file')
  const offerable = asking.filter(({ publicKey }) => publicKey !== undefined)
  const blind = asking.filter(({ publicKey }) => publicKey === undefined)
  const fits = silent.length + others.length + offerable.length <= SAFE_OFFERS
  return fits
    ? [...silent, ...others, ...offerable, ...blind]
    : [...silent, ...offerable, ...others, ...blind]
}

function ownHalf(file: KeyFile): PrivateHalf | undefined {
  switch (file.kind) {
    case 'usable':
      return { kind: 'file', key: file.key }
    case 'encrypted':
      return { kind: 'encrypted-file', file }
    default:
      return undefined
  }
}

function labelOf(path: string, half: PrivateHalf): string {
  return half.kind === 'agent' ? `${path} (agent)` : path
}

function noteUnusable(file: KeyFile, notes: string[]): void {
  switch (file.kind) {
    case 'unusable':
      notes.push(`key file ${file.path}: ${file.reason}`)
      return
    case 'public':
      notes.push(`key file ${file.path}: ${file.reason}, and no agent holds the private one (ssh-add)`)
      return
    case 'absent':
      // Those that `ssh` looks for unasked are absent on most computers.
      if (!/^id_(rsa|ecdsa|ecdsa_sk|ed25519|ed25519_sk|xmss|dsa)$/.test(basename(file.path))) {
        notes.push(`key file ${file.path} does not exist`)
      }
      return
    default:
      return
  }
}

interface CertificateFile {
  readonly path: string
  readonly key: PublicKey
}

/** Those that are configured; where none is, those that lie beside the keys (`<key>-cert.pub`). */
async function certificatesOf(settings: AuthSettings, notes: string[]): Promise<CertificateFile[]> {
  const configured = settings.certificateFiles
  const paths = configured.length > 0 ? configured : settings.identityFiles.map(besideKey)
  const read = await Promise.all(paths.map(async (path) => ({ path, file: await readPublicKey(path) })))
  return read.flatMap(({ path, file }) => {
    if (file.kind === 'public' && file.key.certificate !== undefined) return [{ path, key: file.key }]
    if (file.kind === 'unusable') notes.push(`certificate ${path}: ${file.reason}`)
    if (file.kind === 'public') notes.push(`certificate ${path}: it is a plain public key`)
    if (file.kind === 'absent' && configured.length > 0) notes.push(`certificate ${path} does not exist`)
    return []
  })
}

/** ssh_config(5), CertificateFile; a key that is named by its public half has its certificate there too. */
function besideKey(keyFile: string): string {
  return `${keyFile.replace(/\.pub$/, '')}-cert.pub`
}

/** A certificate signs with its plain key, from a file or an agent, or with the agent's own copy of itself. */
function halfFor(
  certificate: PublicKey,
  plain: readonly Identity[],
  inAgent: (key: PublicKey) => PrivateHalf | undefined,
  held: readonly PublicKey[],
): PrivateHalf | undefined {
  const blob = certificate.certificate?.plainBlob
  if (blob === undefined) return undefined
  const own = plain.find(({ publicKey }) => publicKey?.blob.equals(blob) === true)
  const heldPlain = held.find((key) => key.blob.equals(blob))
  return own?.privateHalf ?? (heldPlain === undefined ? inAgent(certificate) : inAgent(heldPlain))
}

async function reachAgent(
  settings: AuthSettings,
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform,
  notes: string[],
): Promise<Agent | undefined> {
  for (const { path, named } of agentAddresses(settings.agent, env, platform)) {
    try {
      return await openAgent(path, platform)
    } catch (error) {
      if (!(error instanceof AgentError)) throw error
      if (named) notes.push(`agent ${path}: ${messageOf(error)}`)
    }
  }
  return undefined
}
