/**
 * All operations of an operator: to add one, write it where those of its noun are.
 *
 * An operation (`operation.ts`) is a name, a schema, a function of the services that it names, and the command
 * that calls it. The daemon runs it for everyone who can open the socket (`server.ts`);
 * without a daemon the command line runs the same function over the locked state. `doctor/` is apart: it examines the
 * machine from outside, whether or not a daemon runs.
 */
import { accessOperations } from './access.ts'
import { apiKeyOperations } from './api-keys.ts'
import { auditOperations } from './audit.ts'
import { clientOperations } from './clients.ts'
import { daemonOperations } from './daemon.ts'
import { documentOperations } from './documents.ts'
import { consultDoctor } from './doctor/consult.ts'
import { keyOperations } from './keys.ts'
import { promptOperations } from './prompts.ts'
import { siteOperations } from './site.ts'
import { tokenOperations } from './tokens.ts'
import { userOperations } from './users.ts'

const list = [
  ...accessOperations,
  ...apiKeyOperations,
  ...auditOperations,
  ...clientOperations,
  ...daemonOperations,
  ...documentOperations,
  consultDoctor,
  ...keyOperations,
  ...promptOperations,
  ...siteOperations,
  ...tokenOperations,
  ...userOperations,
]

/** The operations by name; the command line takes the types of parameters and results from here. */
export type Operations = { readonly [Each in (typeof list)[number] as Each['name']]: Each }

/** Every operation by its name. */
export const operations = Object.fromEntries(
  list.map((operation) => [operation.name, operation]),
) as Operations
