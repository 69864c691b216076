/**
 * A pattern as a program of small steps, in order of preference, for machines that run all its ways at
 * once: time grows with the text, never with what the pattern might try.
 */
import { notExact } from '../refusal.ts'
import { characterSet, type CharacterSet } from './character-set.ts'
import type { Assertion, PatternNode } from './syntax.ts'

export type Step =
  | { readonly kind: 'character'; readonly set: CharacterSet }
  | { readonly kind: 'assertion'; readonly what: Assertion }
  /** Both are tried; `first` is preferred. The step after is `first` or `second`. */
  | { kind: 'fork'; first: number; second: number }
  | { kind: 'jump'; to: number }
  | { readonly kind: 'match' }

const MOST_STEPS = 20_000

/** @throws SearchRefusal when the pattern is too large. */
export function compile(node: PatternNode): readonly Step[] {
  const steps: Step[] = []
  emit(node, steps)
  steps.push({ kind: 'match' })
  return steps
}

function emit(node: PatternNode, steps: Step[]): void {
  if (steps.length > MOST_STEPS) throw notExact('so large a pattern', 'lower its repetitions')
  switch (node.kind) {
    case 'empty':
      return
    case 'literal':
    case 'class':
      steps.push({ kind: 'character', set: characterSet(node) })
      return
    case 'assertion':
      steps.push({ kind: 'assertion', what: node.what })
      return
    case 'sequence':
      for (const part of node.parts) emit(part, steps)
      return
    case 'choice':
      emitChoice(node.branches, steps)
      return
    case 'repeat':
      emitRepeat(node, steps)
  }
}

function emitChoice(branches: readonly PatternNode[], steps: Step[]): void {
  const ends: Extract<Step, { kind: 'jump' }>[] = []
  for (const [index, branch] of branches.entries()) {
    if (index === branches.length - 1) {
      emit(branch, steps)
      break
    }
    const fork: Step = { kind: 'fork', first: steps.length + 1, second: 0 }
    steps.push(fork)
    emit(branch, steps)
    const end: Step = { kind: 'jump', to: 0 }
    steps.push(end)
    ends.push(end)
    fork.second = steps.length
  }
  for (const end of ends) end.to = steps.length
}

function emitRepeat(node: Extract<PatternNode, { kind: 'repeat' }>, steps: Step[]): void {
  const { body, least, most, greedy } = node
  const endless = most === Infinity
  if (endless && least === 0 && takesSomething(body)) {
    const start = steps.length
    const close = openFork(steps, greedy)
    emit(body, steps)
    steps.push({ kind: 'jump', to: start })
    close(steps.length)
    return
  }
  // Without end: the last of those that must be there is the one that is taken again. What may be empty
  // is entered only once from outside, `(x+)?`, so that its empty way keeps its place in the order. These
  // are the very steps of Rust's library: others would prefer other ways where loops stand in loops.
  const required = endless && least > 0 ? least - 1 : least
  for (let count = 0; count < required; count += 1) emit(body, steps)
  if (endless) {
    const optional = least === 0 ? openFork(steps, greedy) : undefined
    const start = steps.length
    emit(body, steps)
    const back: Step = { kind: 'fork', first: 0, second: 0 }
    steps.push(back)
    setFork(back, greedy, start, steps.length)
    optional?.(steps.length)
    return
  }
  const closes: ((to: number) => void)[] = []
  for (let count = least; count < most; count += 1) {
    closes.push(openFork(steps, greedy))
    emit(body, steps)
  }
  for (const close of closes) close(steps.length)
}

/** Whether each match of a node takes a character at least. */
function takesSomething(node: PatternNode): boolean {
  switch (node.kind) {
    case 'literal':
    case 'class':
      return true
    case 'sequence':
      return node.parts.some(takesSomething)
    case 'choice':
      return node.branches.every(takesSomething)
    case 'repeat':
      return node.least > 0 && takesSomething(node.body)
    default:
      return false
  }
}

/** A way around what follows. @returns to be told where the way leads. */
function openFork(steps: Step[], greedy: boolean): (to: number) => void {
  const fork: Step = { kind: 'fork', first: 0, second: 0 }
  steps.push(fork)
  const inside = steps.length
  return (to) => setFork(fork, greedy, inside, to)
}

function setFork(
  fork: Extract<Step, { kind: 'fork' }>,
  greedy: boolean,
  inside: number,
  around: number,
): void {
  fork.first = greedy ? inside : around
  fork.second = greedy ? around : inside
}
