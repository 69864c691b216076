/**
 * `npm start -- --headless`: one turn of the agent in the headless profile, in the folder that stands
 * for the remote one, and then every step of it is looked at without Presence.
 */
import { randomBytes } from 'node:crypto'
import type { DshHome } from '../host/dsh-home.ts'
import { headlessTurn, type HeadlessTurn } from '../host/headless.ts'
import type { ToolStep } from '../host/session-log.ts'
import {
  afterSetUp,
  cleanUpConversation,
  demoConversation,
  DEMO_PROMPT,
  NOTE,
  setUpConversation,
  type SampleFile,
} from '../model/conversation.ts'
import type { Script } from '../model/script.ts'
import type { ScriptedModel } from '../model/server.ts'
import { atTheEnd } from '../project/endings.ts'
import { Findings } from './findings.ts'
import { makeMarker } from './installation.ts'
import { sampleFiles } from './sample.ts'
import type { Target } from './target.ts'
import { checkOfRemoval, checksOfTurn, snapshot } from './turn-checks.ts'

/** @returns how many checks failed. */
export async function checkedTurn(
  home: DshHome,
  target: Target,
  model: ScriptedModel,
  own: boolean,
): Promise<number> {
  const files = await sampleFiles()
  const marker = await makeMarker(home, target)
  // On a machine of the user's own everything happens in a folder that was not there before.
  const base = own ? `presence-check-${randomBytes(4).toString('hex')}/` : ''
  const before = await snapshot(target)
  const script = [...(own ? setUpConversation(base, files) : []), ...demoConversation(base)]
  console.log(
    `\nOne turn in ${marker}\nwhich stands for ${target.alias}:${target.folder} (${target.about.join('; ')})`,
  )
  const findings = new Findings()
  const forget = own ? warnOfLeftovers(target, base) : undefined
  try {
    const turn = await play(home, model, marker, own ? afterSetUp(script) : script)
    printSteps(target, turn)
    const seen = { target, base, files, marker, before, script, turn, requests: model.requests }
    for (const check of checksOfTurn(seen)) await findings.make(check)
  } finally {
    if (own) {
      await play(home, model, marker, cleanUpConversation(base, namesOf(files)))
      if (await findings.make(checkOfRemoval(target, before))) forget?.()
    }
  }
  console.log(`\n${findings.summary}`)
  return findings.failed
}

function play(home: DshHome, model: ScriptedModel, marker: string, script: Script): Promise<HeadlessTurn> {
  model.play(script)
  return headlessTurn(home, { cwd: marker, prompt: DEMO_PROMPT })
}

function printSteps(target: Target, turn: HeadlessTurn): void {
  const steps = turn.session?.steps ?? []
  console.log('\nWhat the agent did:')
  steps.forEach((step, at) => {
    const number = String(at + 1).padStart(2)
    console.log(
      `${number}. on ${target.alias}  ${step.tool.padEnd(5)}  ${subjectOf(step)}${step.isError ? '  — FAILED' : ''}`,
    )
    if (step.isError) console.log(step.text.trim().replace(/^/gm, '      | '))
  })
  if (steps.length === 0) console.log(`nothing; DSH printed:\n${turn.stdout}${turn.stderr}`)
  console.log(`    answer: ${turn.session?.answer ?? ''}\n`)
}

/** The one argument that tells a person what a step was about. */
function subjectOf({ args }: ToolStep): string {
  return String(args.command ?? args.file_path ?? args.pattern ?? JSON.stringify(args))
}

/** The removal names each file; one that the turn was to write counts even when it was not written. */
function namesOf(files: readonly SampleFile[]): string[] {
  return [...files.map((file) => file.path), NOTE.file]
}

function warnOfLeftovers(target: Target, base: string): () => void {
  const warn = (): void =>
    console.error(
      `presence: the folder ${target.folder}/${base} may be left on ${target.alias}; remove it by hand`,
    )
  return atTheEnd({ release: () => Promise.resolve(warn()) })
}
