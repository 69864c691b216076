/**
 * Brings SFTP up on a connection: by the server's SFTP service or, where a login script prints into that
 * or the server has none, by its `sftp-server` program, run as a command behind a random mark. Says what a
 * failure means to a person. Which channel is used later, and by whom, is not decided here.
 */
import { randomBytes } from 'node:crypto'
import { messageOf } from '../../base/failure.ts'
import { diesWith, pause, race } from '../../base/race.ts'
import { ChannelRefused } from '../connection/channel-slots.ts'
import { ChannelClosed } from './refused-request.ts'
import { ChannelError, LinkLostError, SftpSilentError } from '../errors.ts'
import { patience } from './patience.ts'
import type { ExecChannel, Owner } from './exec.ts'
import { converse, type Offer } from './sftp-protocol.ts'
import { SftpChannel, type SftpWay } from './sftp.ts'
import { widened } from './wide-window.ts'

/** What opening takes from a connection. */
export interface SftpOpener {
  readonly owner: Owner
  /** The server's identification line. */
  readonly ident: string
  /** Start the SFTP service. @throws as `command`; ssh2's error when there is no service. */
  service(): Promise<ExecChannel>
  /**
   * Run a command line through the login shell. `settled` is to be called when the command is known to
   * stay or to have failed: some servers bear no two short commands at once.
   * @throws ChannelRefused; ChannelClosed; LinkLostError; whatever else means that commands are not run.
   */
  command(line: string): Promise<{ readonly channel: ExecChannel; settled(): void }>
}

/** Where systems keep the program; the first one that is there is taken, then one on the search path. */
const PROGRAMS = [
  '/usr/lib/openssh/sftp-server',
  '/usr/libexec/openssh/sftp-server',
  '/usr/libexec/sftp-server',
  '/usr/lib/ssh/sftp-server',
  '/usr/lib/sftp-server',
  '/usr/lib/misc/sftp-server',
  '/usr/local/libexec/sftp-server',
  '/opt/libexec/sftp-server',
] as const

/** What a login script can print before the mark, in bytes; what is longer is no greeting. */
const LONGEST_NOISE = 1024 * 1024
/** So much of it is shown to a person, in characters. */
const SHOWN_NOISE = 60
/** A server without a free channel is asked again for so long: it frees closed ones late. */
const REFUSED_MS = 2000
const FIRST_PAUSE_MS = 20
const LONGEST_PAUSE_MS = 250
const MOST_SLIPS = 3
/** What printed instead of speaking SFTP ends within this time, once its channel is closed. */
const GONE_MS = 500
const DOES_NOT_WORK = 'the SFTP service of its SSH server does not work'

/** The service cannot be used on this machine; its program, run as a command, may still work. */
class NoService extends Error {
  /** `text`: words came instead of SFTP, and are the message. `none`: the server has no such service. `ended`: it ended at once. */
  readonly kind: 'text' | 'none' | 'ended'

  constructor(kind: NoService['kind'], sentence: string, cause: unknown) {
    super(sentence, { cause })
    this.kind = kind
  }
}

/** @throws ChannelError `no-sftp` or `refused`; LinkLostError. */
export async function openSftp(opener: SftpOpener): Promise<SftpChannel> {
  try {
    return await byService(opener)
  } catch (error) {
    if (!(error instanceof NoService)) throw error
    return byProgram(opener, error)
  }
}

/** One more channel of a server whose service works, if there is one at once. @throws anything. */
export async function openBulkSftp(opener: SftpOpener): Promise<SftpChannel> {
  return byService(opener, 0)
}

async function byService(opener: SftpOpener, patienceMs = REFUSED_MS): Promise<SftpChannel> {
  const { owner } = opener
  const channel = await patiently(owner, () => opener.service(), patienceMs).catch((error: unknown) => {
    const text = messageOf(error)
    if (error instanceof ChannelError || error instanceof LinkLostError) throw error
    if (error instanceof ChannelClosed) throw new NoService('ended', `${DOES_NOT_WORK}: ${text}`, error)
    if (/subsystem/i.test(text)) throw new NoService('none', 'its SSH server offers no SFTP', error)
    throw new LinkLostError(`SFTP could not be opened: ${text}`, { machine: owner.machine, cause: error })
  })
  const heard = new Heard(channel)
  return speak(channel, opener, { kind: 'service' }, Buffer.alloc(0), async (error) => {
    // dropbear takes the end of what ran in a channel for that of the next one, unless the first is closed.
    await race(() => channel.closed, [], {
      afterMs: GONE_MS,
      error: () => new Error('it does not end'),
    }).catch((_itStays: unknown) => undefined)
    return heard.explain(error)
  })
}

/** @param failure - why the service could not be used. */
async function byProgram(opener: SftpOpener, failure: NoService): Promise<SftpChannel> {
  const { owner } = opener
  const { machine } = owner
  const mark = `presence-${randomBytes(12).toString('hex')}-`
  const command = await patiently(owner, () => opener.command(startLine(mark))).catch((error: unknown) => {
    throw error instanceof LinkLostError ? error : noSftp(machine, failure, 'out-of-reach')
  })
  try {
    const found = await afterMark(command.channel, mark, owner)
    if (found === undefined) throw noSftp(machine, failure, 'out-of-reach')
    const { program, rest } = found
    if (program === '') throw noSftp(machine, failure, 'missing')
    const reason = whyProgram(failure)
    return await speak(command.channel, opener, { kind: 'program', program, reason }, rest, (error) => {
      const both = `${reason}; ${program} did not help: ${messageOf(error)}`
      return new ChannelError(both, 'no-sftp', { machine, cause: error })
    })
  } catch (error) {
    command.channel.close()
    throw error
  } finally {
    command.settled()
  }
}

/**
 * Open something, again and again while the server refuses: it frees closed channels late. A channel that it
 * closes unasked is a slip of a server like dropbear; one that does so always has nothing to give.
 */
async function patiently<T>(
  { machine, dead }: Owner,
  open: () => Promise<T>,
  patienceMs = REFUSED_MS,
): Promise<T> {
  const began = performance.now()
  let slips = 0
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await open()
    } catch (error) {
      const slipped = error instanceof ChannelClosed && (slips += 1) <= MOST_SLIPS
      if (!slipped && !(error instanceof ChannelRefused)) throw error
      if (performance.now() - began >= patienceMs) {
        throw new ChannelError('it allows no further channel for SFTP', 'refused', { machine, cause: error })
      }
      await pause(Math.min(FIRST_PAUSE_MS * attempt, LONGEST_PAUSE_MS), [diesWith(dead)])
    }
  }
}

/** Between single quotes, nothing of it means anything to any login shell that we know. */
function startLine(mark: string): string {
  const take = `if [ -f "$s" ] && [ -x "$s" ]; then echo ${mark}"$s"; exec "$s"; fi`
  const script = `for s in ${PROGRAMS.join(' ')} "$(command -v sftp-server)"; do ${take}; done; echo ${mark}`
  return `exec /bin/sh -c '${script}'`
}

/** What is after the mark: the rest of its line, which names the program, and the first bytes behind it. */
interface Marked {
  readonly program: string
  readonly rest: Buffer
}

/** Drop what comes before the mark. @returns undefined when there is none: something else was run. */
function afterMark(
  { stdout, stderr, closed }: ExecChannel,
  mark: string,
  owner: Owner,
): Promise<Marked | undefined> {
  const waiting = Promise.withResolvers<Marked | undefined>()
  let found: Buffer = Buffer.alloc(0)
  const read = (chunk: Buffer): void => {
    found = Buffer.concat([found, chunk])
    const start = found.indexOf(mark)
    const end = start < 0 ? -1 : found.indexOf(0x0a, start)
    if (end >= 0) {
      // Nothing may flow before the conversation listens.
      stdout.pause()
      stdout.off('data', read)
      const program = found.toString('utf8', start + mark.length, end)
      waiting.resolve({ program, rest: found.subarray(end + 1) })
    } else if (start < 0 && found.length > LONGEST_NOISE) {
      found = found.subarray(-mark.length)
    }
  }
  stdout.on('data', read)
  stderr.resume()
  void closed.then(() => waiting.resolve(undefined))
  return inTime(owner, () => waiting.promise)
}

/**
 * Begin the conversation on a channel that runs an SFTP server.
 * @param early - bytes of it that were read already.
 * @param explain - makes an error of a conversation that did not begin.
 */
async function speak(
  channel: ExecChannel,
  { owner, ident }: SftpOpener,
  way: SftpWay,
  early: Buffer,
  explain: (error: unknown) => Promise<Error> | Error,
): Promise<SftpChannel> {
  const conversation = converse(channel, ident)
  channel.stdout.once('end', () => channel.close())
  void channel.closed.then(() => conversation.finish())
  channel.stderr.resume()
  if (early.length > 0) conversation.receive(early)
  const refill = widened(channel.stdout)
  channel.stdout.on('data', (chunk: Buffer) => {
    conversation.receive(chunk)
    refill()
  })
  channel.stdout.resume()
  let offer: Offer
  try {
    offer = await inTime(owner, () => conversation.begin())
  } catch (error) {
    channel.close()
    throw error instanceof LinkLostError ? error : await explain(error)
  }
  return new SftpChannel(conversation, owner, offer, way)
}

/**
 * Wait for what the program says. Whoever hears of its silence may try again at once: by then it is known
 * whether the whole line is dead.
 */
async function inTime<T>(owner: Owner, wait: () => Promise<T>): Promise<T> {
  let verdict: Promise<void> | undefined
  try {
    const deadline = patience(owner, owner.requestMs, () => {
      verdict = owner.suspect(owner.requestMs)
      return silent(owner)
    })
    return await race(wait, [diesWith(owner.dead)], deadline)
  } catch (error) {
    await verdict
    throw error
  }
}

function silent({ machine, requestMs }: Owner): SftpSilentError {
  return new SftpSilentError(
    `SFTP did not start within ${requestMs / 1000} s; does a login script wait for something?`,
    { machine },
  )
}

/** What came from a service before it began to speak SFTP, or instead of that. */
class Heard {
  #text = ''
  readonly #channel: ExecChannel

  constructor(channel: ExecChannel) {
    this.#channel = channel
    for (const stream of [channel.stdout, channel.stderr]) {
      const note = (chunk: Buffer): void => {
        if (this.#text.length < SHOWN_NOISE) this.#text += chunk.toString('latin1', 0, SHOWN_NOISE)
        else stream.off('data', note)
      }
      stream.on('data', note)
    }
  }

  /** Why the service did not speak SFTP. */
  async explain(error: unknown): Promise<NoService> {
    const text = this.#text
      .replace(/\u001b\[[0-9;?]*[A-Za-z]/g, '')
      .replace(/[^\x20-\x7e]+/g, ' ')
      .trim()
    if (text !== '') return new NoService('text', text.slice(0, SHOWN_NOISE), error)
    const end = await this.#channel.exit.then(
      ({ exitCode, signal }) => `it ended at once (${signal ?? `exit code ${String(exitCode)}`})`,
      (_notTold: unknown) => messageOf(error),
    )
    return new NoService('ended', `${DOES_NOT_WORK}: ${end}`, error)
  }
}

/** Files cannot be had: the program either is not there, or no command can be run to start it. */
function noSftp(
  machine: string,
  { kind, message, cause }: NoService,
  program: 'missing' | 'out-of-reach',
): ChannelError {
  const quiet = 'print only in interactive shells, or use the internal-sftp subsystem'
  const tail = program === 'missing' ? ', and there is no sftp-server program to run instead' : ''
  const reason =
    kind !== 'text'
      ? `${message}${tail}`
      : program === 'missing'
        ? `SFTP is broken by text that a login script prints ("${message}"); ${quiet}`
        : `text comes instead of SFTP ("${message}"): the account is allowed none, or a login script prints it; then ${quiet}`
  return new ChannelError(reason, 'no-sftp', { machine, cause })
}

/** Why the program was run instead, for a person. */
function whyProgram({ kind, message }: NoService): string {
  return kind === 'text' ? `a login script prints text into its SFTP service ("${message}")` : message
}
