import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startTwins } from '../support/twins.ts'

it('twins have one path with three contents: on each machine, and here', async () => {
  const twins = await startTwins(['one', 'two'])
  const file = join(twins.shared, 'f')
  try {
    writeFileSync(file, 'here\n')
    for (const machine of twins.machines) await machine.run(`uname -n > ${file}`)
    const contents = await Promise.all(twins.machines.map((machine) => machine.run(`cat ${file}`)))
    expect(contents.map(({ stdout }) => stdout)).toEqual(['one\n', 'two\n'])
    expect(readFileSync(file, 'utf8')).toBe('here\n')
  } finally {
    await twins.stop()
  }
  expect(
    await Promise.all(
      twins.machines.map(({ port }) => fetch(`http://127.0.0.1:${port}`).catch(() => 'gone')),
    ),
  ).toEqual(['gone', 'gone'])
})
