/**
 * The JSON that passes between the panel and `/api/presence/*`. Shared by both sides, so it imports
 * nothing.
 */

/** What a machine's connection is doing, as truthfully as it is known now. Times are epoch milliseconds. */
export type MachineStateView =
  | { readonly kind: 'idle' }
  /** `hop`: the jump host that it is about, when it is not the machine itself. */
  | { readonly kind: 'connecting'; readonly stage: string; readonly hop?: string }
  /** A person's answer is waited for. */
  | { readonly kind: 'asking'; readonly question: string; readonly stage: string; readonly hop?: string }
  | { readonly kind: 'ready'; readonly since: number }
  /** Connected, but the machine has not answered since. */
  | { readonly kind: 'degraded'; readonly since: number; readonly silentSince: number }
  | { readonly kind: 'lost'; readonly reason: string; readonly at: number }
  | { readonly kind: 'failed'; readonly reason: string; readonly stage: string; readonly at: number }

export interface MachineView {
  readonly name: string
  /** `config`: an alias of the OpenSSH configuration; `panel`: from `machines.yml`. */
  readonly source: 'config' | 'panel'
  readonly state: MachineStateView
  /** What is wrong with its entry in `machines.yml`; nothing can be done there before it is mended. */
  readonly problem?: string
  /** What a probe found, present once the machine has been connected to. */
  readonly facts?: MachineFactsView
}

export interface MachineFactsView {
  readonly address: string
  readonly user: string
  readonly os: string
  readonly home: string
  /** How commands in read-only and workspace-write sessions are confined there. */
  readonly confinement: 'bwrap' | 'namespaces' | 'unconfined-by-switch' | 'none'
  /** The search engine that grep and glob use there; `own` is Presence's engine over the machine's shell. */
  readonly search: 'rg' | 'own' | 'none'
  readonly sftp: boolean
  readonly exec: boolean
  /** What a person should know of this connection: a host key that could not be written down, and the like. */
  readonly warnings: readonly string[]
}

export interface WorkspaceView {
  /** The host's workspace id; absent when the host has none for it, and then no session opens in it. */
  readonly id?: string
  readonly host: string
  readonly path: string
  readonly title: string
  /** The local marker folder that stands for the remote folder. */
  readonly marker: string
  /** The default of the `presence_*` tools in sessions that are in no remote workspace. */
  readonly active: boolean
}

export interface DirectoryEntryView {
  readonly name: string
  readonly type: 'file' | 'directory' | 'other'
  readonly size?: number
}

/** Routes and their answers; every failure is an `ErrorView` with a 4xx or 5xx status. */
export interface Api {
  /** The secret that every other call carries in `SECRET_HEADER`. */
  'GET session': { readonly secret: string; readonly version: string }
  'GET machines': { readonly machines: readonly MachineView[] }
  'POST machines/connect': { readonly machine: MachineView }
  'GET workspaces': { readonly workspaces: readonly WorkspaceView[] }
  'POST workspaces': { readonly workspace: WorkspaceView }
  'DELETE workspaces': { readonly removed: WorkspaceView }
  /** The same as `DELETE workspaces`, for hosts whose plugin routes know only GET and POST. */
  'POST workspaces/remove': { readonly removed: WorkspaceView }
  'GET browse': {
    readonly host: string
    readonly path: string
    readonly parent: string | null
    readonly entries: readonly DirectoryEntryView[]
    /** True when the folder holds more entries than are listed. */
    readonly truncated: boolean
  }
  'GET file': {
    readonly host: string
    readonly path: string
    readonly size: number
    /** The text, or null when the file is not UTF-8 text. */
    readonly text: string | null
    /** True when `text` is only the beginning of the file. */
    readonly truncated: boolean
  }
}

export const SECRET_HEADER = 'x-presence-secret'

/** `POST machines/connect`. */
export interface ConnectRequest {
  readonly host: string
}

/**
 * `POST workspaces`: make a workspace of a remote folder, or make an existing one the current one.
 * `activate` is the workspace's `id` or, where the host gives none, its `marker`.
 */
export type WorkspaceRequest =
  { readonly host: string; readonly path: string; readonly title?: string } | { readonly activate: string }

/** `DELETE workspaces`: the workspace to forget; nothing remote is touched. */
export interface WorkspaceRemoval {
  readonly host: string
  readonly path: string
}

/** Stable and closed: what a program may decide on. */
export type ErrorCode =
  /** The request is not one this API understands. */
  | 'bad-request'
  | 'not-json'
  | 'too-large'
  | 'too-slow'
  | 'unknown-route'
  | 'method-not-allowed'
  /** The fence or the secret refused; the only code after which a page reads the session again. */
  | 'forbidden'
  /** The place is not there, or is not what was asked for. */
  | 'bad-path'
  | 'not-found'
  | 'not-a-directory'
  | 'not-a-file'
  | 'permission-denied'
  | 'unknown-workspace'
  /** The machine cannot be used. */
  | 'unknown-machine'
  | 'bad-config'
  | 'unsupported'
  | 'unreachable'
  | 'host-key'
  | 'auth'
  | 'timeout'
  | 'unavailable'
  /** The caller gave up. */
  | 'cancelled'
  /** A fault of Presence itself; the host's log has it. */
  | 'internal'

export interface ErrorView {
  readonly error: {
    readonly code: ErrorCode
    /** A sentence for a person: what failed, on which machine, and what to do. */
    readonly message: string
    readonly machine?: string
    /** How far a connection attempt had come. */
    readonly stage?: string
  }
}
