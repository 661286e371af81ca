/** `completion/complete`: values for prompt arguments and resource templates, only from what the principal may see. */
import type { Completion } from './extras.ts'
import type { Nouns, Reply } from './nouns.ts'
import { codes } from './codes.ts'
import { type Call, JsonRpcError, objectParam, textParam } from './protocol.ts'
import { promptProviders, resourceProviders } from './providers.ts'

const maxValues = 100

/** Suggests values; an empty `argument.value` gives the first hundred. */
export async function complete(call: Call, nouns: Nouns): Promise<Reply> {
  const ref = objectParam(call.params, 'ref')
  const argument = objectParam(call.params, 'argument')
  const name = textParam(argument, 'name')
  const typed = typeof argument['value'] === 'string' ? argument['value'] : ''
  const found = await find(call, nouns, ref, name, typed)
  const values = found.values.slice(0, maxValues)
  return { completion: { values, total: found.total, hasMore: found.total > values.length } }
}

/** Asks each provider in turn; the first that knows the prompt or template answers. */
async function find(
  call: Call,
  nouns: Nouns,
  ref: Readonly<Record<string, unknown>>,
  argument: string,
  typed: string,
): Promise<Completion> {
  if (ref['type'] === 'ref/prompt') {
    const prompt = textParam(ref, 'name')
    for (const provider of promptProviders(call.snapshot, nouns.deps)) {
      const found = await provider.complete(call.principal, prompt, argument, typed)
      if (found) return found
    }
    throw new JsonRpcError(codes.invalidParams, `no prompt ${JSON.stringify(prompt)}`)
  }
  if (ref['type'] === 'ref/resource') {
    const template = textParam(ref, 'uri')
    for (const provider of resourceProviders(call.snapshot, nouns.deps)) {
      const found = await provider.complete(call.principal, template, argument, typed)
      if (found) return found
    }
    throw new JsonRpcError(codes.invalidParams, `no resource template ${JSON.stringify(template)}`)
  }
  throw new JsonRpcError(codes.invalidParams, 'params.ref.type: must be "ref/prompt" or "ref/resource"')
}
