import { describe, expect, it } from 'vitest'
import { readStatement, splitWords } from '../../../src/ssh/config/lex.ts'

describe('the keyword of a line', () => {
  it.each([
    ['User bob', 'user', 'bob'],
    ['  USER\t\tbob  \r', 'user', 'bob'],
    ['user=bob', 'user', 'bob'],
    ['user = bob', 'user', 'bob'],
    ['user==bob', 'user', '=bob'],
    ['"User" bob', 'user', 'bob'],
    ['= user bob', 'user', 'bob'],
    ['user', 'user', ''],
    ['ProxyCommand a  "b" # c', 'proxycommand', 'a  "b" # c'],
  ])('is found in %j', (line, keyword, rest) => {
    expect(readStatement(line)).toEqual({ keyword, rest })
  })

  it.each(['', '   \t', '# User bob', '\t#', '"user bob'])('is not there in %j', (line) => {
    expect(readStatement(line)).toBeUndefined()
  })
})

describe('the words of a line', () => {
  it.each([
    ['one  two\tthree', ['one', 'two', 'three']],
    ['"one two" three', ['one two', 'three']],
    ["'one \"two' three", ['one "two', 'three']],
    ['half"and half"more', ['halfand halfmore']],
    ['with\\ blank \\"quote\\" back\\\\slash C:\\dir', ['with blank', '"quote"', 'back\\slash', 'C:\\dir']],
    ['"in quotes\\ stays"', ['in quotes\\ stays']],
    ['before # after "open', ['before']],
    ['a#b "# c" \'#\'', ['a#b', '# c', '#']],
    ['"" x', ['', 'x']],
    ['', []],
  ])('of %j', (rest, words) => {
    expect(splitWords(rest)).toEqual(words)
  })

  it.each(['"open', "it's", 'a "b\\"'])('cannot be told when a quote is not closed: %j', (rest) => {
    expect(splitWords(rest)).toBeUndefined()
  })
})
