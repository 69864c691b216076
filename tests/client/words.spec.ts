import { expect, test } from 'vitest'
import { ApiError } from '../../src/client/api.ts'
import { languageOf } from '../../src/client/language.ts'
import { STRINGS } from '../../src/client/strings.ts'
import {
  factLines,
  failureText,
  momentText,
  reasonText,
  stageText,
  stateText,
} from '../../src/client/words.ts'
import type { MachineFactsView } from '../../src/wire/api.ts'

const { en, zh } = STRINGS
const facts: MachineFactsView = {
  address: '192.0.2.10',
  user: 'dev',
  os: 'Linux x86_64',
  home: '/home/dev',
  confinement: 'none',
  search: 'own',
  sftp: true,
  exec: true,
  warnings: [],
}

test('says everything in both languages, and nothing in Chinese that is only English', () => {
  const leaves = (value: unknown, path: string): [string, unknown][] =>
    typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([key, child]) => leaves(child, `${path}.${key}`))
      : [[path, typeof value === 'function' ? (value as (...words: string[]) => string)('a', 'b') : value]]
  const english = new Map(leaves(en, ''))
  const chinese = new Map(leaves(zh, ''))
  expect([...chinese.keys()]).toEqual([...english.keys()])
  const same = [...english].filter(([path, text]) => chinese.get(path) === text).map(([path]) => path)
  expect(same).toEqual(['.title', '.folderExample'])
})

test('knows a language by the first part of its tag', () => {
  expect(['zh', 'zh-CN', 'ZH_tw', 'en-GB'].map(languageOf)).toEqual(['zh', 'zh', 'zh', 'en'])
  expect(['', undefined, 'fr', 'eng', 'zhx'].map(languageOf)).toEqual(Array.from({ length: 5 }))
})

test('names the state of a machine with its stage or its time', () => {
  const at = Date.now()
  const time = momentText(at, 'en')
  expect(stateText({ kind: 'idle' }, en, 'en')).toBe('Not connected')
  expect(stateText({ kind: 'connecting', stage: 'host-key' }, en, 'en')).toBe(
    'Connecting: checking the host key',
  )
  expect(stateText({ kind: 'connecting', stage: 'auth', hop: 'bastion' }, en, 'en')).toBe(
    'Connecting by way of bastion: signing in',
  )
  expect(stateText({ kind: 'asking', question: 'password', stage: 'auth' }, en, 'en')).toBe(
    'Waiting for an answer: signing in',
  )
  expect(stateText({ kind: 'degraded', since: at, silentSince: at }, en, 'en')).toBe(
    `Connected, but no answer since ${time}`,
  )
  expect(stateText({ kind: 'ready', since: at }, en, 'en')).toBe(`Connected since ${time}`)
  expect(stateText({ kind: 'lost', reason: 'r', at }, en, 'en')).toBe(`Connection lost at ${time}`)
  expect(stateText({ kind: 'failed', reason: 'r', stage: 'tcp', at }, en, 'en')).toBe(
    `Could not connect at ${time}, while reaching the machine`,
  )
})

test('shows a stage it has no words for as it is', () => {
  expect(stageText('teleport', en)).toBe('teleport')
  expect(stageText('constructor', zh)).toBe('constructor')
})

test('gives the date with a time that is not of today', () => {
  const now = new Date(2026, 2, 4, 12, 0).getTime()
  expect(momentText(new Date(2026, 2, 4, 9, 5).getTime(), 'en', now)).toMatch(/^9:05\sAM$/)
  expect(momentText(new Date(2026, 2, 3, 9, 5).getTime(), 'en', now)).toMatch(/^Mar 3, 2026, 9:05\sAM$/)
})

test('tells of a machine where it is and what can be done there', () => {
  expect(factLines(facts, en)).toEqual([
    'dev@192.0.2.10 · Linux x86_64',
    'no confinement there: sandboxed commands are refused; searches without ripgrep, by Presence',
  ])
  const bare = { ...facts, os: '', exec: false, sftp: false }
  expect(factLines(bare, en)).toEqual(['dev@192.0.2.10', 'no file access (SFTP is off); no commands'])
})

test('drops the name of a machine from a reason that stands under it', () => {
  expect(reasonText('web-1: no answer', 'web-1')).toBe('no answer')
  expect(reasonText('web-10: no answer', 'web-1')).toBe('web-10: no answer')
})

test('makes words of every failure, and keeps what was said exactly', () => {
  expect(failureText(new ApiError('web-1: no route', 'unreachable'), zh)).toEqual({
    headline: '无法连接到此机器。',
    detail: 'web-1: no route',
  })
  const unknown = new ApiError('from a later version', 'not-yet-known' as 'internal')
  expect(failureText(unknown, en)).toEqual({
    headline: en.failures['bad-answer'],
    detail: 'from a later version',
  })
  expect(failureText(new TypeError('x'), en)).toEqual({ headline: 'Presence itself failed.', detail: 'x' })
})
