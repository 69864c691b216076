/** One generation of the host's contracts: the modules our code imports, and what their classes promise. */
import type { Answer } from './recorded.ts'

/** What a provider class of the host has, beside what every Cordis service has. */
export interface ClassShape {
  /** Methods a provider must have, and how they answer. */
  readonly abstract: Readonly<Record<string, Answer>>
  /** Methods the abstract class itself has, which the host's local provider overrides. */
  readonly concrete: Readonly<Record<string, Answer>>
  /** Members of the local provider that are its own, and that no subclass may take for itself. */
  readonly reserved: readonly string[]
}

export interface Shape {
  /** Versions whose contracts these are, as far as they could be read. */
  readonly versions: readonly string[]
  readonly fileSystem: ClassShape
  readonly subprocess: ClassShape
  readonly sandbox: ClassShape
  /** Modules by package, in place of the installed host's. */
  readonly modules: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

export function methodsOf(shape: ClassShape): Readonly<Record<string, Answer>> {
  return { ...shape.abstract, ...shape.concrete }
}
