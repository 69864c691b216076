import { describe, expect, it } from 'vitest'
import { applyAlgorithms, readAlgorithms } from '../../../src/ssh/config/algorithms.ts'

const DEFAULTS = ['one', 'two', 'three']
const AVAILABLE = ['one', 'two', 'three', 'old-a', 'old-b']

describe('a list of algorithms', () => {
  it.each([
    ['two,one', ['two', 'one']],
    ['two,unknown', ['two']],
    ['+old-a,one', ['one', 'two', 'three', 'old-a']],
    ['^old-b,three', ['old-b', 'three', 'one', 'two']],
    ['-t*', ['one']],
    ['+old-*', ['one', 'two', 'three', 'old-a', 'old-b']],
    ['unknown', []],
  ])('%s', (written, names) => {
    expect(applyAlgorithms(readAlgorithms(written), DEFAULTS, AVAILABLE)).toEqual(names)
  })

  it('is the default one when nothing is configured', () => {
    expect(applyAlgorithms(undefined, DEFAULTS, AVAILABLE)).toEqual(DEFAULTS)
  })
})
