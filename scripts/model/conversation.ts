/**
 * The demo conversation over the sample project: look around, find the line that is wrong, correct it,
 * write down what was done. Only what the model says; whether it came true is checked elsewhere.
 */
import { quote } from '../../src/base/shell-word.ts'
import { NOTHING_LEFT, type Script, type Situation, type Step, type ToolCall } from './script.ts'

export const DEMO_PROMPT = 'Please look through the tide table and repair what its own check complains about.'

/** The correction, for whoever checks that it has been made. */
export const CORRECTION = {
  file: 'data/cuxhaven.csv',
  wrong: '2025-03-02,02:57,3,71',
  right: '2025-03-02,02:57,3.71',
} as const

export const NOTE = {
  file: 'notes/2-corrected.md',
  content: [
    '# Corrected',
    '',
    'Cuxhaven, 2 March 02:57: the height had a decimal comma (3,71). It is 3.71 m, the high water of',
    'that day; without the correction it was read as 3 m.',
    '',
  ].join('\n'),
} as const

export const SEARCHED = 'spring tide'

const CHECK = 'sh src/check.sh'
/** What the check prints when it has nothing to complain about. */
const CLEAN = 'all lines are in the agreed form'
const REPORT = 'sh src/report.sh'

/**
 * The whole turn. `base` is a folder below the session's own (`name/`), or empty: the project is the
 * session's folder itself.
 */
export function demoConversation(base: string): readonly Step[] {
  const elsewhere = base === '' ? {} : { path: base }
  return [
    one('read', { file_path: `${base}README.md` }),
    {
      calls: [
        { name: 'grep', args: { pattern: SEARCHED, ...elsewhere } },
        { name: 'glob', args: { pattern: '**/*.csv', ...elsewhere } },
      ],
    },
    bash(base, `pwd && ${CHECK}`, 'Run the check of the project'),
    one('read', { file_path: base + CORRECTION.file }),
    one('edit', {
      file_path: base + CORRECTION.file,
      old_string: CORRECTION.wrong,
      new_string: CORRECTION.right,
    }),
    bash(base, `${CHECK} && ${REPORT}`, 'Check again and print the report'),
    one('write', { file_path: base + NOTE.file, content: NOTE.content }),
    {
      text:
        'The check complained about one line: Cuxhaven, 2 March 02:57, had a decimal comma (3,71). I corrected it ' +
        `to 3.71, ran the check again (all lines are in the agreed form) and wrote down why in ${NOTE.file}. ` +
        'All of this happened on the machine that holds the project; nothing was copied here.',
    },
  ]
}

/** For a page that stays open: later turns and a project that is already repaired are answered too. */
export const openConversation: Script = (situation: Situation): Step => {
  const steps = situation.turn === 0 ? demoConversation('') : laterTurn
  const repaired =
    situation.turn === 0 && situation.step === 3 && situation.results.join('\n').includes(CLEAN)
  if (repaired) return { text: 'The check has nothing to complain about: every line is in the agreed form.' }
  return steps[situation.step] ?? NOTHING_LEFT
}

const laterTurn: readonly Step[] = [
  bash('', `uname -n; pwd; ${REPORT}`, 'Print the report'),
  {
    text:
      'This conversation is scripted: whatever you write, I print the report once more. Start Presence with ' +
      'DEEPSEEK_API_KEY set to talk to a real model.',
  },
]

export interface SampleFile {
  /** Below the sample project, with `/`. */
  readonly path: string
  readonly content: string
}

/** Puts the sample project into a new folder through the tools; the folder must not exist before. */
export function setUpConversation(base: string, files: readonly SampleFile[]): readonly Step[] {
  return [
    bash('', `mkdir -- ${quote(folderName(base))} && echo ${MADE}`, 'Make a fresh folder'),
    {
      calls: files.map((file) => ({
        name: 'write',
        args: { file_path: base + file.path, content: file.content },
      })),
    },
  ]
}

const MADE = 'made'

/**
 * A conversation that begins with `setUpConversation`, given up when the folder could not be made: then
 * nothing may be written, because nothing could be removed again.
 */
export function afterSetUp(steps: readonly Step[]): Script {
  return ({ step, results }) => {
    const refusal = results[0]
    if (refusal !== undefined && !refusal.startsWith(MADE))
      return { text: `The fresh folder was not made: ${refusal}` }
    return steps[step] ?? NOTHING_LEFT
  }
}

/** Takes away exactly the named files and the folders that are empty then; never a whole tree. */
export function cleanUpConversation(base: string, files: readonly string[]): readonly Step[] {
  const folders = [
    ...new Set(files.flatMap((path) => (path.includes('/') ? [path.slice(0, path.lastIndexOf('/'))] : []))),
  ]
  const names = files.map((path) => quote(base + path))
  const emptied = [...folders.map((folder) => quote(base + folder)), quote(folderName(base))]
  return [
    bash('', `rm -f -- ${names.join(' ')}; rmdir -- ${emptied.join(' ')}`, 'Remove the fresh folder again'),
    { text: 'The folder is removed.' },
  ]
}

function bash(base: string, command: string, description: string): Step {
  const there = base === '' ? '' : `cd -- ${quote(folderName(base))} && `
  return one('bash', { command: there + command, description })
}

function one(name: string, args: ToolCall['args']): Step {
  return { calls: [{ name, args }] }
}

function folderName(base: string): string {
  return base.replace(/\/$/, '')
}
