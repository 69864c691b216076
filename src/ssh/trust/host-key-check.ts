/**
 * The decision about one presented host key: looked up with OpenSSH's rules, answered by
 * StrictHostKeyChecking's policy, and by a person where the policy says `ask`.
 */
import { ConnectError } from '../errors.ts'
import type { MachineSettings } from '../config/settings.ts'
import type { Answer, Question } from '../questions.ts'
import { describeKey } from './fingerprint.ts'
import { rememberKey } from './remember.ts'
import { judgeKey, type Verdict } from './verdict.ts'

export interface HostKeyFacts {
  readonly type: string
  /** `SHA256:…` */
  readonly sha256: string
}

/**
 * Return when the key is trusted.
 * @throws ConnectError `host-key-unknown`, `host-key-changed` or `host-key-revoked`.
 */
export async function checkHostKey(
  blob: Uint8Array,
  settings: MachineSettings,
  ask: (question: Question) => Promise<Answer>,
): Promise<HostKeyFacts> {
  const { hostKeys } = settings
  const key = describeKey(blob)
  const target = {
    host: settings.host,
    port: settings.port,
    ...(hostKeys.alias === undefined ? {} : { alias: hostKeys.alias }),
  }
  const verdict = await judgeKey(blob, target, { user: hostKeys.userFiles, global: hostKeys.globalFiles })
  switch (verdict.kind) {
    case 'known':
      return key
    case 'revoked':
      throw refuse(
        settings,
        'host-key-revoked',
        `its ${key.type} key ${key.sha256} is revoked by ${verdict.file}:${verdict.line}`,
      )
    case 'changed':
      if (hostKeys.policy === 'no' || hostKeys.policy === 'off') return key
      throw refuse(settings, 'host-key-changed', changedText(settings, key, verdict))
    case 'unknown':
    case 'new-type':
      await decideUnknown(blob, key, verdict, settings, ask)
      return key
  }
}

async function decideUnknown(
  blob: Uint8Array,
  key: HostKeyFacts,
  verdict: Extract<Verdict, { kind: 'unknown' | 'new-type' }>,
  settings: MachineSettings,
  ask: (question: Question) => Promise<Answer>,
): Promise<void> {
  const { hostKeys } = settings
  const otherTypesKnown = verdict.kind === 'new-type'
  if (hostKeys.policy === 'ask' && !settings.auth.batchMode) {
    const answer = await ask({
      kind: 'host-key',
      machine: settings.alias,
      keyType: key.type,
      fingerprint: key.sha256,
      otherTypesKnown,
    })
    if (answer.kind === 'no')
      throw refuse(settings, 'host-key-unknown', `its ${key.type} key ${key.sha256} was not accepted`)
    if (answer.kind !== 'yes')
      throw refuse(settings, 'host-key-unknown', unknownText(settings, key, otherTypesKnown))
  } else if (hostKeys.policy === 'yes' || hostKeys.policy === 'ask') {
    throw refuse(settings, 'host-key-unknown', unknownText(settings, key, otherTypesKnown))
  }
  const file = hostKeys.userFiles[0]
  if (file !== undefined) {
    const target = {
      host: settings.host,
      port: settings.port,
      ...(hostKeys.alias === undefined ? {} : { alias: hostKeys.alias }),
    }
    await rememberKey(blob, target, { file, hashed: hostKeys.hashed })
  }
}

function unknownText(settings: MachineSettings, key: HostKeyFacts, otherTypesKnown: boolean): string {
  const files = settings.hostKeys.userFiles.join(', ') || 'no known_hosts file'
  return (
    `its host key is not known: ${key.type} ${key.sha256}` +
    `${otherTypesKnown ? ' (keys of other types are known for it)' : ''}, looked up in ${files}. ` +
    `Compare the fingerprint with the machine's own, then accept it once in a terminal: ssh ${settings.alias}`
  )
}

function changedText(
  settings: MachineSettings,
  key: HostKeyFacts,
  verdict: Extract<Verdict, { kind: 'changed' }>,
): string {
  return (
    `ITS HOST KEY HAS CHANGED: it presents ${key.type} ${key.sha256}, but ${verdict.file}:${verdict.line} ` +
    `holds ${verdict.expected.type} ${verdict.expected.sha256}. Somebody may be impersonating ` +
    `${settings.host}. If the change is known to be right, remove that line and connect again`
  )
}

function refuse(
  settings: MachineSettings,
  code: 'host-key-unknown' | 'host-key-changed' | 'host-key-revoked',
  text: string,
): ConnectError {
  return new ConnectError(text, code, { machine: settings.alias, stage: 'host-key' })
}
