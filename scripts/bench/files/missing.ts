/** A contestant that this computer does not have: its rows say so, and the others are measured. */
export class Missing extends Error {
  readonly who: string

  constructor(who: string, why: string) {
    super(why)
    this.who = who
  }
}
