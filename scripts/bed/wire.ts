/**
 * The process between the two ends of a delay bed. It runs in a network namespace of its own, makes one
 * VXLAN device for each end, moves them to where they belong, and forwards between them with delay.
 *
 *   unshare --net -- node wire.ts '<WireOrder as JSON>'      prints {"far":<pid>} when the line is up
 *
 * Why VXLAN: the kernel hands such a device's frames to a UDP port, which plain Node can serve. A TUN
 * device needs an ioctl, which Node cannot make, so it would need a compiler or another interpreter; and
 * `tc … netem` is not in every kernel (it is missing in small virtual machines). TCP stays the kernel's
 * from end to end, so Nagle's algorithm, delayed acknowledgements, slow start and windows are real.
 *
 * Nothing of it can outlive this process: both devices belong to this namespace and go with it, wherever
 * they are, and the far namespace is kept by a child that ends with us.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import dgram from 'node:dgram'
import { run } from '../project/children.ts'
import { DelayLine, type LineOptions } from './delay-line.ts'

export interface WireOrder {
  readonly near: WireEnd
  readonly far: WireEnd
  /** Of the devices, in bytes. */
  readonly mtu: number
  readonly line: LineOptions
}

export interface WireEnd {
  readonly device: string
  /** Its hardware address. */
  readonly address: string
}

/** Ports of this namespace, where nobody else is: the device listens on one and sends to the other. */
const PORTS = { near: { device: 4001, ours: 5001 }, far: { device: 4002, ours: 5002 } } as const

/**
 * Not 127.0.0.1: for an address of this host the kernel looks for a device of the same number instead of
 * sending. A broadcast is sent, and here it reaches only us.
 */
const TO_US = '127.255.255.255'

const SOCKET_BUFFER = 4 << 20

async function main(order: WireOrder): Promise<void> {
  endWithParent()
  const far = await farNamespace()
  await ip(['link set lo up'])
  await makeDevice(order.near, PORTS.near, order.mtu)
  await makeDevice(order.far, PORTS.far, order.mtu)
  await Promise.all([
    carry(PORTS.near.ours, PORTS.far.device, order.line),
    carry(PORTS.far.ours, PORTS.near.device, order.line),
  ])
  await ip([
    `link set ${order.near.device} netns ${process.ppid}`,
    `link set ${order.far.device} netns ${far}`,
  ])
  console.log(JSON.stringify({ far }))
}

/** @returns the id of a process that keeps a namespace with its loopback up until we end. */
async function farNamespace(): Promise<number> {
  const keeper = spawn('unshare', ['--net', '--', 'sh', '-c', 'ip link set lo up && echo up && exec cat'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = once(keeper, 'exit').then(() => Promise.reject(new Error('no second network namespace')))
  await Promise.race([once(keeper.stdout, 'data'), ended])
  ended.catch((_goesWithUs: unknown) => process.exit(1))
  if (keeper.pid === undefined) throw new Error('no second network namespace')
  return keeper.pid
}

async function makeDevice(
  end: WireEnd,
  ports: { readonly device: number; readonly ours: number },
  mtu: number,
): Promise<void> {
  const { device, address } = end
  await ip([
    `link add ${device} address ${address} mtu ${mtu} type vxlan id 1 dstport ${ports.device} nolearning`,
    // No addresses of its own accord: their announcements would be under way among the measured packets.
    `link set ${device} addrgenmode none`,
  ])
  const everything = ['fdb', 'append', '00:00:00:00:00:00', 'dev', device]
  await succeed(['bridge', ...everything, 'dst', TO_US, 'port', String(ports.ours)])
}

/** Forward what comes to a port of ours to the other device, delayed. */
async function carry(from: number, to: number, options: LineOptions): Promise<void> {
  const out = dgram.createSocket({ type: 'udp4', sendBufferSize: SOCKET_BUFFER })
  const inward = dgram.createSocket({ type: 'udp4', recvBufferSize: SOCKET_BUFFER })
  // A device that is not up yet refuses; packets may get lost, as on any line.
  out.on('error', (_refused) => undefined)
  out.connect(to, '127.0.0.1')
  inward.bind(from)
  await Promise.all([once(out, 'connect'), once(inward, 'listening')])
  const line = new DelayLine(options, (packet) => out.send(packet))
  inward.on('message', (packet) => line.push(packet))
}

async function ip(commands: readonly string[]): Promise<void> {
  await succeed(['ip', '-batch', '-'], commands.map((command) => `${command}\n`).join(''))
}

async function succeed(argv: readonly string[], input?: string): Promise<void> {
  const { code, stderr } = await run(argv, input === undefined ? {} : { input })
  if (code !== 0) throw new Error(`${argv.join(' ')}: ${stderr.trim()}`)
}

/** Also when the parent is killed and can tell nobody. */
function endWithParent(): void {
  const parent = process.ppid
  setInterval(() => {
    if (process.ppid !== parent) process.exit(1)
  }, 300)
}

await main(JSON.parse(process.argv[2] ?? '') as WireOrder)
