/**
 * The decision about one presented host key: what the known_hosts files say of it, judged by
 * StrictHostKeyChecking's policy, and by a person where the policy says `ask`.
 */
import { messageOf } from '../../base/failure.ts'
import type { HostKeyPolicy, MachineSettings } from '../config/settings.ts'
import { ConnectError } from '../errors.ts'
import type { Answer, Question } from '../questions.ts'
import { describeKey, type KeyDescription } from './fingerprint.ts'
import type { KeyTarget } from './known-hosts.ts'
import { RememberKeyError, rememberKey } from './remember.ts'
import { judgeKey, type Verdict } from './verdict.ts'

export interface TrustedKey {
  readonly key: KeyDescription
  /**
   * False when the policy lets a key pass that contradicts what is known: like `ssh`, we then connect but
   * type no password into a machine that may be another's.
   */
  readonly secretsAllowed: boolean
  /** What a person should hear, e.g. that an accepted key could not be written down. */
  readonly warnings: readonly string[]
}

/** Where a machine's key is looked up and written. */
export function keyTargetOf(settings: MachineSettings): KeyTarget {
  const { alias } = settings.hostKeys
  return { host: settings.host, port: settings.port, ...(alias === undefined ? {} : { alias }) }
}

/**
 * Return when the connection may go on.
 * @throws ConnectError `host-key-unknown`, `host-key-changed` or `host-key-revoked`.
 */
export async function checkHostKey(
  blob: Uint8Array,
  settings: MachineSettings,
  ask: (question: Question) => Promise<Answer>,
): Promise<TrustedKey> {
  const { hostKeys } = settings
  const key = describeKey(blob)
  const files = { user: hostKeys.userFiles, global: hostKeys.globalFiles }
  const verdict = await judgeKey(blob, keyTargetOf(settings), files)
  switch (verdict.kind) {
    case 'known':
      return { key, secretsAllowed: true, warnings: [] }
    case 'revoked': {
      const where = `${verdict.file}:${verdict.line}`
      throw refuse(settings, 'host-key-revoked', `its ${key.type} key ${key.sha256} is revoked by ${where}`)
    }
    case 'changed':
      if (checksNothing(hostKeys.policy)) return unverified(key, changedText(settings, key, verdict))
      throw refuse(settings, 'host-key-changed', changedText(settings, key, verdict))
    case 'new-type':
      if (checksNothing(hostKeys.policy)) return unverified(key, newTypeText(settings, key, verdict))
      // An attacker has only to show another type of key: nobody but a person may accept it.
      if (hostKeys.policy === 'accept-new') {
        throw refuse(settings, 'host-key-changed', newTypeText(settings, key, verdict))
      }
      return accept(blob, key, verdict, settings, ask)
    case 'unknown':
      return accept(blob, key, verdict, settings, ask)
  }
}

/** A key that nothing contradicts: by the policy, or by a person, and then written down. */
async function accept(
  blob: Uint8Array,
  key: KeyDescription,
  verdict: Extract<Verdict, { kind: 'unknown' | 'new-type' }>,
  settings: MachineSettings,
  ask: (question: Question) => Promise<Answer>,
): Promise<TrustedKey> {
  const { hostKeys } = settings
  if (hostKeys.policy === 'ask' && !settings.auth.batchMode) {
    const answer = await ask({
      kind: 'host-key',
      machine: settings.alias,
      keyType: key.type,
      fingerprint: key.sha256,
      otherTypesKnown: verdict.kind === 'new-type',
    })
    if (answer.kind === 'no') {
      throw refuse(settings, 'host-key-unknown', `its ${key.type} key ${key.sha256} was not accepted`)
    }
    if (answer.kind !== 'yes') throw unaccepted(settings, key, verdict)
  } else if (hostKeys.policy === 'yes' || hostKeys.policy === 'ask') {
    throw unaccepted(settings, key, verdict)
  } else if (verdict.unreadable.length > 0) {
    // What cannot be read may hold another key of this host: no policy accepts unseen.
    throw unaccepted(settings, key, verdict)
  }
  const file = hostKeys.userFiles[0]
  if (file === undefined) return { key, secretsAllowed: true, warnings: [] }
  try {
    await rememberKey(blob, keyTargetOf(settings), { file, hashed: hostKeys.hashed })
    return { key, secretsAllowed: true, warnings: [] }
  } catch (error) {
    if (!(error instanceof RememberKeyError)) throw error
    // Accepted is accepted; it will only be asked again.
    return { key, secretsAllowed: true, warnings: [`its key could not be written down: ${messageOf(error)}`] }
  }
}

/** Nobody accepted it. What only a person may accept is told as what `ssh` takes it for: a changed key. */
function unaccepted(
  settings: MachineSettings,
  key: KeyDescription,
  verdict: Extract<Verdict, { kind: 'unknown' | 'new-type' }>,
): ConnectError {
  return verdict.kind === 'new-type'
    ? refuse(settings, 'host-key-changed', newTypeText(settings, key, verdict))
    : refuse(settings, 'host-key-unknown', unknownText(settings, key, verdict))
}

function checksNothing(policy: HostKeyPolicy): boolean {
  return policy === 'no' || policy === 'off'
}

function unverified(key: KeyDescription, warning: string): TrustedKey {
  return { key, secretsAllowed: false, warnings: [warning] }
}

function unknownText(
  settings: MachineSettings,
  key: KeyDescription,
  verdict: Extract<Verdict, { kind: 'unknown' }>,
): string {
  const files = settings.hostKeys.userFiles.join(', ') || 'no known_hosts file'
  const unreadable =
    verdict.unreadable.length === 0 ? '' : ` (${verdict.unreadable.join(', ')} could not be read)`
  return (
    `its host key is not known: ${key.type} ${key.sha256}, looked up in ${files}${unreadable}. ` +
    `Compare the fingerprint with the machine's own, then accept it once in a terminal: ${acceptingCommand(settings)}`
  )
}

/** A command that asks for the same key and writes it where we look for it, whatever the configuration. */
function acceptingCommand(settings: MachineSettings): string {
  const { userFiles, alias, policy } = settings.hostKeys
  const options = [
    ...(policy === 'yes' ? ['-o StrictHostKeyChecking=ask'] : []),
    ...(userFiles[0] === undefined ? [] : [`-o UserKnownHostsFile="${userFiles[0]}"`]),
    ...(alias === undefined ? [] : [`-o HostKeyAlias=${alias}`]),
    ...(settings.port === 22 ? [] : [`-p ${settings.port}`]),
  ]
  return ['ssh', ...options, `${settings.user}@${settings.host}`].join(' ')
}

function changedText(
  settings: MachineSettings,
  key: KeyDescription,
  verdict: Extract<Verdict, { kind: 'changed' }>,
): string {
  return (
    `ITS HOST KEY HAS CHANGED: it presents ${key.type} ${key.sha256}, but ${verdict.file}:${verdict.line} ` +
    `holds ${verdict.expected.type} ${verdict.expected.sha256}. Somebody may be impersonating ` +
    `${settings.host}. If the change is known to be right, remove that line and connect again`
  )
}

function newTypeText(
  settings: MachineSettings,
  key: KeyDescription,
  verdict: Extract<Verdict, { kind: 'new-type' }>,
): string {
  return (
    `it presents a key of another type than those known for it: ${key.type} ${key.sha256}, but known are ` +
    `${knownTypes(verdict)}. Somebody may be impersonating ${settings.host}; ssh refuses it too. If it is known ` +
    'to be right, remove what is known and connect again'
  )
}

function knownTypes(verdict: Extract<Verdict, { kind: 'new-type' }>): string {
  return verdict.known.map((known) => `${known.type} (${known.file}:${known.line})`).join(', ')
}

function refuse(
  settings: MachineSettings,
  code: 'host-key-unknown' | 'host-key-changed' | 'host-key-revoked',
  text: string,
): ConnectError {
  return new ConnectError(text, code, { machine: settings.alias, stage: 'host-key' })
}
