/**
 * What the panel needs from the core. The core implements it; the panel knows no connection, no file
 * system and no registry, so its routes can be run against a port made of memory.
 *
 * Every method fails with a typed error: `ConnectError` and `LinkLostError` for the line, `PlaceError`
 * for the place, `CancelledError` when the signal fired. Anything else is a fault of Presence and is
 * reported as one.
 */
import type { RemotePath } from '../base/remote-path.ts'
import type { Api, MachineView, WorkspaceView } from '../wire/api.ts'

/** A folder or file on a machine. */
export interface Place {
  readonly host: string
  readonly path: RemotePath
}

export interface PanelPort {
  /** Every known machine with what is known of it now. Opens no connection and runs no command. */
  machines(): Promise<readonly MachineView[]>

  /** Connect, or join the attempt that is running; answers at once when the machine is ready. */
  connect(host: string, signal: AbortSignal): Promise<MachineView>

  workspaces(): Promise<readonly WorkspaceView[]>

  /**
   * Verify the remote folder, make its marker and register it. The same place again answers the
   * workspace that is there and leaves its title alone.
   */
  createWorkspace(place: Place & { readonly title?: string }, signal: AbortSignal): Promise<WorkspaceView>

  /** Make a recorded workspace the current one. @throws PlaceError `unknown-workspace` */
  activate(place: Place): Promise<WorkspaceView>

  /** Forget a workspace; its machine is not spoken to. @throws PlaceError `unknown-workspace` */
  removeWorkspace(place: Place): Promise<WorkspaceView>

  /** List a folder, bounded; `path` in the answer is the folder's canonical spelling. */
  browse(place: Place, signal: AbortSignal): Promise<Api['GET browse']>

  /** The beginning of a file, bounded. */
  readFile(place: Place, signal: AbortSignal): Promise<Api['GET file']>
}
