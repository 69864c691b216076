/**
 * The parts of the host's browser application that the panel uses, by shape. `slots` is there in every
 * version; everything else is probed, because an entry that waits or throws takes the whole page down.
 */
import type { ReactElement } from 'react'

export interface ClientContext {
  readonly slots: Slots
  get?(service: string): unknown
  effect?(install: () => () => void, label?: string): unknown
}

export interface Slots {
  /** Run `contribute` while the slot is declared; a slot that this version lacks never runs it. */
  inject(slot: string, contribute: () => () => void): unknown
  register(entry: SlotEntry, component: SlotComponent): () => void
}

/** What it is given depends on the slot. */
export type SlotComponent = (props: never) => ReactElement

export interface SlotEntry {
  readonly name: string
  readonly id: string
  readonly order: number
  readonly label?: () => string
}

/** What the host tells a sidebar action: whether the column is wide, or a rail of icons. */
export interface FooterActionProps {
  readonly wide?: boolean
}
