/** The contents of several files in one, as our scripts show them, and how they are told apart. */

/** `denied`, `gone` and `too-long` come without content. */
export interface CandidateFile {
  readonly kind: 'file' | 'denied' | 'gone' | 'too-long'
  readonly name: string
  readonly content: Buffer
}

/** What `wc` said before and after the files were read, and all that they hold. */
export interface Together {
  readonly sizes: string
  readonly contents: Buffer
  readonly after: string
}

/** In the order shown; undefined when something changed meanwhile. */
export function contentsOf({ sizes, contents, after }: Together): CandidateFile[] | undefined {
  const files = sizesOf(sizes)
  const sum = files.reduce((all, { size }) => all + size, 0)
  if (sizes !== after || sum !== contents.length) return undefined
  let at = 0
  return files.map(({ size, name }) => {
    const content = contents.subarray(at, at + size)
    at += size
    return { kind: 'file', name, content }
  })
}

export function namesIn(sizes: string): string[] {
  return sizesOf(sizes).map(({ name }) => name)
}

function sizesOf(sizes: string): { readonly size: number; readonly name: string }[] {
  return (
    sizes
      .split('\n')
      .flatMap((line) => {
        const [, size, name] = /^\s*(\d+) (.*)$/s.exec(line) ?? []
        return size === undefined || name === undefined ? [] : [{ size: Number(size), name }]
      })
      // The last line is their sum; every name begins otherwise.
      .filter(({ name }) => name !== 'total')
  )
}
