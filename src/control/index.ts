/**
 * Everything that an operator can ask: to add an operation, export it where those of its noun are.
 *
 * An operation (`operation.ts`) is a name, a schema and a function of what it names of all that there is. The daemon
 * runs it for whoever holds the socket (`server.ts`, in the words of `protocol.ts`); without a daemon the
 * command line runs the same function over the locked state. `doctor/` is apart: it examines the
 * machine from outside, whether or not a daemon runs.
 */
import * as access from './access.ts'
import * as audit from './audit.ts'
import * as clients from './clients.ts'
import { consultDoctor } from './doctor/consult.ts'
import * as keys from './keys.ts'
import * as metrics from './metrics.ts'
import * as probe from './probe.ts'
import * as prompts from './prompts.ts'
import * as status from './status.ts'
import * as store from './store.ts'
import * as tokens from './tokens.ts'
import * as tools from './tools.ts'
import * as users from './users.ts'

const { promptMethodOperations, ...ofPrompts } = prompts
const list = [
  ...Object.values(access),
  ...Object.values(audit),
  ...Object.values(clients),
  consultDoctor,
  ...Object.values(keys),
  ...Object.values(metrics),
  ...Object.values(probe),
  ...Object.values(ofPrompts),
  ...promptMethodOperations,
  ...Object.values(status),
  ...Object.values(store),
  ...Object.values(tokens),
  ...Object.values(tools),
  ...Object.values(users),
]

/** The operations by name; the command line takes the types of parameters and results from here. */
export type Operations = { readonly [Each in (typeof list)[number] as Each['name']]: Each }

/** Every operation by its name. */
export const operations = Object.fromEntries(
  list.map((operation) => [operation.name, operation]),
) as Operations
