/** The tree that is searched: the project of the bench `tools`, on a disk in memory, under a path that changes. */
import { rename } from 'node:fs/promises'
import { WrongAnswer } from '../answers.ts'
import { Ground } from '../files/ground.ts'
import { filesWhere, makeProject, needlesOf, tablesOf } from '../tools/project.ts'

export class Tree {
  /** How many files it has. */
  readonly count: number
  #path: string
  readonly #ground: Ground

  private constructor(ground: Ground, path: string, count: number) {
    this.#ground = ground
    this.#path = path
    this.count = count
  }

  /** @param count - of files, in hundreds. */
  static async make(count: number): Promise<Tree> {
    const ground = await Ground.make()
    const path = ground.path()
    try {
      await makeProject(path, count)
    } catch (failure) {
      await ground.stop()
      throw failure
    }
    return new Tree(ground, path, count)
  }

  get path(): string {
    return this.#path
  }

  /** Give it a path under which nobody has seen it. */
  async move(): Promise<void> {
    const path = this.#ground.path()
    await rename(this.#path, path)
    this.#path = path
  }

  /** @throws WrongAnswer when these are not exactly the files that hold a needle. */
  expectNeedles(found: readonly string[], who: string): void {
    expectSame(found, needlesOf(this.count), `${who}, asked for needles,`)
  }

  /** @throws WrongAnswer when these are not exactly the tables. */
  expectTables(found: readonly string[], who: string): void {
    expectSame(found, tablesOf(this.count), `${who}, asked for tables,`)
  }

  /** @throws WrongAnswer when these are not exactly the files in its folders. */
  expectAll(found: readonly string[], who: string): void {
    const all = filesWhere(() => true, this.count)
    expectSame(found, all, `${who}, asked for everything,`)
  }

  async stop(): Promise<void> {
    await this.#ground.stop()
  }
}

/** Whatever their order is: threads, times and folders have their own. */
function expectSame(found: readonly string[], wanted: readonly string[], who: string): void {
  const [sorted, right] = [found.toSorted(), wanted.toSorted()]
  if (sorted.length === right.length && sorted.every((path, at) => path === right[at])) return
  const odd = sorted.find((path, at) => path !== right[at]) ?? right[sorted.length]
  throw new WrongAnswer(`${who} found ${found.length} files of ${wanted.length}; one is wrong: ${odd}`)
}
