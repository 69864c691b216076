import { chmodSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { listAliases } from '../../../src/ssh/config/aliases.ts'
import { Workbench } from './workbench.ts'

describe('the list of machines', () => {
  it('holds the literal names in the order of the files, each once', () => {
    const bench = new Workbench()
    bench.write('home/.ssh/config', 'Host b a', 'Host *.example !c d? "e"', 'Host a f', 'host=G')
    bench.write('etc/ssh_config', 'Host sys a')
    expect(bench.list(bench.pair).aliases).toEqual(['b', 'a', 'e', 'f', 'G', 'sys'])
  })

  it('leaves out, with a warning, what cannot be a name', () => {
    const bench = new Workbench()
    bench.write('config', 'Host "two words" a,b $(x) -oX u@h ok')
    const { aliases, warnings } = bench.list()
    expect(aliases).toEqual(['ok'])
    expect(warnings).toHaveLength(5)
  })

  it('is empty, and names the files, where there is no configuration', () => {
    const bench = new Workbench()
    const { userFile, systemFile } = bench.pair
    expect(bench.list(bench.pair)).toEqual({ aliases: [], files: [userFile, systemFile], warnings: [] })
    const only = bench.list()
    expect(only.files).toEqual([bench.sources.onlyFile])
    expect(only.warnings).toEqual([expect.stringContaining('there is no such file')])
  })

  it('warns of lines that will be left out, with their place', () => {
    const bench = new Workbench()
    const file = bench.write(
      'config',
      'Host a',
      'Port many',
      'Match user',
      'User',
      'Port 1 2',
      'UserKnownHostsFile none x',
    )
    expect(bench.list().warnings).toEqual([
      `${file}:2: port cannot be "many", the line is left out`,
      `${file}:3: "user" has no value, the block is left out`,
      `${file}:4: user has no value, the line is left out`,
      `${file}:5: port has more than one value, the line is left out`,
      `${file}:6: userknownhostsfile has "none" beside other values, the line is left out`,
    ])
  })

  it('warns of a file that cannot be read, and goes on', () => {
    const bench = new Workbench()
    bench.write('plain', 'Host a')
    // Too long a name is a failure that permission to everything does not lift.
    const long = 'x'.repeat(300)
    bench.write('config', `Include ${bench.folder}/${long} ${bench.folder}/plain`)
    const { aliases, warnings } = bench.list()
    expect(aliases).toEqual(['a'])
    expect(warnings).toEqual([expect.stringContaining('cannot be read: ENAMETOOLONG')])
  })

  it('follows Includes with variables, and takes what only a destination decides for any text', () => {
    const bench = new Workbench({ DOTFILES: '' })
    const { folder } = bench
    const facts = { ...bench.facts, env: { ...bench.facts.env, DOTFILES: folder } }
    bench.write('config', 'Include ${DOTFILES}/conf', `Include ${folder}/for-%h`, 'Include ${NOT_SET}/x')
    bench.write('conf', 'Host by-variable')
    bench.write('for-one', 'Host one')
    bench.write('for-two', 'Host two')
    const { aliases, warnings } = listAliases(bench.sources, facts)
    expect(aliases).toEqual(['by-variable', 'one', 'two'])
    expect(warnings).toEqual([expect.stringContaining('names the unset variable NOT_SET')])
  })

  it('notices by its files that another file has appeared in an included folder', () => {
    const bench = new Workbench()
    bench.write('config', `Include ${bench.folder}/conf.d/*.conf`)
    bench.write('conf.d/a.conf', 'Host a')
    const { files } = bench.list()
    expect(files).toContain(join(bench.folder, 'conf.d'))
    expect(files).toContain(join(bench.folder, 'conf.d', 'a.conf'))
  })

  it('runs nothing', () => {
    const bench = new Workbench()
    const ran = join(bench.folder, 'RAN')
    bench.write('config', `Match exec "touch ${ran}"`, `Match all exec "touch ${ran}"`, 'Host a')
    expect(bench.list().aliases).toEqual(['a'])
    expect(existsSync(ran)).toBe(false)
  })

  it('reads a file that others may write, which no settings come from', async () => {
    const bench = new Workbench()
    bench.write('home/.ssh/config', 'Host a')
    chmodSync(join(bench.folder, 'home', '.ssh', 'config'), 0o666)
    expect(bench.list(bench.pair).aliases).toEqual(['a'])
    await expect(bench.own('a', bench.pair)).rejects.toMatchObject({ code: 'bad-config', stage: 'config' })
  })
})
