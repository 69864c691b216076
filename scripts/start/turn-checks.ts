/**
 * What must be true after the demo turn, each claim looked up on the machine by the witness, on this
 * computer's disk, or in what the model was really sent. Presence itself is asked nothing.
 */
import { readdir } from 'node:fs/promises'
import { quote } from '../../src/base/shell-word.ts'
import type { HeadlessTurn } from '../host/headless.ts'
import type { ToolStep } from '../host/session-log.ts'
import { CORRECTION, NOTE, SEARCHED, type SampleFile } from '../model/conversation.ts'
import { textOf, type Step } from '../model/script.ts'
import type { ModelRequest } from '../model/server.ts'
import { holds, same, type Check } from './findings.ts'
import type { Target } from './target.ts'

export interface Snapshot {
  /** Names in the account's home and in the workspace folder before the turn. */
  readonly home: string
  readonly folder: string
}

export interface Seen {
  readonly target: Target
  /** Folder of the project below the workspace (`name/`), or empty. */
  readonly base: string
  readonly files: readonly SampleFile[]
  readonly marker: string
  readonly before: Snapshot
  readonly script: readonly Step[]
  readonly turn: HeadlessTurn
  readonly requests: readonly ModelRequest[]
}

export async function snapshot(target: Target): Promise<Snapshot> {
  const names = (folder: string): Promise<string> => printedBy(target, `ls -A ${folder}`)
  return { home: await names('"$HOME"'), folder: await names(quote(target.folder)) }
}

export function checksOfTurn(seen: Seen): Check[] {
  return [...checksOfSteps(seen), ...checksOfModel(seen), ...checksOfSurroundings(seen)]
}

/** After the project was removed again from a machine of the user's own. */
export function checkOfRemoval(target: Target, before: Snapshot): Check {
  return {
    claim: 'the folder that was made for this check is gone, and nothing else with it',
    how: `on ${target.alias}: the workspace folder lists what it listed before (${target.witness.how})`,
    look: async () => same((await snapshot(target)).folder, before.folder),
  }
}

function checksOfSteps(seen: Seen): Check[] {
  const { target } = seen
  const project = seen.base === '' ? target.folder : `${target.folder}/${seen.base.slice(0, -1)}`
  const there = (command: string): Promise<string> =>
    printedBy(target, `cd -- ${quote(project)} && ${command}`)
  const independently = `on ${target.alias}, by ${target.witness.how}`
  const ran = stepsOf(seen)
  return [
    {
      claim: 'read shows the text that the machine has',
      how: `${independently}: cat README.md, line by line`,
      look: async () => holds(ran.read('README.md').text, numbered(await there('cat README.md'))),
    },
    {
      claim: "grep finds what the machine's own grep finds",
      how: `${independently}: grep -r`,
      look: async () => {
        const lines = (await there(`grep -rhF ${quote(SEARCHED)} .`))
          .split('\n')
          .filter((line) => line !== '')
        return holds(ran.only('grep').text, [`Found ${lines.length} match`, ...lines])
      },
    },
    {
      claim: 'glob lists the files that are there, and no other',
      how: `${independently}: find data -name '*.csv'`,
      look: async () =>
        same(
          sorted(ran.only('glob').text.replaceAll(seen.base, '')),
          sorted(await there("find data -name '*.csv'")),
        ),
    },
    {
      claim: 'bash ran in the folder on the machine',
      how: `${independently}: pwd`,
      look: async () => same(firstLine(ran.bash(0).text), firstLine(await there('pwd'))),
    },
    {
      claim: "the failing command's output and exit code reached the model",
      how: "in the session's log: the complaint and [exit code: 1]",
      look: () => Promise.resolve(holds(ran.bash(0).text, [CORRECTION.wrong, '[exit code: 1]'])),
    },
    {
      claim: 'edit changed exactly one line of the file on the machine',
      how: `${independently}: cat ${CORRECTION.file} is the sample's text with the correction`,
      look: async () =>
        same(
          await there(`cat ${CORRECTION.file}`),
          sampleText(seen, CORRECTION.file).replace(CORRECTION.wrong, CORRECTION.right),
        ),
    },
    {
      claim: "edit kept the file's mode and owner",
      how: `${independently}: ls -l shows the same as for a file that was not edited`,
      look: async () =>
        same(
          columns(await there(`ls -ln ${CORRECTION.file}`)),
          columns(await there('ls -ln data/brest.csv')),
        ),
    },
    {
      claim: 'the second command succeeded, and printed what it prints without Presence',
      how: `${independently}: the same two programs`,
      look: async () =>
        same(ran.bash(1).text.trim(), (await there('sh src/check.sh && sh src/report.sh')).trim()),
    },
    {
      claim: 'write made the new file on the machine',
      how: `${independently}: cat ${NOTE.file}`,
      look: async () => same(await there(`cat ${NOTE.file}`), NOTE.content),
    },
    {
      claim: 'the project has its files and the new one, and nothing else',
      how: `${independently}: find . -type f, its repository left out`,
      look: async () =>
        same(
          sorted(await there("find . -name .git -prune -o -type f -print | sed 's,^\\./,,'")),
          sorted([...seen.files.map((file) => file.path), NOTE.file].join('\n')),
        ),
    },
  ]
}

function checksOfModel({ target, base, marker, script, turn, requests }: Seen): Check[] {
  const calls = script.reduce((count, step) => count + ('calls' in step ? step.calls.length : 0), 0)
  const sent = requests.flatMap((request) => request.messages).map(textOf)
  // DSH itself names the local folder in it, and that one holds both words already.
  const context = sent
    .filter((text) => text.startsWith('Current runtime context.'))
    .join('\n')
    .replaceAll(marker, '')
  const checks: Check[] = [
    {
      claim: `DSH did all ${calls} steps without a failure and finished the turn`,
      how: "exit code 0, and the session's log holds every call with its result",
      look: () => {
        const steps = turn.session?.steps ?? []
        const failed = steps.filter((step) => step.isError).map((step) => `${step.tool}: ${step.text}`)
        const found = `exit code ${String(turn.code)}, ${steps.length} steps, failed: ${failed.join('; ') || 'none'}`
        return Promise.resolve(same(found, `exit code 0, ${calls} steps, failed: none`))
      },
    },
    {
      claim: 'the model was told the machine and the folder',
      how: 'in what it was sent: the runtime context',
      look: () => Promise.resolve(holds(context, [target.alias, target.folder])),
    },
  ]
  if (base !== '') return checks
  return [
    ...checks,
    {
      claim: "the machine's AGENTS.md reached the model",
      how: 'in what it was sent: a rule of that file',
      look: () => Promise.resolve(holds(sent.join('\n'), ['Write down what was corrected and why'])),
    },
  ]
}

function checksOfSurroundings({ target, base, marker, before }: Seen): Check[] {
  return [
    {
      claim: 'nothing of it is on this computer: the folder that stands for the remote one is empty',
      how: `on this computer: ${marker}`,
      look: async () => same((await readdir(marker)).join('\n'), ''),
    },
    {
      claim: "nothing was installed in the account's home",
      how: `on ${target.alias}, by ${target.witness.how}: ls -A lists the same as before`,
      look: async () => same((await snapshot(target)).home, before.home),
    },
    {
      claim:
        base === ''
          ? 'nothing else appeared in the workspace'
          : 'in the workspace only the folder made for this check appeared',
      how: `on ${target.alias}, by ${target.witness.how}: ls -A`,
      look: async () =>
        same(sorted((await snapshot(target)).folder), sorted(`${before.folder}\n${base.replace('/', '')}`)),
    },
  ]
}

/** @throws when the command fails: an empty answer must not be taken for "there is nothing". */
async function printedBy(target: Target, command: string): Promise<string> {
  const { code, stdout, stderr } = await target.witness.run(command)
  if (code !== 0) throw new Error(`\`${command}\` ended with exit code ${String(code)}: ${stderr.trim()}`)
  return stdout
}

/** The steps of the turn by what they were; one that is missing is an error that says which. */
function stepsOf({ turn, base, script }: Seen): {
  only(tool: string): ToolStep
  read(file: string): ToolStep
  bash(index: number): ToolStep
} {
  const steps = turn.session?.steps ?? []
  const pick = (what: string, found: ToolStep | undefined): ToolStep => {
    if (found === undefined) throw new Error(`the turn has no step "${what}"`)
    return found
  }
  // The commands of the conversation itself come last; one before them makes the folder.
  const commands = script
    .flatMap((step) => ('calls' in step ? step.calls : []))
    .filter((call) => call.name === 'bash')
  return {
    only: (tool) =>
      pick(
        tool,
        steps.find((step) => step.tool === tool),
      ),
    read: (file) =>
      pick(
        `read ${file}`,
        steps.find((step) => step.tool === 'read' && step.args.file_path === base + file),
      ),
    bash: (index) => {
      const command = commands[commands.length - 2 + index]?.args.command
      return pick(
        `bash ${String(command)}`,
        steps.find((step) => step.args.command === command),
      )
    },
  }
}

function sampleText({ files }: Seen, path: string): string {
  const found = files.find((file) => file.path === path)
  if (found === undefined) throw new Error(`the sample project has no ${path}`)
  return found.content
}

/** Lines as the read tool shows them. */
function numbered(text: string): string[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line, at) => `${at + 1}: ${line}`)
}

function sorted(text: string): string {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .sort()
    .join('\n')
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? ''
}

/** Mode, owner and group of an `ls -ln` line; the link count goes with the kind of file system. */
function columns(listed: string): string {
  const [mode, , owner, group] = listed.trim().split(/\s+/)
  return `${mode} ${owner} ${group}`
}
