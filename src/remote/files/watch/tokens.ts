/**
 * Version tokens of many paths by the helper shell, in one question. Where the same paths are asked for again,
 * the shell still has the question and its last answer: what goes over the line then is a few bytes, as long as
 * nothing is different.
 */
import { PresenceError } from '../../../base/failure.ts'
import type { RemotePath } from '../../../base/remote-path.ts'
import { quote } from '../../../base/shell-word.ts'
import { ChannelError } from '../../../ssh/errors.ts'
import type { MachineSession } from '../../session.ts'
import type { HelperShell } from '../../shell/helper-shell.ts'
import { formatOf } from '../versions.ts'

/** Some shells read a question byte by byte; and a list of arguments has an end. */
const QUESTION_CHARACTERS = 32 * 1024
/** So few paths are asked for by name each time, and leave the question that is kept as it is. */
const FEW = 8
const TOKEN = /(\d+:\d+:\d+:[\d.:-]+:[\da-f]+) /iy
const SAME = '='

type Told = readonly (readonly [RemotePath, string])[]

/** A question that a shell keeps under a number, and its last answer. */
interface Kept {
  readonly paths: readonly RemotePath[]
  readonly told: Promise<Told>
}

const kept = new WeakMap<HelperShell, Map<number, Kept>>()

/**
 * Through links; nothing for a path that is not there or may not be looked at. Empty where no shell can be asked
 * at once, or its `stat` tells too little. @throws CancelledError.
 */
export async function tokensOf(
  session: MachineSession,
  paths: readonly RemotePath[],
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<RemotePath, string>> {
  const told = await withHelper(session, signal, (helper, format) => {
    const name = session.shell?.stat === 'gnu' ? '%n' : '%N'
    const stat = (some: readonly RemotePath[]): string =>
      `stat -L ${format} ${name}' -- ${some.map(quote).join(' ')}`
    if (paths.length <= FEW) return askNew(helper, `${stat(paths)}; echo .`, paths, signal)
    const questions = inQuestions(paths).map((some, number) => askKept(helper, number, some, stat, signal))
    return Promise.all(questions).then((answers) => answers.flat())
  })
  return new Map(told)
}

/** What a helper shell says; undefined where none can be had at once, or its `stat` tells too little. */
export async function withHelper<T>(
  session: MachineSession,
  signal: AbortSignal | undefined,
  ask: (helper: HelperShell, format: string) => Promise<T>,
): Promise<T | undefined> {
  const format = formatOf(session)
  if (format === undefined) return undefined
  try {
    const helper = await session.helperAtHand(signal)
    return helper === undefined ? undefined : await ask(helper, format)
  } catch (error) {
    // SFTP can still be asked; a dead link fails that too.
    if (error instanceof ChannelError || (error instanceof PresenceError && error.family === 'transport')) {
      return undefined
    }
    throw error
  }
}

function askKept(
  helper: HelperShell,
  number: number,
  paths: readonly RemotePath[],
  stat: (paths: readonly RemotePath[]) => string,
  signal: AbortSignal | undefined,
): Promise<Told> {
  const questions = kept.get(helper) ?? new Map<number, Kept>()
  kept.set(helper, questions)
  const before = questions.get(number)
  const [ask, seen] = [`_watched${number}`, `_seen${number}`]
  const told =
    before !== undefined && isSame(before.paths, paths)
      ? askAgain(
          helper,
          `_now=$(${ask}; echo .); if [ "$_now" = "$${seen}" ]; then echo ${SAME}; else ${seen}=$_now; echo "$_now"; fi`,
          before,
          signal,
        )
      : askNew(
          helper,
          `${ask}() { ${stat(paths)}; }; ${seen}=$(${ask}; echo .); printf '%s\\n' "$${seen}"`,
          paths,
          signal,
        )
  const now = { paths, told }
  questions.set(number, now)
  // An answer that was not heard is no base for the next one.
  told.catch((_thrownToTheCaller: unknown) => {
    if (questions.get(number) === now) questions.delete(number)
  })
  return told
}

async function askNew(
  helper: HelperShell,
  script: string,
  paths: readonly RemotePath[],
  signal: AbortSignal | undefined,
): Promise<Told> {
  const { output } = await helper.run(script, { signal })
  return parseTold(output.toString('utf8'), paths)
}

async function askAgain(
  helper: HelperShell,
  script: string,
  before: Kept,
  signal: AbortSignal | undefined,
): Promise<Told> {
  const { output } = await helper.run(script, { signal })
  const text = output.toString('utf8')
  return text.trim() === SAME ? before.told : parseTold(text, before.paths)
}

function isSame(before: readonly RemotePath[], now: readonly RemotePath[]): boolean {
  return before.length === now.length && before.every((path, index) => path === now[index])
}

function inQuestions(paths: readonly RemotePath[]): RemotePath[][] {
  const questions: RemotePath[][] = []
  let characters = QUESTION_CHARACTERS
  for (const path of paths) {
    characters += path.length
    if (characters > QUESTION_CHARACTERS) {
      questions.push([])
      characters = path.length
    }
    questions.at(-1)?.push(path)
  }
  return questions
}

/** Lines come in the order of the paths, and nothing is printed for one that cannot be looked at. */
export function parseTold(text: string, paths: readonly RemotePath[]): Told {
  const told: [RemotePath, string][] = []
  let at = 0
  for (const path of paths) {
    TOKEN.lastIndex = at
    const token = TOKEN.exec(text)?.[1]
    if (token === undefined) break
    const line = `${path}\n`
    if (!text.startsWith(line, TOKEN.lastIndex)) continue
    told.push([path, token])
    at = TOKEN.lastIndex + line.length
  }
  return told
}
