/** `npm start`: DSH in a page, with the target's folder as a workspace in its sidebar. */
import { startWeb, type WebHost } from '../host/web.ts'
import type { DshHome } from '../host/dsh-home.ts'
import { DEMO_PROMPT } from '../model/conversation.ts'
import { isLeaving } from '../project/endings.ts'
import { PresenceApi, PresenceApiError } from './presence-api.ts'
import type { Target } from './target.ts'

export interface PageOptions {
  readonly port: number
  /** False: the model is a real one, by the user's own key. */
  readonly scripted: boolean
}

/** Serves until DSH ends by itself. When the user ends it, the process leaves from here. */
export async function servePage(home: DshHome, target: Target, options: PageOptions): Promise<number> {
  console.log('Starting DSH …')
  const web = await startWeb(home, { port: options.port })
  const notes = await openWorkspace(web, target)
  console.log(
    [
      '',
      `  DSH with Presence    ${web.url}`,
      `  machine              ${target.alias}: ${target.about[0] ?? ''}`,
      ...target.about.slice(1).map(aside),
      `  workspace            ${target.alias}:${target.folder}`,
      ...notes,
      ...aboutModel(options.scripted).map((line, at) =>
        at === 0 ? `  model                ${line}` : aside(line),
      ),
      '',
      '  Ctrl-C ends DSH and the machine.',
      '',
    ].join('\n'),
  )
  const reason = await web.ended
  if (isLeaving()) return new Promise(() => undefined)
  console.error(
    `DSH ended by itself (${reason}). Its last words:\n${web.output().split('\n').slice(-20).join('\n')}`,
  )
  return 1
}

/** @returns lines for the person; a machine that needs an answer first is no failure of the start. */
async function openWorkspace(web: WebHost, target: Target): Promise<string[]> {
  const api = new PresenceApi(web.url)
  try {
    const { machine } = await api.call('POST machines/connect', { host: target.alias })
    await api.call('POST workspaces', { host: target.alias, path: target.folder })
    return [`  confinement          ${confinementText(machine.facts?.confinement)}`]
  } catch (failure) {
    if (!(failure instanceof PresenceApiError)) throw failure
    return [
      `  not connected yet    ${failure.view.message}`,
      aside(
        'Open Settings → Presence in the page to answer what the machine asks, then add the folder there.',
      ),
    ]
  }
}

function confinementText(confinement: string | undefined): string {
  switch (confinement) {
    case 'bwrap':
      return 'bubblewrap of the machine: commands write only where the session may'
    case 'namespaces':
      return 'user namespaces of the machine: commands write only where the session may'
    case 'unconfined-by-switch':
      return "none: commands run unconfined there, by the machine's switch"
    case 'none':
      return 'none: commands are refused there until you allow it (see Settings → Presence)'
    default:
      return 'not known'
  }
}

function aboutModel(scripted: boolean): string[] {
  if (!scripted) return ['a real one, by your DEEPSEEK_API_KEY']
  return ['scripted, because DEEPSEEK_API_KEY is not set. Try this:', `"${DEMO_PROMPT}"`]
}

function aside(text: string): string {
  return `                       ${text}`
}
