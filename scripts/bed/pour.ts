/**
 * A server of nothing but bytes as a program, to run at the far end of a line. Prints its port. A
 * connection asks with one line for so many bytes, or brings so many and gets one byte for them.
 *
 *   node pour.ts <address>          get <bytes>\n      put <bytes>\n<the bytes>
 */
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { pour } from './raw-rate.ts'

const server = createServer({ noDelay: true }, (socket) => {
  socket.on('error', () => socket.destroy())
  void serve(socket).catch((_itHasLeft: unknown) => socket.destroy())
})
server.listen(0, process.argv[2], () => console.log((server.address() as AddressInfo).port))

async function serve(socket: Socket): Promise<void> {
  const [first] = (await once(socket, 'data')) as [Buffer]
  const end = first.indexOf('\n')
  const [verb, bytes] = first.toString('latin1', 0, end).split(' ')
  if (verb === 'get') return pour(socket, Number(bytes))
  let left = Number(bytes) - (first.length - end - 1)
  socket.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left <= 0) socket.end('.')
  })
}
