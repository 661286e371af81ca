/** `logging/setLevel` of the legacy revisions. */
import type { Nouns, Reply } from './nouns.ts'
import { codes } from './codes.ts'
import { type Call, JsonRpcError, logLevels } from './protocol.ts'

/** From now on the conversation gets log messages of this level and above with its tool calls. */
export function setLevel(call: Call, nouns: Nouns): Reply {
  const level = logLevels.find((known) => known === call.params['level'])
  if (!level) {
    throw new JsonRpcError(codes.invalidParams, `params.level: must be one of ${logLevels.join(', ')}`)
  }
  nouns.logLevels.set(call.principal, level)
  return {}
}
