/** An answer that is not the right one: its time is worth nothing, and the bench ends. */
export class WrongAnswer extends Error {}
