/**
 * Round trips to an echo server as a program, for whoever must not lend it a process that is busy. Prints
 * the milliseconds of each as JSON.
 *
 *   node ask.ts <address> <port> <times>
 */
import { roundTrips } from './round-trip.ts'

const [host = '', port, times] = process.argv.slice(2)
console.log(JSON.stringify(await roundTrips({ host, port: Number(port) }, Number(times))))
