/**
 * Collected output of one stream: the tail in memory, the whole in a spill file on the local computer
 * where asked for, and reads by whole-stream byte offset that consume nothing. Only the host's own
 * provider has this too; its class is not exported, so the behaviour is matched here.
 */
import { closeSync, mkdtempSync, openSync, unlinkSync, writeSync } from 'node:fs'
import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface CollectLimits {
  /** Bytes kept in memory; when more come, the tail stays. */
  readonly maxBytes: number
  /** Bytes the spill file may hold; a longer stream has none. Absent: no spilling. */
  readonly spillMaxBytes: number | undefined
}

export interface OutputRead {
  text: string
  nextOffset: number
  /** True when bytes after the asked offset are gone from memory. */
  lossy: boolean
  /** A file with the whole stream, while it is whole. */
  spillPath?: string
}

let spillFolder: string | undefined

/** Private to this process, so that no other local user can read or prepare anything in it. */
function privateSpillFolder(): string {
  spillFolder ??= mkdtempSync(join(tmpdir(), 'dsh-subprocess-presence-'))
  return spillFolder
}

interface Spill {
  readonly path: string
  readonly descriptor: number
}

export class CollectedOutput {
  readonly #limits: CollectLimits
  readonly #label: string
  #chunks: Buffer[] = []
  #kept = 0
  #total = 0
  #spill: Spill | undefined
  #spillPath: string | undefined
  #spilling: boolean

  constructor(limits: CollectLimits, label: 'stdout' | 'stderr') {
    this.#limits = limits
    this.#label = label
    this.#spilling = limits.spillMaxBytes !== undefined
  }

  push(chunk: Buffer): void {
    this.#total += chunk.length
    const overflows = this.#kept + chunk.length > this.#limits.maxBytes
    if (this.#spilling && (overflows || this.#spill !== undefined)) this.#toSpill(chunk)
    this.#chunks.push(chunk)
    this.#kept += chunk.length
    this.#dropHead()
  }

  readFrom(offset: number): OutputRead {
    const windowStart = this.#total - this.#kept
    const lossy = offset < windowStart
    const tail = Buffer.concat(this.#chunks)
    return {
      text: (lossy ? tail : tail.subarray(offset - windowStart)).toString('utf8'),
      nextOffset: this.#total,
      lossy,
      ...(this.#spillPath === undefined ? {} : { spillPath: this.#spillPath }),
    }
  }

  /** The stream has ended: close the spill file. A file that may lack its end is no longer offered. */
  seal(): void {
    const spill = this.#spill
    this.#spill = undefined
    this.#spilling = false
    if (spill === undefined) return
    try {
      closeSync(spill.descriptor)
    } catch (_lateWriteFailure) {
      this.#spillPath = undefined
    }
  }

  #dropHead(): void {
    while (this.#kept > this.#limits.maxBytes) {
      const head = this.#chunks[0]
      if (head === undefined) return
      const excess = this.#kept - this.#limits.maxBytes
      if (head.length <= excess) {
        this.#chunks.shift()
        this.#kept -= head.length
      } else {
        this.#chunks[0] = head.subarray(excess)
        this.#kept -= excess
      }
    }
  }

  #toSpill(chunk: Buffer): void {
    if (this.#total > (this.#limits.spillMaxBytes ?? 0)) {
      this.#discardSpill()
      return
    }
    try {
      if (this.#spill === undefined) {
        const path = join(privateSpillFolder(), `${randomBytes(8).toString('hex')}-${this.#label}.log`)
        this.#spill = { path, descriptor: openSync(path, 'wx', 0o600) }
        this.#spillPath = path
        for (const earlier of this.#chunks) writeSync(this.#spill.descriptor, earlier)
      }
      writeSync(this.#spill.descriptor, chunk)
    } catch (_localDiskFailure) {
      // A full local disk costs the spill file, not the command.
      this.#discardSpill()
    }
  }

  #discardSpill(): void {
    const spill = this.#spill
    this.#spill = undefined
    this.#spillPath = undefined
    this.#spilling = false
    if (spill === undefined) return
    for (const undo of [() => closeSync(spill.descriptor), () => unlinkSync(spill.path)]) {
      try {
        undo()
      } catch (_nothingLeftToUndo) {
        // The file is no longer offered either way.
      }
    }
  }
}
