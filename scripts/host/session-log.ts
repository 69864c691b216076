/**
 * Reads the event logs that DSH keeps of its sessions, under `$DSH_HOME/sessions`. It knows the file
 * format and the few events that tell what the tools did.
 */
import { existsSync } from 'node:fs'
import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { zstdDecompressSync } from 'node:zlib'

export interface ToolStep {
  readonly callId: string
  readonly tool: string
  readonly args: Readonly<Record<string, unknown>>
  /** What the model was given to read. */
  readonly text: string
  readonly isError: boolean
}

export interface SessionLog {
  readonly id: string
  readonly cwd: string
  readonly steps: readonly ToolStep[]
  /** The model's last text. */
  readonly answer: string
  readonly events: readonly SessionEvent[]
}

export interface SessionEvent {
  readonly type: string
  readonly data?: unknown
}

/** Files of all sessions of a DSH home. */
export async function sessionFiles(dshHome: string): Promise<string[]> {
  const sessions = join(dshHome, 'sessions')
  if (!existsSync(sessions)) return []
  const found = await Array.fromAsync(glob('**/session.jsonl{,.zstd}', { cwd: sessions }))
  return found.map((file) => join(sessions, file)).sort()
}

export async function readSession(file: string): Promise<SessionLog> {
  const bytes = await readFile(file)
  const text = file.endsWith('.zstd') ? unpack(bytes) : bytes.toString('utf8')
  const lines = text.split('\n').filter((line) => line !== '')
  const events = lines.map((line) => JSON.parse(line) as SessionEvent)
  const [header] = events as unknown as { id?: string; cwd?: string }[]
  return {
    id: header?.id ?? '',
    cwd: header?.cwd ?? '',
    steps: stepsOf(events),
    answer: answerOf(events),
    events,
  }
}

const FRAME = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])

/**
 * The log is one Zstandard frame after another, appended as the session goes on, and Node unpacks only
 * the first. A frame ends where the next one begins; where that mark is a chance hit inside the data,
 * the frame's checksum does not fit and the next mark is tried.
 */
function unpack(bytes: Buffer): string {
  const texts: Buffer[] = []
  for (let start = 0; start < bytes.length;) {
    let end = start
    let unpacked: Buffer | undefined
    while (unpacked === undefined) {
      const next = bytes.indexOf(FRAME, end + 1)
      end = next < 0 ? bytes.length : next
      try {
        unpacked = zstdDecompressSync(bytes.subarray(start, end))
      } catch (notAWholeFrame) {
        if (end === bytes.length) throw notAWholeFrame
      }
    }
    texts.push(unpacked)
    start = end
  }
  return Buffer.concat(texts).toString('utf8')
}

interface CallData {
  readonly callId: string
  readonly name: string
  readonly arguments: string
}

interface ResultData {
  readonly message: {
    readonly content: readonly {
      readonly toolCallId: string
      readonly isError?: boolean
      readonly content: readonly { readonly text?: string }[]
    }[]
  }
}

function stepsOf(events: readonly SessionEvent[]): ToolStep[] {
  const calls = eventsOf<CallData>(events, 'tool/call')
  const results = eventsOf<ResultData>(events, 'tool/result').flatMap((result) => result.message.content)
  return calls.flatMap((call) => {
    const result = results.find((one) => one.toolCallId === call.callId)
    if (result === undefined) return []
    return [
      {
        callId: call.callId,
        tool: call.name,
        args: JSON.parse(call.arguments === '' ? '{}' : call.arguments) as Record<string, unknown>,
        text: result.content.map((part) => part.text ?? '').join('\n'),
        isError: result.isError === true,
      },
    ]
  })
}

interface MessageData {
  readonly message: { readonly content: readonly { readonly type: string; readonly text?: string }[] }
}

function answerOf(events: readonly SessionEvent[]): string {
  const last = eventsOf<MessageData>(events, 'assistant/message').at(-1)
  return (last?.message.content ?? [])
    .flatMap((part) => (part.type === 'text' ? (part.text ?? '') : []))
    .join('')
}

function eventsOf<Data>(events: readonly SessionEvent[], type: string): Data[] {
  return events.filter((event) => event.type === type).map((event) => event.data as Data)
}
