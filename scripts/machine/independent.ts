/**
 * A second opinion on a machine that does not go through Presence: the `ssh` program where there is
 * one, otherwise a plain client that only logs in and runs one command.
 */
import { readFile } from 'node:fs/promises'
import ssh2 from 'ssh2'
import { run } from '../project/children.ts'
import { findProgram } from '../project/programs.ts'
import type { CommandOutcome } from './machine.ts'

/** Milliseconds; every command a rig runs is a short one. */
const DEADLINE_MS = 30_000

export interface Witness {
  /** How it looks, for a person: `ssh -F …/ssh_config demo`. */
  readonly how: string
  run(command: string): Promise<CommandOutcome>
}

/** Where and as whom a plain client logs in. */
export interface Login {
  readonly alias: string
  readonly host: string
  readonly port: number
  readonly user: string
  readonly identityFile: string
  readonly knownHostsFile: string
  readonly sshConfigFile: string
}

/** A witness for a machine whose configuration file is known. */
export function witnessOf(login: Login): Witness {
  const ssh = findProgram('ssh')
  return ssh === undefined
    ? plainWitness(login)
    : sshWitness(
        [ssh, '-F', login.sshConfigFile, login.alias],
        `ssh -F ${login.sshConfigFile} ${login.alias}`,
      )
}

/**
 * A witness for a machine of the user's own configuration.
 * @throws without an `ssh` program, because only that understands the configuration independently.
 */
export function witnessOfAlias(alias: string): Witness {
  const ssh = findProgram('ssh')
  if (ssh === undefined) throw new Error('checking a machine of your own needs the ssh program')
  return sshWitness([ssh, '-o', 'BatchMode=yes', alias], `ssh ${alias}`)
}

function sshWitness(argv: readonly string[], how: string): Witness {
  return {
    how,
    run: async (command) => {
      const { code, stdout, stderr } = await run([...argv, command], { timeoutMs: DEADLINE_MS })
      return { code, stdout, stderr }
    },
  }
}

/** A client of its own on ssh2, sharing no code with the product. */
export function plainWitness(login: Login): Witness {
  return {
    how: `a plain SSH client as ${login.user}@${login.host}:${login.port}`,
    run: async (command) => {
      const client = await connect(login)
      try {
        return await execute(client, command)
      } finally {
        client.end()
      }
    },
  }
}

async function connect(login: Login): Promise<ssh2.Client> {
  const known = (await readFile(login.knownHostsFile, 'utf8')).split('\n').map((line) => line.split(' '))
  const expected = known.find(([host]) => host === `[${login.host}]:${login.port}`)?.[2]
  if (expected === undefined)
    throw new Error(`${login.knownHostsFile} does not know ${login.host}:${login.port}`)
  const client = new ssh2.Client()
  const ready = new Promise<void>((resolve, reject) => {
    client.once('ready', resolve)
    client.on('error', reject)
  })
  client.connect({
    host: login.host,
    port: login.port,
    username: login.user,
    privateKey: await readFile(login.identityFile),
    hostVerifier: (key: Buffer) => key.toString('base64') === expected,
    readyTimeout: DEADLINE_MS,
  })
  await ready
  return client
}

function execute(client: ssh2.Client, command: string): Promise<CommandOutcome> {
  return new Promise((resolve, reject) => {
    client.once('error', reject)
    client.exec(command, (refused, channel) => {
      if (refused !== undefined) {
        reject(refused)
        return
      }
      const [stdout, stderr]: [Buffer[], Buffer[]] = [[], []]
      channel.on('data', (chunk: Buffer) => stdout.push(chunk))
      channel.stderr.on('data', (chunk: Buffer) => stderr.push(chunk))
      channel.on('close', (code: number | null | undefined) =>
        resolve({
          code: code ?? null,
          stdout: Buffer.concat(stdout).toString('utf8'),
          stderr: Buffer.concat(stderr).toString('utf8'),
        }),
      )
      channel.end()
    })
  })
}
