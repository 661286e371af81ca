/** `prompts/list` and `prompts/get` (specification §4.5). */
import { actorOf, type AuditEvent } from '../audit/event.ts'
import { AppError } from '../core/errors.ts'
import { suppliedArguments } from '../library/supplied-arguments.ts'
import { askingFor } from './asking.ts'
import { serverInfoOf } from './discovery.ts'
import type { Nouns, Reply } from './nouns.ts'
import { codes } from './codes.ts'
import { type Call, JsonRpcError, objectParam, textParam } from './protocol.ts'
import { promptProviders } from './providers.ts'
import { shapeContent, shapePrompt } from './shape.ts'

/** The prompts that this principal may use. */
export function listPrompts(call: Call, nouns: Nouns): Reply {
  const providers = promptProviders(call.snapshot, nouns.deps)
  return nouns.pages.page(
    call,
    {
      field: 'prompts',
      digest: providers.map((provider) => provider.digest(call.principal)).join('\n'),
      items: () => providers.flatMap((provider) => provider.list(call.principal)),
      keyOf: ({ name }) => name,
      shape: (entry) => shapePrompt(call.revision, entry),
    },
    serverInfoOf(call.revision, call.snapshot.settings, nouns.deps.version),
  )
}

/** Renders one prompt. */
export async function getPrompt(call: Call, nouns: Nouns): Promise<Reply> {
  const name = textParam(call.params, 'name')
  const args = exact(call, objectParam(call.params, 'arguments'))
  const asking = askingFor(call, nouns.questions, nouns.rounds)
  const began = nouns.deps.clock.now()
  const tell = (status: 'ok' | 'error' | 'denied', rest: Pick<AuditEvent, 'error' | 'data'>): void => {
    nouns.deps.audit
      .record({
        ...actorOf(call.principal),
        type: 'prompt.get',
        status,
        target: name.slice(0, 128),
        execution_time: (nouns.deps.clock.now() - began) / 1000,
        ...rest,
      })
      .catch((fault: unknown) => nouns.deps.log.error('a prompt could not be audited', { fault }))
  }
  try {
    for (const provider of promptProviders(call.snapshot, nouns.deps)) {
      const answer = await provider.get(call.principal, name, args, { signal: call.signal, ask: asking.ask })
      if (!answer) continue
      tell('ok', answer._meta ? { data: answer._meta } : {})
      return {
        description: answer.description,
        messages: answer.messages.map(({ role, content }) => ({
          role,
          content: shapeContent(call.revision, [content])[0],
        })),
        ...(answer._meta && { _meta: answer._meta }),
      }
    }
    throw new AppError('not_found', `no prompt ${JSON.stringify(name.slice(0, 128))}`)
  } catch (error) {
    const interrupted = asking.interrupted()
    if (interrupted) return interrupted
    if (error instanceof AppError) {
      tell(error.code === 'not_found' || error.code === 'forbidden' ? 'denied' : 'error', {
        error: error.message,
      })
      if (error.code !== 'unavailable') {
        throw new JsonRpcError(codes.invalidParams, error.message, { data: error.data })
      }
    }
    throw error
  }
}

/** Prompt arguments without what JavaScript loses of numbers and of the order of keys. */
function exact(call: Call, args: Record<string, unknown>): Record<string, unknown> {
  const plain = Object.values(args).every((value) => typeof value === 'string' || typeof value === 'boolean')
  return plain ? args : suppliedArguments(call.text, ['params', 'arguments'])
}
