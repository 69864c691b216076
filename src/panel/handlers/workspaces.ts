/** `workspaces`: list them, make one of a remote folder, make one the current one, forget one. */
import { PlaceError } from '../../places/errors.ts'
import type { Api, WorkspaceView } from '../../wire/api.ts'
import type { PanelPort, Place } from '../port.ts'
import { bad, hostName, optionalTitle, remotePath } from '../validate.ts'
import type { Handler } from './call.ts'

export const listWorkspaces: Handler<Api['GET workspaces']> = async ({ port }) => ({
  workspaces: await port.workspaces(),
})

export const changeWorkspaces: Handler<Api['POST workspaces']> = async ({ port, json, signal }) => {
  const fields = await json()
  if (fields['activate'] !== undefined) {
    return { workspace: await port.activate(await placeNamed(port, fields['activate'])) }
  }
  const title = optionalTitle(fields['title'])
  const place = { ...placeOf(fields), ...(title === undefined ? {} : { title }) }
  return { workspace: await port.createWorkspace(place, signal) }
}

export const removeWorkspace: Handler<Api['DELETE workspaces']> = async ({ port, json }) => ({
  removed: await port.removeWorkspace(placeOf(await json())),
})

function placeOf(fields: Readonly<Record<string, unknown>>): Place {
  return { host: hostName(fields['host']), path: remotePath(fields['path']) }
}

/** The place of the workspace whose id or marker is `name`. */
async function placeNamed(port: PanelPort, name: unknown): Promise<Place> {
  if (typeof name !== 'string' || name === '')
    throw bad('"activate" must be the id or the marker of a workspace')
  const named = (workspace: WorkspaceView): boolean => workspace.id === name || workspace.marker === name
  const workspace = (await port.workspaces()).find(named)
  if (workspace === undefined) {
    throw new PlaceError('There is no such workspace any more.', 'unknown-workspace')
  }
  return { host: workspace.host, path: remotePath(workspace.path) }
}
