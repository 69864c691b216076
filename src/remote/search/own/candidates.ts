/** Reads the files of a machine that may hold what is searched for. */
import type { Asking } from './ask.ts'
import type { Frame } from './frames.ts'
import { LACKING, SearchRefusal } from './refusal.ts'
import type { RequiredWords } from './regex/required.ts'
import { CANDIDATE_FILES } from './scripts.ts'

export interface Candidates {
  /** Beginning with `./` or `/`, bytes as latin1. */
  readonly names: readonly string[]
  /** What they are relative to, beginning with `.` or `/`. */
  readonly folder: string
  /** Files with none of these are passed over; undefined: every file is read. */
  readonly words: RequiredWords | undefined
}

/** `denied`, `gone` and `too-long` come without content. */
export interface CandidateFile {
  readonly kind: 'file' | 'denied' | 'gone' | 'too-long'
  readonly name: string
  readonly content: Buffer
}

export const LONGEST_FILE = 64 * 1024 * 1024

/** In the order of their names. @throws SearchRefusal when the machine lacks what it needs. */
export async function* readCandidates(asking: Asking, candidates: Candidates): AsyncGenerator<CandidateFile> {
  // Grep names files line by line, so names with a line end are not for it: these files are read before.
  const odd = candidates.names.filter((name) => name.includes('\n'))
  if (odd.length === 0) {
    yield* readPlain(asking, candidates, candidates.names, 'together')
    return
  }
  const places = new Map(candidates.names.map((name, index) => [name, index]))
  const waiting: CandidateFile[] = []
  for await (const file of readPlain(asking, { ...candidates, words: undefined }, odd, 'each'))
    waiting.push(file)
  const plain = candidates.names.filter((name) => !name.includes('\n'))
  for await (const file of readPlain(asking, candidates, plain, 'together')) {
    const place = places.get(file.name) ?? 0
    while (waiting[0] !== undefined && (places.get(waiting[0].name) ?? 0) < place) {
      yield waiting[0]
      waiting.shift()
    }
    yield file
  }
  yield* waiting
}

async function* readPlain(
  asking: Asking,
  { folder, words }: Candidates,
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

/** Cut the contents of several files by their sizes; if these changed meanwhile, each is read on its own. */
async function* tellApart(
  asking: Asking,
  folder: string,
  { sizes, contents, after }: { readonly sizes: string; readonly contents: Buffer; readonly after: string },
): AsyncGenerator<CandidateFile> {
  const files = sizes
    .split('\n')
    .flatMap((line) => {
      const [, size, name] = /^\s*(\d+) (.*)$/s.exec(line) ?? []
      return size === undefined || name === undefined ? [] : [{ size: Number(size), name }]
    })
    // The last line is their sum; every name begins otherwise.
    .filter(({ name }) => name !== 'total')
  const sum = files.reduce((all, { size }) => all + size, 0)
  if (sizes !== after || sum !== contents.length) {
    const names = files.map(({ name }) => name)
    yield* readPlain(asking, { folder, names, words: undefined }, names, 'each')
    return
  }
  let at = 0
  for (const { size, name } of files) {
    yield { kind: 'file', name, content: contents.subarray(at, at + size) }
    at += size
  }
}

/** For `grep -E`; empty when every file is to be read. */
function expressionOf(words: RequiredWords | undefined): string {
  return (words?.words ?? []).map((word) => word.replaceAll(/[\\^$.[\]|()?*+{}]/g, String.raw`\$&`)).join('|')
}
