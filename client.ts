/** The browser half of Presence, as the host's page loads it: a Cordis plugin with one settings page and one button. */
import type { ClientContext } from './src/client/host.ts'
import { mount } from './src/client/mount.ts'

export const name = 'presence'

/** Only what every version of the host has: an entry that waits for a service holds up the whole page. */
export const inject = ['slots']

export function apply(ctx: ClientContext): void {
  mount(ctx)
}
