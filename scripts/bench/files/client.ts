/** What every contestant is: a way to work on files of one server. It owns no measuring and no judging. */

/** Entries of a folder as the host shows them: a link to a folder counts as a folder. */
export interface Entry {
  readonly name: string
  /** Undefined when the client did not follow the link. */
  readonly type: 'file' | 'directory' | undefined
}

/**
 * Paths are the server's. Every answer is checked by the caller, so a client that does less than it was
 * asked for is found out. What a client cannot do is absent.
 */
export interface Client {
  /** As rows call it. */
  readonly who: string
  /** What one has to know to judge its times. */
  readonly note?: string
  /** Not measured: what its user did with a file before changing it. */
  know?(file: string): Promise<void>
  /** @returns the size. */
  stat?(file: string): Promise<number>
  /** @returns the size of what the name itself is. */
  lstat?(file: string): Promise<number>
  realpath?(file: string): Promise<string>
  read?(file: string): Promise<Buffer>
  /** Replace a file in one step: the old content or the new, and the new is on the disk. */
  write?(file: string, content: string): Promise<void>
  /** Replace the only `before` in a file, as `write` does. */
  edit?(file: string, before: string, after: string): Promise<void>
  list?(folder: string): Promise<Entry[]>
  /** Look whether any of these files has changed. @returns how many are there. */
  poll?(files: readonly string[]): Promise<number>
  /**
   * Fetch a large file into a local one that is not there yet.
   * @returns the text itself in pieces, when it does not come into a file.
   */
  pull?(file: string, into: string): Promise<void | AsyncIterable<string>>
  /** Send a large local file, whose text is at hand, to where none is yet. */
  push?(from: string, file: string, text: string): Promise<void>
  /** Look around in a folder as the host does in a turn. @returns the instructions that it found. */
  probe?(folder: string, between: () => Promise<void>): Promise<readonly string[]>
  stop(): Promise<void>
}

export type Operation = Exclude<keyof Client, 'who' | 'note' | 'know' | 'stop'>

/** The client as one that can do this. @throws when it cannot. */
export function able<O extends Operation>(client: Client, operation: O): Required<Pick<Client, O>> {
  if (client[operation] === undefined) throw new Error(`${client.who} cannot ${operation}`)
  return client as Client & Required<Pick<Client, O>>
}
