/** `machines`: what is known of them, and connecting to one. */
import type { Api } from '../../wire/api.ts'
import { hostName } from '../validate.ts'
import type { Handler } from './call.ts'

export const listMachines: Handler<Api['GET machines']> = async ({ port }) => ({
  machines: await port.machines(),
})

export const connectMachine: Handler<Api['POST machines/connect']> = async ({ port, json, signal }) => {
  const { host } = await json()
  return { machine: await port.connect(hostName(host), signal) }
}
