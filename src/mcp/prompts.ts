/** Answers `prompts/list` and `prompts/get` with the library's prompt templates, in the form of specification §4.5. */
import { type Audit, type AuditStatus, eventOf, recordAnswer } from '#audit/audit.ts'
import type { Clock } from '#leaf/clock.ts'
import { AppError, messageOf } from '#leaf/errors.ts'
import type { Log } from '#leaf/log.ts'
import type { Soon } from '#leaf/soon.ts'
import { noting, type Principal } from '../core/principal.ts'
import { Shown } from '../core/shown.ts'
import { promptNameFor } from '../library/writing/own-names.ts'
import { listedDescription } from '../library/prompts/arguments.ts'
import type { PromptArgument, PromptTemplate } from '../library/words.ts'
import { suppliedArguments } from '../library/prompts/supplied-arguments.ts'
import type { Call, Reply } from './call.ts'
import { type Json, objectParam, textParam } from './json-rpc.ts'
import type { Pages } from './lists.ts'
import { shapePrompt } from './shape.ts'

/** Lists the prompts that this principal may use. */
export function listPrompts(call: Call, { listPages }: { readonly listPages: Pages }): Reply {
  const { library } = call.snapshot
  return listPages.page(call, {
    field: 'prompts',
    digest: library.promptsDigest(call.principal),
    items: () => library.prompts(call.principal),
    keyOf: ({ id }) => id,
    shape: (template) => shapePrompt(call.revision, promptEntry(call.principal, template)),
  })
}

/** Renders one prompt. */
export async function getPrompt(
  call: Call,
  deps: { readonly audit: Audit; readonly clock: Clock; readonly log: Log },
): Promise<Reply> {
  const began = deps.clock.now()
  const principal = noting(call.principal, new Shown())
  const tell = (status: AuditStatus, said: Json, error?: string): Soon<void> => {
    const { name = '', arguments: given } = call.params
    return recordAnswer(
      deps.audit,
      deps.log,
      eventOf(principal, {
        type: 'prompt.get',
        status,
        target: (typeof name === 'string' ? name : JSON.stringify(name)).slice(0, 128),
        success: status === 'ok',
        execution_time: (deps.clock.now() - began) / 1000,
        error,
        documents: principal.shown.told(),
        data: { ...said, arguments: call.snapshot.catalogue.recorded('', given) },
      }),
    )
  }
  let reply: { readonly _meta: Json } & Json
  try {
    const name = textParam(call.params, 'name')
    const args = exact(call, objectParam(call.params, 'arguments'))
    const { template, text, commit } = await call.snapshot.library.render(principal, name, args)
    const data = {
      ...(template.version !== null && { 'assistant_core/version_number': template.version }),
      'assistant_core/digest': template.digest,
      ...(commit !== undefined && { 'assistant_core/commit': commit }),
    }
    const content = { type: 'text', text }
    reply = { description: template.description, messages: [{ role: 'user', content }], _meta: data }
  } catch (error) {
    const denied = error instanceof AppError && (error.code === 'not_found' || error.code === 'forbidden')
    await tell(denied ? 'denied' : 'error', {}, messageOf(error))
    throw error
  }
  await tell('ok', reply._meta)
  return reply
}

/** Returns prompt arguments without JavaScript's loss of numbers and of the order of keys. */
function exact(call: Call, args: Record<string, unknown>): Record<string, unknown> {
  const plain = Object.values(args).every((value) => typeof value === 'string' || typeof value === 'boolean')
  return plain ? args : suppliedArguments(call.text, ['params', 'arguments'])
}

/** Returns a prompt as `prompts/list` shows it. */
function promptEntry(principal: Principal, template: PromptTemplate): Json {
  return {
    name: promptNameFor(principal, template),
    title: template.title,
    description: template.description,
    ...(template.category !== undefined && { category: template.category }),
    arguments: template.arguments.map(argumentOf),
  }
}

/** Returns an argument by specification §4.5, rules for prompts, 2. */
function argumentOf(argument: PromptArgument): Json {
  const { name, required, allowedValues } = argument
  return {
    name,
    description: listedDescription(argument),
    required,
    ...(allowedValues.length > 0 && { enum: allowedValues }),
    default: argument.default ?? null,
  }
}
