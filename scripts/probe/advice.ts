/** What a person can do about a connection that failed. The reason itself is the error's own sentence. */
import { ConnectError, type SshErrorCode } from '../../src/ssh/errors.ts'

export function adviceFor(error: unknown, machine: string, asked: boolean): string {
  if (!(error instanceof ConnectError)) {
    return `Try again; if it stays so, compare with \`ssh -v ${machine} true\`.`
  }
  return forCode(error.code, machine, asked)
}

function forCode(code: SshErrorCode, machine: string, asked: boolean): string {
  const inTerminal = asked ? '' : ' Run this probe in a terminal to be asked.'
  switch (code) {
    case 'unknown-machine':
      return `Write a "Host ${machine}" block into your SSH configuration, or probe one of the names that are in it.`
    case 'bad-config':
      return `Correct the configuration; \`ssh -G ${machine}\` shows what ssh makes of it.`
    case 'unsupported':
      return 'Presence cannot do this yet, and does not connect in another way instead.'
    case 'unreachable':
      return 'Check the name, the port and the network, and that an SSH server runs there.'
    case 'connect-timeout':
      return 'Check the network and firewalls on the way; ConnectTimeout in your SSH configuration allows for more time.'
    case 'not-ssh':
      return 'Check the port: something answers there, but it is no SSH server.'
    case 'crowded':
      return 'Try again in a while; if it stays so, see MaxStartups and the ban lists of the server (fail2ban, hosts.deny).'
    case 'no-common-algorithm':
      return 'Allow what the server offers by Ciphers, MACs, KexAlgorithms or HostKeyAlgorithms, or update the server.'
    case 'host-key-unknown':
      return `Compare the fingerprint with the machine's own, then accept the key once.${inTerminal}`
    case 'host-key-changed':
      return 'Do not connect before you know why. If the machine was set up anew, remove the line that disagrees.'
    case 'host-key-revoked':
      return 'The key was declared unsafe. The machine needs another one.'
    case 'auth-failed':
    case 'question-unanswered':
      return `Load a key that the machine accepts with ssh-add, or name one by IdentityFile.${inTerminal}`
    case 'closed':
      return `Look into the server's log, and compare with \`ssh -v ${machine} true\`.`
  }
}
