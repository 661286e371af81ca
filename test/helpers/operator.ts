import type { AskingOperator } from '../../src/control/operation.ts'

/** An operator who asks and waits for the answer. */
export function byOperator(): AskingOperator {
  return { actor: 'root', signal: new AbortController().signal }
}
