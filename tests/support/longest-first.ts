/**
 * The order of test files: those that take minutes begin first, so that none of them is what all the others'
 * workers wait for at the end. The rest as Vitest orders it.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** From the longest to less long ones. */
const LONGEST = [
  'install/install',
  'seams/oracle/walk',
  'seams/oracle/cases',
  'install/interruption',
  'remote/saving/cuts',
  'remote/bulk/large-files',
  'remote/search/differential',
  'probe/probe',
  'ssh/config/differential',
  'e2e/presence-terminal',
  'remote/watching/changes',
  'remote/jobs/scripts',
  'ssh/life/cuts',
  'e2e/web',
  'ssh/life/storm',
  'remote/ending',
]

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const others = await super.sort(files)
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = LONGEST.findIndex((name) => moduleId.endsWith(`tests/${name}.spec.ts`))
      return at < 0 ? LONGEST.length : at
    }
    return others.toSorted((a, b) => rank(a) - rank(b))
  }
}
