/**
 * How much of a content is fetched together with the look at a file. As much as a tool call mostly wants, as long as
 * the line carries it soon: what comes through the helper shell keeps other questions waiting.
 */

const MOST_BYTES = 1024 * 1024
/** As good as no time on any line. */
const LEAST_BYTES = 128 * 1024
/** What other questions may wait, in milliseconds; or as many round trips, since a line does not start at its full rate. */
const MOST_WAIT_MS = 200
const MOST_WAIT_ROUND_TRIPS = 4

export class LookSize {
  #bytes = MOST_BYTES

  get bytes(): number {
    return this.#bytes
  }

  /** So many bytes came in the answer to a look that took so long. */
  note(bytes: number, ms: number, roundTripMs: number): void {
    if (bytes <= LEAST_BYTES || !Number.isFinite(roundTripMs)) return
    if (ms - roundTripMs > Math.max(MOST_WAIT_MS, MOST_WAIT_ROUND_TRIPS * roundTripMs))
      this.#bytes = LEAST_BYTES
  }
}
