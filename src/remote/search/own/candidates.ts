/** Reads the files of a machine that may hold what is searched for. */
import type { Asking } from './ask.ts'
import { contentsOf, namesIn, type CandidateFile, type Together } from './contents.ts'
import type { EarlyFindings } from './early.ts'
import type { Frame } from './frames.ts'
import { LACKING, SearchRefusal } from './refusal.ts'
import type { RequiredWords } from './regex/required.ts'
import { CANDIDATE_FILES } from './scripts.ts'

export interface Candidate {
  /** Beginning with `./` or `/`, bytes as latin1. */
  readonly name: string
  /** It was listed with the tree that grep walked through. */
  readonly walked: boolean
}

export interface Candidates {
  readonly files: readonly Candidate[]
  /** What their names are relative to, beginning with `.` or `/`. */
  readonly folder: string
  /** Files with none of these are passed over; undefined: every file is read. */
  readonly words: RequiredWords | undefined
  /** What is known already of the files that were walked by. */
  readonly early: EarlyFindings | undefined
}

export const LONGEST_FILE = 64 * 1024 * 1024

/** In the order of their names. @throws SearchRefusal when the machine lacks what it needs. */
export async function* readCandidates(asking: Asking, candidates: Candidates): AsyncGenerator<CandidateFile> {
  const { files, folder, early } = candidates
  const [ready, asked, odd]: [CandidateFile[], string[], string[]] = [[], [], []]
  let words: RequiredWords | undefined
  for (const { name, walked } of files) {
    const verdict = walked && early !== undefined ? early.verdict(name) : 'unknown'
    const shown = early?.shown.get(name)
    if (verdict === 'does-not') continue
    if (verdict === 'matches' && shown !== undefined) ready.push(shown)
    // Grep names files line by line, so names with a line end are not for it: these files are read before.
    else if (name.includes('\n')) odd.push(name)
    else {
      asked.push(name)
      if (verdict === 'unknown') words = candidates.words
    }
  }
  for await (const file of readPlain(asking, { folder, words: undefined }, odd, 'each')) ready.push(file)
  if (ready.length === 0) yield* readPlain(asking, { folder, words }, asked, 'together')
  else yield* inOrder(files, ready, readPlain(asking, { folder, words }, asked, 'together'))
}

/** @param ready - files that are there already. @param coming - in order. */
async function* inOrder(
  files: readonly Candidate[],
  ready: readonly CandidateFile[],
  coming: AsyncIterable<CandidateFile>,
): AsyncGenerator<CandidateFile> {
  const places = new Map(files.map(({ name }, index) => [name, index]))
  const placeOf = ({ name }: CandidateFile): number => places.get(name) ?? 0
  const waiting = ready.toSorted((a, b) => placeOf(a) - placeOf(b))
  for await (const file of coming) {
    while (waiting[0] !== undefined && placeOf(waiting[0]) < placeOf(file)) {
      yield waiting[0]
      waiting.shift()
    }
    yield file
  }
  yield* waiting
}

async function* readPlain(
  asking: Asking,
  { folder, words }: Pick<Candidates, 'folder' | 'words'>,
  names: readonly string[],
  how: 'together' | 'each',
): AsyncGenerator<CandidateFile> {
  if (names.length === 0) return
  const input = Buffer.from(names.map((name) => `${name}\0`).join(''), 'latin1')
  const args = [expressionOf(words), words?.ignoreCase === true ? 'i' : '', folder, how]
  const question = { script: CANDIDATE_FILES, args, input, longestFrame: LONGEST_FILE }
  let sizes = ''
  let contents: Buffer = Buffer.alloc(0)
  for await (const frame of asking.frames(question)) {
    switch (frame.kind) {
      case 'file':
      case 'denied':
      case 'gone':
      case 'too-long':
        yield fileOf(frame)
        break
      case 'sizes':
        sizes = frame.content.toString('latin1')
        break
      case 'contents':
        contents = frame.content
        break
      case 'after':
        yield* tellApart(asking, folder, { sizes, contents, after: frame.content.toString('latin1') })
        break
      case 'end':
        if (frame.name === '126' || frame.name === '127') throw new SearchRefusal(LACKING)
    }
  }
}

function fileOf({ kind, name, content }: Frame): CandidateFile {
  if (kind === 'file' || kind === 'denied' || kind === 'gone') return { kind, name, content }
  return { kind: 'too-long', name, content }
}

/** If sizes changed meanwhile, each file is read on its own. */
async function* tellApart(asking: Asking, folder: string, together: Together): AsyncGenerator<CandidateFile> {
  const files = contentsOf(together)
  if (files !== undefined) yield* files
  else {
    const names = namesIn(together.sizes)
    yield* readPlain(asking, { folder, words: undefined }, names, 'each')
  }
}

/** For `grep -E`; empty when every file is to be read. */
export function expressionOf(words: RequiredWords | undefined): string {
  return (words?.words ?? []).map((word) => word.replaceAll(/[\\^$.[\]|()?*+{}]/g, String.raw`\$&`)).join('|')
}
