/** `completion/complete`: values for prompt arguments and resource templates, only from what the principal may see. */
import type { Skill } from '../library/words.ts'
import type { Call, Reply } from './call.ts'
import { errorCodes, type Json, JsonRpcError, objectParam, textParam } from './json-rpc.ts'
import { skillTemplate } from './resources.ts'

const maxValues = 100

/** Suggests values; an empty `argument.value` gives the first hundred. */
export async function complete(call: Call): Promise<Reply> {
  const ref = objectParam(call.params, 'ref')
  const argument = objectParam(call.params, 'argument')
  const name = textParam(argument, 'name')
  const typed = typeof argument['value'] === 'string' ? argument['value'] : ''
  const { values, total } = await suggestions(call, ref, name, typed)
  const shown = values.slice(0, maxValues)
  return { completion: { values: shown, total, hasMore: total > shown.length } }
}

async function suggestions(
  { principal, snapshot: { library } }: Call,
  ref: Json,
  argument: string,
  typed: string,
): Promise<{ readonly values: readonly string[]; readonly total: number }> {
  if (ref['type'] === 'ref/prompt') {
    return library.complete(principal, textParam(ref, 'name'), argument, typed)
  }
  if (ref['type'] !== 'ref/resource')
    throw new JsonRpcError(
      errorCodes.invalidParams,
      'params.ref.type: must be "ref/prompt" or "ref/resource"',
    )
  const template = textParam(ref, 'uri')
  if (template !== skillTemplate)
    throw new JsonRpcError(errorCodes.invalidParams, `no resource template ${JSON.stringify(template)}`)
  const values = skillParts(library.skills(principal), argument).filter((value) => value.startsWith(typed))
  return { values, total: values.length }
}

/** What an argument of the skills' template may be. */
function skillParts(skills: readonly Skill[], argument: string): readonly string[] {
  return argument === 'name'
    ? skills.map(({ name }) => name)
    : [...new Set(skills.flatMap(({ files }) => files.map(({ path }) => path)))]
}
