/**
 * Everything that an operator can ask: to add an operation, write it and its line here.
 *
 * An operation (`operation.ts`) is a name, a schema and a function of what it names of all that there is. The daemon
 * runs it for whoever holds the socket (`server.ts`, in the words of `protocol.ts`); without a daemon the
 * command line runs the same function over the locked state. `doctor/` is apart: it examines the
 * machine from outside, whether or not a daemon runs.
 */
import { explainAccessTo, overviewOfAccess } from './access.ts'
import {
  acceptAuditLosses,
  changeAuditKey,
  eventStatistics,
  searchEvents,
  tailEvents,
  verifyEvents,
} from './audit.ts'
import {
  listClients,
  pruneClients,
  registerClient,
  removeClient,
  rotateClientSecret,
  showClient,
  updateClient,
} from './clients.ts'
import { consultDoctor } from './doctor/consult.ts'
import { listKeys, rotateKeys, traceAttempts } from './keys.ts'
import { daemonHealth, metrics } from './metrics.ts'
import { expectProbe, probeArrival } from './probe.ts'
import { listPromptTemplates, previewPrompt, promptMethodOperations, showPrompt } from './prompts.ts'
import { reload, listStateProblems, status } from './status.ts'
import { backup } from './store.ts'
import { issueTokens, listGrants, listTokens, revokeTokens } from './tokens.ts'
import { listToolSettings } from './tools.ts'
import {
  createApiKey,
  inviteUser,
  listApiKeys,
  listUsers,
  resetUser,
  revokeApiKey,
  setPassword,
} from './users.ts'

const list = [
  status,
  reload,
  listStateProblems,
  listUsers,
  setPassword,
  inviteUser,
  resetUser,
  createApiKey,
  listApiKeys,
  revokeApiKey,
  issueTokens,
  listTokens,
  listGrants,
  revokeTokens,
  registerClient,
  listClients,
  showClient,
  updateClient,
  rotateClientSecret,
  removeClient,
  pruneClients,
  listKeys,
  rotateKeys,
  traceAttempts,
  listPromptTemplates,
  showPrompt,
  previewPrompt,
  ...promptMethodOperations,
  tailEvents,
  searchEvents,
  eventStatistics,
  verifyEvents,
  changeAuditKey,
  acceptAuditLosses,
  explainAccessTo,
  overviewOfAccess,
  listToolSettings,
  consultDoctor,
  backup,
  metrics,
  daemonHealth,
  expectProbe,
  probeArrival,
] as const

/** The operations by name; the command line takes the types of parameters and results from here. */
export type Operations = { readonly [Each in (typeof list)[number] as Each['name']]: Each }

/** Every operation by its name. */
export const operations = Object.fromEntries(
  list.map((operation) => [operation.name, operation]),
) as Operations
