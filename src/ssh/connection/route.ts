/**
 * The way to a machine: the machines that are connected to one after the other, each with the settings of
 * its own blocks. Decided before anything is dialled, so that a circle is an error and not a wait.
 */
import type { MachineSettings } from '../config/settings.ts'
import { ConnectError } from '../errors.ts'

/** More hops than this are a mistake in the configuration. */
const MOST_HOPS = 16

/** The settings of a jump host as `ProxyJump` spells it, `[user@]host[:port]`. */
export type HopSettings = (hop: string) => Promise<MachineSettings>

/**
 * As `ssh` does: the last of several jump hosts is reached through those before it, whatever its own
 * configuration says; a jump host with none before it is reached as its own configuration says.
 * @returns the machines in the order they are connected to; the target is the last.
 * @throws ConnectError `bad-config` when the way leads in a circle, and what `hopSettings` throws.
 */
export async function planRoute(target: MachineSettings, hopSettings: HopSettings): Promise<Route> {
  const route: [MachineSettings, ...MachineSettings[]] = [target]
  const throughOwn = [target.alias]
  let before = target.proxyJump
  for (;;) {
    const hop = before.at(-1)
    if (hop === undefined) return route
    const rest = before.slice(0, -1)
    const settings = await hopSettings(hop)
    if (rest.length === 0) {
      if (throughOwn.includes(hop) || isItself(settings, route[0])) {
        throw circle(target, [...throughOwn, hop])
      }
      throughOwn.push(hop)
    }
    route.unshift(settings)
    if (route.length > MOST_HOPS) throw circle(target, throughOwn)
    before = rest.length > 0 ? rest : settings.proxyJump
  }
}

export type Route = readonly [MachineSettings, ...MachineSettings[]]

/** To `ssh` a jump host that is spelled as the very address it should lead to is a loop. */
function isItself(hop: MachineSettings, target: MachineSettings): boolean {
  return hop.alias === target.host && hop.port === target.port && hop.user === target.user
}

function circle(target: MachineSettings, names: readonly string[]): ConnectError {
  return new ConnectError(
    `its ProxyJump leads in a circle: ${names.join(' → ')} ("ProxyJump none" in the jump host's own block ends it)`,
    'bad-config',
    { machine: target.alias, stage: 'config' },
  )
}
