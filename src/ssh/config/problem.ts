/** The configuration cannot be used as it stands. `resolve.ts` makes it a ConnectError with the machine's name. */
export class ConfigProblem extends Error {}
