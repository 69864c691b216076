/** What the `ssh` program answered is asked for again exactly when the answer may be another. */
import { chmodSync, existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { resolveSettings } from '../../../src/ssh/config/resolve.ts'
import type { MachineSettings } from '../../../src/ssh/config/settings.ts'
import { SSH, Workbench } from './workbench.ts'

/** A bench whose `ssh` counts how often it is asked about the configuration. */
class CountingBench extends Workbench {
  readonly #program: string

  constructor() {
    super()
    const script = '#!/bin/sh\ncase $* in *"-F none"*) ;; *) echo >> "$0.asked" ;; esac\n'
    this.#program = this.write('ssh', `${script}exec ${SSH} "$@"`)
    chmodSync(this.#program, 0o755)
  }

  resolve(alias: string): Promise<MachineSettings> {
    return resolveSettings(alias, { ...this.sources, sshProgram: this.#program }, undefined, this.facts)
  }

  get asked(): number {
    const file = `${this.#program}.asked`
    return existsSync(file) ? readFileSync(file, 'utf8').length : 0
  }
}

describe('the answer of the ssh program', () => {
  it('is remembered while the configuration is the same, for each destination', async () => {
    const bench = new CountingBench()
    bench.write('config', 'Host box', '  HostName 10.0.0.1')
    const first = await bench.resolve('box')
    expect(await bench.resolve('box')).toEqual(first)
    expect(bench.asked).toBe(1)
    expect((await bench.resolve('ann@box')).user).toBe('ann')
    expect((await bench.resolve('other')).host).toBe('other')
    expect(bench.asked).toBe(3)
  })

  it('is asked for anew when a file changes, also an included one, one that was missing, or a new match', async () => {
    const bench = new CountingBench()
    bench.write(
      'config',
      `Include ${bench.folder}/conf.d/*`,
      `Include ${bench.folder}/later`,
      'Host box',
      '  Port 1',
    )
    const port = async (): Promise<number> => (await bench.resolve('box')).port
    expect(await port()).toBe(1)
    bench.write('conf.d/a', 'Host box', '  Port 2')
    expect(await port()).toBe(2)
    bench.write('conf.d/a', 'Host box', '  Port 3')
    expect(await port()).toBe(3)
    rmSync(join(bench.folder, 'conf.d/a'))
    expect(await port()).toBe(1)
    bench.write('later', 'Host box', '  Port 4')
    expect(await port()).toBe(4)
    bench.write('config', 'Host box', '  Port 5')
    expect(await port()).toBe(5)
  })

  it('is never remembered where a command or the network decides', async () => {
    const bench = new CountingBench()
    bench.write(
      'config',
      `Match originalhost box exec "test -e ${bench.folder}/flag"`,
      '  Port 2',
      'Host *',
      '  Port 1',
    )
    expect((await bench.resolve('box')).port).toBe(1)
    bench.write('flag')
    expect((await bench.resolve('box')).port).toBe(2)
    // The same file has no say about another name.
    await bench.resolve('other')
    await bench.resolve('other')
    expect(bench.asked).toBe(3)
    bench.write('config', 'Match localnetwork 192.0.2.0/24', '  Port 2')
    const before = bench.asked
    await bench.resolve('box').catch((_thisSshDoesNotKnowIt: unknown) => undefined)
    await bench.resolve('box').catch((_thisSshDoesNotKnowIt: unknown) => undefined)
    expect(bench.asked).toBe(before + 2)
  })

  it('that is a refusal is not remembered', async () => {
    const bench = new CountingBench()
    bench.write('config', 'Host box', '  Port nonsense')
    await expect(bench.resolve('box')).rejects.toMatchObject({ code: 'bad-config' })
    await expect(bench.resolve('box')).rejects.toMatchObject({ code: 'bad-config' })
    expect(bench.asked).toBe(2)
  })
})
