/** A real DSH with the packed bundle in its web profile, and the folders that sessions are opened in. */
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { makeDshHome } from '../../host/dsh-home.ts'
import { startWeb, type WebHost } from '../../host/web.ts'
import { pack } from '../../pack.ts'
import { atTheEnd } from '../../project/endings.ts'
import { PresenceApi } from '../../start/presence-api.ts'
import type { BenchServer } from '../server.ts'
import type { Place } from '../places.ts'
import { makeProject } from './project.ts'

/** Where sessions work. */
export interface Workplace {
  /** As rows call it. */
  readonly label: string
  /** The project's folder; the servers are on this computer, so it can be looked into from here. */
  readonly project: string
  /** The machine's name for Presence; undefined: this computer. */
  readonly machine: string | undefined
}

export const LOCAL = 'local'

export interface ToolHost {
  readonly workplaces: readonly Workplace[]
  /** A new process. */
  start(): Promise<WebHost>
  /** A new session, as a person opens one. */
  open(web: WebHost, workplace: Workplace): Promise<string>
  stop(): Promise<void>
}

export async function startToolHost(
  model: string,
  places: readonly Place[],
  progress: (text: string) => void,
): Promise<ToolHost> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'presence-bench-')))
  const release = (): Promise<void> => rm(folder, { recursive: true, force: true })
  const forget = atTheEnd({ release })
  const stop = async (): Promise<void> => {
    await release()
    forget()
  }
  try {
    const userHome = join(folder, 'user')
    await mkdir(userHome)
    progress('packing and installing the bundle …')
    const home = await makeDshHome({
      folder: join(folder, 'dsh'),
      model: { url: model, key: 'scripted' },
      userHome,
    })
    await home.addPlugin('web', await pack())
    const workplaces = [
      { label: LOCAL, project: join(folder, 'home', 'project'), machine: undefined },
      ...(await Promise.all(places.map(workplaceOf))),
    ]
    await mkdir(join(home.folder, 'presence'))
    await writeFile(
      join(home.folder, 'presence', 'machines.yml'),
      stringify(Object.fromEntries(places.map((place, at) => [machineName(at), loginOf(place.server)]))),
      { mode: 0o600 },
    )
    progress('making the projects …')
    for (const { project } of workplaces) await makeProject(project)
    return { workplaces, start: () => startWeb(home), open, stop }
  } catch (failure) {
    await stop()
    throw failure
  }
}

async function open(web: WebHost, { machine, project }: Workplace): Promise<string> {
  const where =
    machine === undefined ? { cwd: project } : { workspaceId: await workspace(web, machine, project) }
  return (await web.rpc<{ sessionId: string }>('session.create', where)).sessionId
}

/** The host's id of a workspace, which is made when it is not there. */
async function workspace(web: WebHost, host: string, path: string): Promise<string> {
  const api = new PresenceApi(web.url)
  const known = (await api.call('GET workspaces')).workspaces.find((one) => one.host === host)
  const { id } = known ?? (await api.call('POST workspaces', { host, path })).workspace
  if (id === undefined) throw new Error(`the host has no workspace for ${host}:${path}`)
  return id
}

async function workplaceOf({ label, server }: Place, at: number): Promise<Workplace> {
  return { label, project: join(await realpath(server.home), 'project'), machine: machineName(at) }
}

function machineName(at: number): string {
  return `bench-${at}`
}

function loginOf({ host, port, user, identityFile, knownHostsFile }: BenchServer): object {
  return { host, port, user, identityFile, knownHostsFile }
}
