/** `prompts/list` and `prompts/get`: the library's prompt templates in the words of specification §4.5. */
import type { Audit } from '../audit/audit.ts'
import { eventOf, type AuditStatus } from '../audit/event.ts'
import type { Clock } from '../core/clock.ts'
import { AppError, messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { noting } from '../core/principal.ts'
import { Shown } from '../core/shown.ts'
import { listedDescription } from '../library/arguments.ts'
import type { PromptArgument, PromptTemplate } from '../library/words.ts'
import { suppliedArguments } from '../library/supplied-arguments.ts'
import type { Call, Reply } from './call.ts'
import { type Json, objectParam, textParam } from './json-rpc.ts'
import type { Pages } from './lists.ts'
import { shapePrompt } from './shape.ts'

/** The prompts that this principal may use. */
export function listPrompts(call: Call, { pages }: { readonly pages: Pages }): Reply {
  const { library } = call.snapshot
  return pages.page(call, {
    field: 'prompts',
    digest: library.promptsDigest(call.principal),
    items: () => library.prompts(call.principal),
    keyOf: ({ id }) => id,
    shape: (template) => shapePrompt(call.revision, promptEntry(template)),
  })
}

/** Renders one prompt. */
export async function getPrompt(
  call: Call,
  deps: { readonly audit: Audit; readonly clock: Clock; readonly log: Log },
): Promise<Reply> {
  const began = deps.clock.now()
  const principal = noting(call.principal, new Shown())
  const tell = (status: AuditStatus, said: Json, error?: string): void => {
    const { name = '', arguments: given } = call.params
    deps.audit
      .record(
        eventOf(principal, {
          type: 'prompt.get',
          status,
          target: (typeof name === 'string' ? name : JSON.stringify(name)).slice(0, 128),
          success: status === 'ok',
          execution_time: (deps.clock.now() - began) / 1000,
          error,
          documents: principal.shown.told(),
          data: { ...said, arguments: given },
        }),
      )
      .catch((fault: unknown) => deps.log.error('a prompt could not be audited', { fault }))
  }
  try {
    const name = textParam(call.params, 'name')
    const args = exact(call, objectParam(call.params, 'arguments'))
    const { template, text, commit } = await call.snapshot.library.render(principal, name, args)
    const data = {
      ...(template.version !== null && { 'assistant_core/version_number': template.version }),
      'assistant_core/digest': template.digest,
      ...(commit !== undefined && { 'assistant_core/commit': commit }),
    }
    tell('ok', data)
    return {
      description: template.description,
      messages: [{ role: 'user', content: { type: 'text', text } }],
      _meta: data,
    }
  } catch (error) {
    const denied = error instanceof AppError && (error.code === 'not_found' || error.code === 'forbidden')
    tell(denied ? 'denied' : 'error', {}, messageOf(error))
    throw error
  }
}

/** Prompt arguments without what JavaScript loses of numbers and of the order of keys. */
function exact(call: Call, args: Record<string, unknown>): Record<string, unknown> {
  const plain = Object.values(args).every((value) => typeof value === 'string' || typeof value === 'boolean')
  return plain ? args : suppliedArguments(call.text, ['params', 'arguments'])
}

/** A prompt as `prompts/list` shows it. */
function promptEntry(template: PromptTemplate): Json {
  return {
    name: template.id,
    title: template.title,
    description: template.description,
    ...(template.category !== undefined && { category: template.category }),
    arguments: template.arguments.map(argumentOf),
  }
}

/** Specification §4.5, rules for prompts, 2. */
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
