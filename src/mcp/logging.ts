/** Answers `logging/setLevel` of the legacy revisions. */
import { type Call, logLevels, type Reply } from './call.ts'
import { errorCodes, JsonRpcError } from './json-rpc.ts'
import type { LogLevels } from './running.ts'

/** Sets the level from which on the conversation gets log messages with its tool calls. */
export function setLevel(call: Call, deps: { readonly logLevels: LogLevels }): Reply {
  const level = logLevels.find((known) => known === call.params['level'])
  if (!level) {
    throw new JsonRpcError(errorCodes.invalidParams, `params.level: must be one of ${logLevels.join(', ')}`)
  }
  deps.logLevels.set(call.principal, level)
  return {}
}
