/** The searches of the host's `grep` and `glob` in a large tree: with ripgrep, without it, and over `ssh`. */
import { parseRemotePath } from '../../../src/base/remote-path.ts'
import { quote, quoteAll } from '../../../src/base/shell-word.ts'
import type { Machine } from '../../../src/remote/machine.ts'
import { parseMatch } from '../../../src/remote/search/ripgrep.ts'
import { SearchProcess } from '../../../src/remote/search/search-process.ts'
import { WrongAnswer } from '../answers.ts'
import type { Master } from '../clients.ts'
import type { Entry } from '../entries.ts'
import { NEEDLE, TABLES_PATTERN } from '../tools/project.ts'
import { FIND, GLOB, GREP, OURS, OURS_BARE, RG } from './goals.ts'
import type { Machines } from './machines.ts'
import { GRACE_MS, outcomeOf } from './outcome.ts'
import type { Tree } from './tree.ts'

/** As the host's tools spell them (DSH 0.1.0-rc.8), the program by the machine's name for it. */
const GREP_ARGV = ['rg', '--no-config', '--json', `--regexp=${NEEDLE}`]
const GLOB_ARGV = [
  'rg',
  '--no-config',
  '--files',
  `--glob=${TABLES_PATTERN}`,
  '--sort=modified',
  '--no-ignore',
  '--hidden',
  ...['.git', '.svn', '.hg', '.bzr', '.jj', '.sl'].flatMap((name) => [
    `--glob=!**/${name}`,
    `--glob=!**/${name}/**`,
  ]),
]
const FIND_ARGV = ['find', '.', '-name', '*.csv', '-type', 'f']

/** @returns what was printed. */
type Ask = (argv: readonly string[]) => Promise<string>

export function searchingEntries({ ours, ssh, bare }: Machines, tree: Tree): Entry[] {
  const [we, they] = [search(ours, 'rg', tree), overSsh(ssh, tree)]
  const without = 'missing' in bare ? undefined : search(bare.ours, 'own', tree)
  return [
    grep(OURS, we, tree),
    grep(RG, they, tree),
    ...(without === undefined ? [] : [grep(OURS_BARE, without, tree)]),
    glob(OURS, we, GLOB_ARGV, tree),
    glob(FIND, they, FIND_ARGV, tree),
    glob(RG, they, GLOB_ARGV, tree),
    ...(without === undefined ? [] : [glob(OURS_BARE, without, GLOB_ARGV, tree)]),
  ]
}

function grep(who: string, ask: Ask, tree: Tree): Entry {
  const read = (printed: string): string[] =>
    linesOf(printed).flatMap((line) => {
      const match = parseMatch(line)
      if (match === undefined) return []
      if (match.text !== NEEDLE) throw new WrongAnswer(`${who} took this for a needle: ${match.text}`)
      return [match.path]
    })
  return entry(GREP, who, ask, GREP_ARGV, (printed) => tree.expectNeedles(read(printed), who))
}

function glob(who: string, ask: Ask, argv: readonly string[], tree: Tree): Entry {
  return entry(GLOB, who, ask, argv, (printed) => {
    const paths = linesOf(printed).map((line) => line.replace(/^\.\//, ''))
    tree.expectTables(paths, who)
  })
}

function entry(
  what: string,
  who: string,
  ask: Ask,
  argv: readonly string[],
  check: (printed: string) => void,
): Entry {
  return {
    what,
    who,
    measure: async () => {
      const began = performance.now()
      const printed = await ask(argv)
      const ms = performance.now() - began
      check(printed)
      return ms
    },
  }
}

function search(machine: Machine, engine: 'rg' | 'own', tree: Tree): Ask {
  return async (argv) => {
    const found = (await machine.session()).searchEngine
    if (found !== engine) throw new WrongAnswer(`${machine.name} is searched by ${found}, not by ${engine}`)
    const request = { folder: parseRemotePath(tree.path), graceMs: GRACE_MS, argv: () => argv }
    const { exitCode, stdout, stderr } = await outcomeOf(new SearchProcess(machine, request))
    if (exitCode === 0 && stderr === '') return stdout
    throw new WrongAnswer(`our search ended with ${String(exitCode)}: ${stderr}`)
  }
}

/** Its input is no terminal, and must not be searched instead of the folder. */
function overSsh(master: Master, tree: Tree): Ask {
  return (argv) => master.output(`cd ${quote(tree.path)} && exec ${quoteAll(argv)} </dev/null`)
}

function linesOf(printed: string): string[] {
  return printed.split('\n').filter((line) => line !== '')
}
