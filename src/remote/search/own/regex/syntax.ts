/** What a pattern is made of, once parsed. */
export type Assertion = 'line-start' | 'line-end' | 'border' | 'no-border' | 'word-start' | 'word-end'

export type PatternNode =
  | { readonly kind: 'empty' }
  /** One character. */
  | { readonly kind: 'literal'; readonly code: number; readonly ignoreCase: boolean }
  /** One character of a set, spelled as a class of a JavaScript expression with the flag `v`. */
  | { readonly kind: 'class'; readonly source: string; readonly ignoreCase: boolean }
  | { readonly kind: 'assertion'; readonly what: Assertion }
  | { readonly kind: 'sequence'; readonly parts: readonly PatternNode[] }
  /** Earlier branches are preferred. */
  | { readonly kind: 'choice'; readonly branches: readonly PatternNode[] }
  | {
      readonly kind: 'repeat'
      readonly body: PatternNode
      readonly least: number
      /** Infinity: without end. */
      readonly most: number
      readonly greedy: boolean
    }

/** Word characters, as Unicode defines them for expressions. */
export const WORD = String.raw`[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]`
