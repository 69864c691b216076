/**
 * Questions of a connection, asked in the terminal that the probe was started from. Where nobody sits at
 * one, every question is answered by `nobody`, and the failure that follows says what to do.
 */
import type { ReadStream, WriteStream } from 'node:tty'
import { NOBODY, type Answer, type Question, type Questions } from '../../src/ssh/questions.ts'
import { harmless } from './harmless.ts'

/** A terminal in both directions; prompts do not go to standard output, which may hold the result. */
export interface Terminal {
  readonly input: ReadStream
  readonly output: WriteStream
}

/** The terminal of this process, or undefined when there is nobody to see a prompt or to answer it. */
export function ownTerminal(): Terminal | undefined {
  const { stdin, stderr } = process
  return stdin.isTTY && stderr.isTTY ? { input: stdin, output: stderr } : undefined
}

export function questionsIn(terminal: Terminal | undefined): Questions {
  if (terminal === undefined) return NOBODY
  return { ask: (question, signal) => answer(terminal, question, signal) }
}

async function answer(terminal: Terminal, question: Question, signal: AbortSignal): Promise<Answer> {
  switch (question.kind) {
    case 'host-key':
      return confirm(terminal, hostKeyText(question), signal)
    case 'passphrase':
      return secret(terminal, `${again(question)}Passphrase of the key ${question.keyFile}: `, signal)
    case 'password':
      return secret(
        terminal,
        `${again(question)}Password of ${question.user} on ${question.machine}: `,
        signal,
      )
    case 'keyboard-interactive':
      return serversPrompts(terminal, question, signal)
  }
}

function hostKeyText(question: Extract<Question, { kind: 'host-key' }>): string {
  return [
    `The host key of ${question.machine} is not known:`,
    `  ${question.keyType} ${question.fingerprint}`,
    ...(question.otherTypesKnown
      ? ['Keys of other types are known for it. That this one is new may mean that it is another machine.']
      : []),
    'Compare it with what the machine itself tells: ssh-keygen -lf on the .pub file of its host key.',
    'Is it the right one, and shall it be written to your known_hosts? (yes/no) ',
  ].join('\n')
}

function again({ retry }: { readonly retry: boolean }): string {
  return retry ? 'That was not accepted. ' : ''
}

async function confirm(terminal: Terminal, text: string, signal: AbortSignal): Promise<Answer> {
  for (let prompt = text; ; prompt = 'Please type yes or no: ') {
    const line = (await readLine(terminal, prompt, 'shown', signal))?.trim().toLowerCase()
    if (line === undefined) return { kind: 'no' }
    if (line === 'yes' || line === 'no') return { kind: line }
  }
}

async function secret(terminal: Terminal, prompt: string, signal: AbortSignal): Promise<Answer> {
  const text = await readLine(terminal, prompt, 'hidden', signal)
  return text === undefined || text === '' ? { kind: 'no' } : { kind: 'text', text }
}

/**
 * A round of the server's own prompts, one after the other. Each begins with the account, so that no server
 * can pass its prompt off as ours; an empty line is an answer, since some servers wait for just that.
 */
async function serversPrompts(
  terminal: Terminal,
  question: Extract<Question, { kind: 'keyboard-interactive' }>,
  signal: AbortSignal,
): Promise<Answer> {
  const { user, machine, name, instructions, prompts } = question
  const said = [name, instructions].map((text) => harmless(text).trim()).filter((text) => text !== '')
  if (question.retry) terminal.output.write(`${again(question)}\n`)
  if (said.length > 0) terminal.output.write(`${machine} says:\n${said.join('\n').replace(/^/gm, '  ')}\n`)
  const texts: string[] = []
  for (const { text, echo } of prompts) {
    const prompt = `(${user} on ${machine}) ${harmless(text)}`
    const line = await readLine(terminal, prompt, echo ? 'shown' : 'hidden', signal)
    if (line === undefined) return { kind: 'no' }
    texts.push(line)
  }
  return { kind: 'texts', texts }
}

const ENTER = /[\r\n]/
const END_OF_INPUT = '\u0004'
const INTERRUPT = '\u0003'
const RUBOUT = /[\u007f\b]/
const KILL_LINE = '\u0015'
/** What keys like the arrows send; not part of any answer. */
const ESCAPE_SEQUENCE = /\u001b(\[[0-9;]*[A-Za-z~]|O[A-Za-z])/g

/**
 * One line, without its end. Nothing is printed of a hidden one, not even its length.
 * @returns undefined when the person ends the input, or when `signal` says that it is no longer needed.
 */
function readLine(
  { input, output }: Terminal,
  prompt: string,
  echo: 'shown' | 'hidden',
  signal: AbortSignal,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    let line = ''
    const show = (text: string): void => {
      if (echo === 'shown') output.write(text)
    }
    const finish = (answer: string | undefined): void => {
      input.off('data', read)
      input.setRawMode(false)
      input.pause()
      signal.removeEventListener('abort', leave)
      output.write('\n')
      resolve(answer)
    }
    const leave = (): void => finish(undefined)
    const read = (typed: string): void => {
      for (const key of typed.replace(ESCAPE_SEQUENCE, '')) {
        if (ENTER.test(key)) {
          finish(line)
          return
        }
        if (key === INTERRUPT) {
          // As it would have been without raw mode. Whoever listens for it ends the attempt, and with it
          // this question: until then there is no answer.
          process.kill(process.pid, 'SIGINT')
          return
        }
        if (key === END_OF_INPUT) {
          finish(line === '' ? undefined : line)
          return
        }
        if (RUBOUT.test(key)) {
          if (line !== '') show('\b \b')
          line = [...line].slice(0, -1).join('')
        } else if (key === KILL_LINE) {
          show('\b \b'.repeat([...line].length))
          line = ''
        } else {
          show(key)
          line += key
        }
      }
    }
    if (signal.aborted) {
      resolve(undefined)
      return
    }
    signal.addEventListener('abort', leave, { once: true })
    input.setEncoding('utf8')
    // Before the prompt: what is typed at its sight must not be shown by the terminal itself.
    input.setRawMode(true)
    input.on('data', read)
    input.resume()
    output.write(prompt)
  })
}
