import { describe, expect, it } from 'vitest'
import { applyAlgorithms, readAlgorithms, recogniseAlgorithms } from '../../../src/ssh/config/algorithms.ts'

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

describe('a list on which the operators were applied already', () => {
  it.each([
    ['is no choice when it is the default one', 'one,two,three', undefined],
    ['is an addition behind the defaults', 'one,two,three,old-a', { how: 'append', patterns: ['old-a'] }],
    ['is a preference before them', 'old-a,one,two,three', { how: 'prepend', patterns: ['old-a'] }],
    ['is a preference of one of them', 'three,one,two', { how: 'prepend', patterns: ['three'] }],
    [
      'stays a restriction when it leaves one out',
      'one,three',
      { how: 'replace', patterns: ['one', 'three'] },
    ],
    ['stays itself when nothing is left of them', 'old-a', { how: 'replace', patterns: ['old-a'] }],
  ])('%s', (_behaviour, printed, choice) => {
    expect(recogniseAlgorithms(printed, DEFAULTS.join())).toEqual(choice)
  })
})
