/** Telling that a command failed because the sandbox refused a change, as the host tells it of its own. */
import { escalationHintMarker, sandboxDenialMarker, type SandboxMode } from '@deepseek-ai/dsh-sandbox'

export function deniedNote(mode: SandboxMode, exitCode: number | null, stderr: string): string {
  if (mode === 'danger-full-access' || exitCode === 0 || exitCode === null) return ''
  if (!/read-only file system/i.test(stderr)) return ''
  return `${sandboxDenialMarker(mode)}\n${escalationHintMarker('command')}`
}
