/**
 * Another process of DSH that takes jobs over: `node claimant.ts <folder of the record>`. At each line of its input
 * it claims all jobs that it finds, and prints which it got; it lives until its input ends.
 */
import { createInterface } from 'node:readline'
import { JobStore } from '../../src/places/job-store.ts'

const store = new JobStore(process.argv[2] ?? '', (text) => console.error(text))
createInterface({ input: process.stdin }).on('line', () => {
  const got = store.list().flatMap(({ id }) => (store.claim(id) === undefined ? [] : [id]))
  console.log(JSON.stringify(got))
})
console.log('ready')
