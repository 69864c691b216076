/**
 * One `inotifywait` on a machine, from the request to the last trace of it: started as commands are, so that it
 * ends with its channel and with the link. Passes on the words of the script `NOTIFY`; what they are good for is
 * decided elsewhere.
 */
import type { RemotePath } from '../../../base/remote-path.ts'
import { pause } from '../../../base/race.ts'
import type { ExecChannel } from '../../../ssh/channel/exec.ts'
import type { MachineSession } from '../../session.ts'
import { startScript } from '../../shell/command-line.ts'
import { MarkedStream, randomMark } from '../../shell/marked.ts'
import { openScript } from '../../shell/open-script.ts'
import { LAUNCH, NOTIFY } from '../../shell/scripts.ts'

/** Between TERM and KILL, in tenths of a second. */
const GRACE_TENTHS = 5
/** What is told to stop has ended by then, or its connection is of no use. */
const STOP_MS = 3000

export class Notifier {
  /** Settles when it has ended, for whatever reason; never rejects. */
  readonly ended: Promise<void>
  readonly #channel: ExecChannel

  /** Whether the machine has the program; undefined when it cannot be asked without waiting for room. */
  static async isThere(session: MachineSession, signal: AbortSignal): Promise<boolean | undefined> {
    const helper = await session.helperAtHand(signal)
    const answer = await helper?.run('command -v inotifywait >/dev/null', { signal })
    return answer === undefined ? undefined : answer.status === 0
  }

  /**
   * @param heard - the words of one line of `NOTIFY`.
   * @param yields - called when others want its place: it should stop.
   * @throws ChannelError `refused` where there is no room for it at once, `no-exec`; LinkLostError.
   */
  static async start(
    session: MachineSession,
    paths: readonly RemotePath[],
    heard: (words: readonly string[]) => void,
    yields: () => void,
    signal: AbortSignal,
  ): Promise<Notifier> {
    const mark = randomMark()
    const command = ['/bin/sh', '-c', NOTIFY, 'presence', ...paths]
    const start = startScript(
      LAUNCH,
      [mark, '/', String(GRACE_TENTHS), 'watched', '0', ...command],
      session.requireShell().loginShell,
    )
    const channel = await openScript(session.exec, start, {
      signal,
      lasting: true,
      idles: true,
      modest: true,
      yields,
    })
    return new Notifier(channel, mark, heard)
  }

  private constructor(channel: ExecChannel, mark: string, heard: (words: readonly string[]) => void) {
    this.#channel = channel
    this.ended = channel.closed
    let rest = ''
    const stream = new MarkedStream(
      mark,
      () => undefined,
      (chunk) => {
        const lines = `${rest}${chunk.toString('latin1')}`.split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) heard(line.split(' ').filter((word) => word !== ''))
      },
    )
    channel.stdout.on('data', (chunk: Buffer) => stream.push(chunk))
    channel.stderr.resume()
  }

  /** End it and everything that it has started. */
  async stop(): Promise<void> {
    this.#channel.stdin.end('stop\n')
    await Promise.race([this.ended, pause(STOP_MS)])
    this.#channel.close()
  }
}
