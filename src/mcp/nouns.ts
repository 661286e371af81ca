/** What the methods share: everything that holds state while the endpoint lives. */
import type { Approvals } from './approvals.ts'
import type { Pages } from './lists.ts'
import type { Json, McpDeps } from './protocol.ts'
import type { Questions } from './questions.ts'
import type { Rounds } from './rounds.ts'
import type { LogLevels, Running } from './running.ts'
import type { Subscriptions } from './subscriptions.ts'

/** A result as JSON, or already serialised in the shape of its revision. */
export type Reply = Json | Buffer

/** Everything that holds state while the endpoint lives. */
export interface Nouns {
  readonly deps: McpDeps
  readonly pages: Pages
  readonly questions: Questions
  readonly rounds: Rounds
  readonly running: Running
  readonly logLevels: LogLevels
  readonly approvals: Approvals
  readonly subscriptions: Subscriptions
}
