/** What our tools themselves refuse: the call, not the machine, is wrong. */
import { PresenceError } from '../base/failure.ts'

/** The call cannot be carried out as asked; the message tells the model what to ask instead. */
export class ToolCallError extends PresenceError {
  constructor(message: string, machine?: string) {
    super(
      machine === undefined ? message : `${machine}: ${message}`,
      'refused',
      machine === undefined ? {} : { machine },
    )
  }
}
