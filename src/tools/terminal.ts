/** `presence_terminal`: interactive programs on a machine, kept by name between calls. */
import { defineTool, type ToolDefinition } from '@deepseek-ai/dsh-tools'
import { inHostTerms } from '../host/errors.ts'
import { textBlock } from './bounded.ts'
import { field } from './cards.ts'
import type { ToolDeps } from './deps.ts'
import { HOST_PARAMETER } from './parameters.ts'
import { PERMISSION_PARAMETERS } from './permission.ts'
import { TERMINAL_ACTIONS, TERMINAL_SIGNALS, terminalActions } from './terminal-actions.ts'
import { TERMINAL_KEYS } from './terminal-keys.ts'

const DEFAULT_SECONDS = 10
const MOST_SECONDS = 300
const DEFAULT_QUIET_MS = 600

export function terminalTool(deps: ToolDeps): ToolDefinition {
  const actions = terminalActions(deps)
  return defineTool({
    name: 'presence_terminal',
    description:
      'Drive an interactive program (shell, REPL, pager, installer, debugger) in a named terminal on a remote machine. It stays open between calls. start, write and read answer with what the program printed since the last read: they wait until wait_for has come, or else until the program has been quiet, and at most timeout_seconds.',
    parameters: {
      action: {
        type: 'string',
        required: true,
        enum: [...TERMINAL_ACTIONS],
        description:
          'start a program; write text into it; read what came; resize; signal its foreground program; close; list the open terminals.',
      },
      name: {
        type: 'string',
        description: 'Your name for the terminal. Default "main"; not used by list.',
      },
      command: {
        type: 'string',
        description: 'start: command line, e.g. "python3 -q". Default: an interactive shell.',
      },
      host: HOST_PARAMETER,
      workdir: { type: 'string', description: 'start: folder; default: the workspace.' },
      text: { type: 'string', description: 'write: text to type.' },
      key: {
        type: 'string',
        enum: TERMINAL_KEYS,
        description: 'write: key to press after the text. Default enter; none presses nothing.',
      },
      wait_for: {
        type: 'string',
        description: 'start, write, read: exact text to wait for, such as the prompt; not only for quiet.',
      },
      quiet_ms: {
        type: 'integer',
        description: `start, write, read: silence that ends the wait. Default ${DEFAULT_QUIET_MS}.`,
      },
      timeout_seconds: {
        type: 'number',
        description: `start, write, read: longest wait. Default ${DEFAULT_SECONDS}, at most ${MOST_SECONDS}. The program runs on.`,
      },
      rows: { type: 'integer', description: 'start, resize: lines, default 30.' },
      cols: { type: 'integer', description: 'start, resize: columns, default 120.' },
      signal: {
        type: 'string',
        enum: [...TERMINAL_SIGNALS],
        description: 'signal: what to send. Default SIGINT.',
      },
      ...PERMISSION_PARAMETERS,
    },
    output: {
      schema: {
        type: 'object',
        additionalProperties: false,
        properties: {
          head: { type: 'string', required: true },
          output: { type: 'string', required: true },
        },
      },
      render: (_args, value) =>
        textBlock(value.output === '' ? value.head : `${value.head}\n${value.output}`),
      presentationMeta: (_args, value) => ({ output: value.output }),
    },
    timeoutMs: (MOST_SECONDS + 60) * 1000,
    presentCall: (args) => ({
      card: 'terminal',
      title: `${args.action} ${args.name ?? 'main'}${args.text === undefined ? '' : `: ${args.text}`}`,
      ...(args.command === undefined ? {} : { description: args.command }),
    }),
    presentResult: (_args, result) => {
      const output = field<string>(result, 'output')
      return output === undefined ? undefined : { card: 'terminal', output }
    },
    execute: (args, exec) =>
      inHostTerms(async () => {
        const seconds = Math.min(Math.max(args.timeout_seconds ?? DEFAULT_SECONDS, 0), MOST_SECONDS)
        return actions[args.action as keyof typeof actions](
          {
            ...args,
            name: args.name ?? 'main',
            until: {
              marker: args.wait_for === '' ? undefined : args.wait_for,
              quietMs: Math.min(Math.max(args.quiet_ms ?? DEFAULT_QUIET_MS, 50), MOST_SECONDS * 1000),
              timeoutMs: seconds * 1000,
            },
          },
          exec,
        )
      }),
  })
}
