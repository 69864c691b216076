/**
 * An echo server as a program, to run at the far end of a line: sends back what it gets. Prints its port.
 *
 *   node echo.ts <address>
 */
import { createServer, type AddressInfo } from 'node:net'

const server = createServer({ noDelay: true }, (socket) => {
  socket.on('error', () => socket.destroy())
  socket.pipe(socket)
})
server.listen(0, process.argv[2], () => console.log((server.address() as AddressInfo).port))
