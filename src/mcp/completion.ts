/** Answers `completion/complete`: values for prompt arguments and resource templates, only from what the principal may see. */
import { type Audit, eventOf, recordAnswer } from '#audit/audit.ts'
import type { Log } from '#leaf/log.ts'
import { noting } from '../core/principal.ts'
import { Shown } from '../core/shown.ts'
import type { Skill } from '../library/words.ts'
import type { Call, Reply } from './call.ts'
import { errorCodes, type Json, JsonRpcError, objectParam, textParam } from './json-rpc.ts'
import { skillTemplate } from './resources.ts'

const maxValues = 100

/** Suggests values; an empty `argument.value` gives the first hundred. */
export async function complete(
  call: Call,
  { audit, log }: { readonly audit: Audit; readonly log: Log },
): Promise<Reply> {
  const ref = objectParam(call.params, 'ref')
  const argument = objectParam(call.params, 'argument')
  const name = textParam(argument, 'name')
  const typed = typeof argument['value'] === 'string' ? argument['value'] : ''
  const principal = noting(call.principal, new Shown())
  const { values, total } = await suggestions({ ...call, principal }, ref, name, typed)
  const documents = principal.shown.told()
  // A suggested name shows a document, so it is audited; anything else is not worth a line for each letter typed.
  if (documents)
    await recordAnswer(
      audit,
      log,
      eventOf(principal, { type: 'argument.complete', status: 'ok', target: name, documents }),
    )
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

/** Returns the possible values of an argument of the skills' template. */
function skillParts(skills: readonly Skill[], argument: string): readonly string[] {
  return argument === 'name'
    ? skills.map(({ name }) => name)
    : [...new Set(skills.flatMap(({ files }) => files.map(({ path }) => path)))]
}
