/** `presence_exec`: one command on a machine, under the session's sandbox mode. */
import { defineTool, type ToolDefinition } from '@deepseek-ai/dsh-tools'
import { startCommand } from '../core/commands.ts'
import { inHostTerms } from '../host/errors.ts'
import { textBlock } from './bounded.ts'
import { field } from './cards.ts'
import type { ToolDeps } from './deps.ts'
import { HOST_PARAMETER } from './parameters.ts'
import { PERMISSION_PARAMETERS, policyFor } from './permission.ts'
import { shownPlace, targetOf } from './target.ts'
import { deniedNote } from './denial.ts'
import { HeadAndTail } from './head-and-tail.ts'
import { runToEnd } from './run-to-end.ts'

const DEFAULT_SECONDS = 60
const MOST_SECONDS = 600
const GRACE_MS = 3000
/** Of each of the two outputs. */
const SHOWN_BYTES = 30_000

export function execTool({ ctx, presence }: ToolDeps): ToolDefinition {
  return defineTool({
    name: 'presence_exec',
    description:
      'Run one shell command on a remote machine and wait for it. Its input is empty. Output is cut in the middle when it is long. For programs that ask questions use presence_terminal.',
    parameters: {
      host: HOST_PARAMETER,
      command: {
        type: 'string',
        required: true,
        description: 'Command for bash (or sh where there is no bash).',
      },
      workdir: { type: 'string', description: 'Folder to run in; default: the workspace.' },
      timeout_seconds: {
        type: 'number',
        description: `The command is ended after this. Default ${DEFAULT_SECONDS}, at most ${MOST_SECONDS}.`,
      },
      ...PERMISSION_PARAMETERS,
    },
    output: {
      schema: {
        type: 'object',
        additionalProperties: false,
        properties: {
          place: { type: 'string', required: true },
          exit: { type: 'string', required: true },
          exitCode: { required: true, oneOf: [{ type: 'integer' }, { type: 'null' }] },
          stdout: { type: 'string', required: true },
          stderr: { type: 'string', required: true },
          note: { type: 'string', required: true },
        },
      },
      render: (_args, value) => {
        const parts = [
          `${value.place} (${value.exit})`,
          value.stdout === '' ? '' : value.stdout.replace(/\n$/, ''),
          value.stderr === '' ? '' : `[stderr]\n${value.stderr.replace(/\n$/, '')}`,
          value.note,
        ]
        return textBlock(parts.filter((part) => part !== '').join('\n'))
      },
      presentationMeta: (_args, value) => ({
        output: `${value.stdout}${value.stderr}`,
        exitCode: value.exitCode,
      }),
    },
    timeoutMs: (MOST_SECONDS + 30) * 1000,
    presentCall: (args) => ({
      card: 'terminal',
      title: args.command,
      ...(args.workdir === undefined ? {} : { cwd: args.workdir }),
    }),
    presentResult: (_args, result) => {
      const output = field<string>(result, 'output')
      if (output === undefined) return undefined
      const exitCode = field<number | null>(result, 'exitCode')
      return { card: 'terminal', output, ...(typeof exitCode === 'number' ? { exitCode } : {}) }
    },
    async execute(args, exec) {
      const policy = await policyFor(ctx, presence, exec, args, 'command')
      return inHostTerms(async () => {
        const place = targetOf(presence, exec, { host: args.host, path: args.workdir }, '.')
        const session = await presence.machine(place.machine).session(exec.signal)
        const shell = session.requireShell().programs.bash === undefined ? 'sh' : 'bash'
        const seconds = Math.min(Math.max(args.timeout_seconds ?? DEFAULT_SECONDS, 1), MOST_SECONDS)
        const process = startCommand(
          presence,
          place,
          {
            argv: [shell, '-c', args.command],
            env: { NO_COLOR: '1', TERM: 'dumb', PAGER: 'cat', GIT_PAGER: 'cat' },
            input: 'none',
            graceMs: GRACE_MS,
          },
          policy,
        )
        const out = new HeadAndTail(SHOWN_BYTES)
        const err = new HeadAndTail(SHOWN_BYTES)
        process.stdout.on('data', (chunk: Buffer) => out.push(chunk))
        process.stderr.on('data', (chunk: Buffer) => err.push(chunk))
        const ran = await runToEnd(process, { signal: exec.signal, timeoutMs: seconds * 1000 })
        const [stdout, stderr] = [out.take(), err.take()]
        const notes = [
          ran.timedOut ? `[ended after ${seconds} s; raise timeout_seconds or use presence_terminal]` : '',
          stdout.leftOut + stderr.leftOut > 0
            ? `[the output was too long to show; to see more, send it to a file on ${place.machine} and read that in parts]`
            : '',
          deniedNote(policy.mode, ran.exitCode, stderr.text),
        ]
        return {
          place: shownPlace(place),
          exit: ran.signal === null ? `exit code ${String(ran.exitCode)}` : `ended by ${ran.signal}`,
          exitCode: ran.exitCode,
          stdout: stdout.text,
          stderr: stderr.text,
          note: notes.filter((note) => note !== '').join('\n'),
        }
      })
    },
  })
}
