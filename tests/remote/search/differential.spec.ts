import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it, vi } from 'vitest'
import type { Rig } from '../../support/rig.ts'
import { startRigWithoutRipgrep, type Userland } from '../../support/userlands.ts'
import { byOurs, byRipgrep, comparable, hostRipgrep } from './compare.ts'
import { Chance, makeSearch, makeTree, type GeneratedSearch } from './generated.ts'

vi.setConfig({ testTimeout: 600_000 })

let rig: Rig | undefined
afterEach(async () => {
  await rig?.stop()
  rig = undefined
})

const SEARCHES_A_TREE = 8

/** How many trees are made for each; `PRESENCE_SEARCH_TREES` makes so many times more. */
const TREES: Readonly<Record<Userland, number>> = { gnu: 26, busybox: 8, 'bsd-like': 8 }
const times = Number(process.env['PRESENCE_SEARCH_TREES'] ?? '1')

it.each(Object.keys(TREES) as Userland[])(
  'C65: without ripgrep, on a %s machine, generated searches are answered as by the host’s ripgrep',
  async (userland) => {
    rig = await startRigWithoutRipgrep(userland)
    const { machine, folder } = rig
    expect((await machine.session()).searchEngine).toBe('own')
    const ripgrep = await hostRipgrep()
    mkdirSync(join(folder, '.config/git'), { recursive: true })
    writeFileSync(join(folder, '.config/git/ignore'), '*.global\n')

    const counts = { searches: 0, found: 0, nothing: 0, refusedByRipgrep: 0 }
    const compare = async (tree: string, { folder: below, argv }: GeneratedSearch): Promise<void> => {
      const place = join(tree, below)
      const [theirs, ours] = await Promise.all([
        byRipgrep(ripgrep, argv, place, folder),
        byOurs(machine, argv, place),
      ])
      const which = `${place}: ${argv.join(' ')}\nours: ${ours.errors}\nripgrep: ${theirs.errors}`
      expect(comparable(argv, ours), which).toEqual(comparable(argv, theirs))
      counts.searches += 1
      if (theirs.exitCode === 0) counts.found += 1
      else if (theirs.exitCode === 1) counts.nothing += 1
      else {
        counts.refusedByRipgrep += 1
        expect(ours.errors, which).not.toBe('')
      }
    }
    for (let seed = 1; seed <= TREES[userland] * times; seed += 1) {
      const chance = new Chance(seed * 3 + Object.keys(TREES).indexOf(userland))
      const above = join(folder, `tree-${seed}`)
      const tree = join(above, 'tree')
      mkdirSync(tree, { recursive: true })
      if (chance.often(30)) writeFileSync(join(above, '.gitignore'), 'b.txt\n/tree/src\ntree/sub/*.rs\n')
      if (chance.often(20)) writeFileSync(join(above, '.ignore'), 'x.log\n')
      if (chance.often(20)) mkdirSync(join(above, '.git'))
      const folders = makeTree(tree, chance)
      const searches = Array.from({ length: SEARCHES_A_TREE }, () => makeSearch(chance, folders))
      await Promise.all(searches.map((search) => compare(tree, search)))
    }
    console.info(`${userland}: ${JSON.stringify(counts)}`)
  },
)
