/** The verbs by which a module reaches documents: tools of the service, run as the caller of the module's tool. */
import { AppError } from '#leaf/errors.ts'
import { compileSchema, problemsText } from '#leaf/schema.ts'
import { aggregate } from '../aggregate.ts'
import { createDocumentTool } from '../create-document.ts'
import { getDocumentTool } from '../get-document.ts'
import { listDocumentsTool } from '../list-documents.ts'
import type { DocumentVerbs } from '../module-tool.d.ts'
import { searchDocumentsTool } from '../search-documents.ts'
import { submitDocumentTool } from '../submit-document.ts'
import type { Tool, ToolContext } from '../tool.ts'
import { updateDocumentTool } from '../update-document.ts'
import type { Asked, verbNames } from './module-messages.ts'

/** The budget in bytes: a module is no model, so `limit` alone bounds its rows. */
const budget = 10_000_000

const verbs = new Map(
  Object.entries({
    list: listDocumentsTool,
    get: getDocumentTool,
    create: createDocumentTool,
    update: updateDocumentTool,
    submit: submitDocumentTool,
    aggregate,
    search: searchDocumentsTool,
  } satisfies Record<keyof DocumentVerbs & (typeof verbNames)[number], Tool>).map(([name, tool]) => [
    name,
    { tool, check: compileSchema(tool.input) },
  ]),
)

/** Answers what a module asked, as the caller of its tool. */
export async function answerTo(
  asked: Asked,
  by: Pick<Tool, 'category'>,
  context: ToolContext,
): Promise<unknown> {
  if (asked.verb === 'documents') return await runVerb(by, context, asked.name, asked.wanted)
  if (asked.verb === 'callTool') return await context.callTool(asked.name, asked.wanted)
  return await context.ask(asked.wanted)
}

/** Runs a verb. AppError `invalid` for arguments that the verb does not take, `forbidden` for a change by a read-only tool. */
async function runVerb(
  by: Pick<Tool, 'category'>,
  context: ToolContext,
  name: string,
  wanted: unknown,
): Promise<unknown> {
  const verb = verbs.get(name)
  if (!verb) throw new AppError('invalid', `documents.${name}: there is no such verb`)
  const problems = verb.check(wanted)
  if (problems.length > 0) throw new AppError('invalid', `documents.${name}: ${problemsText(problems)}`)
  if (verb.tool.category !== 'read_only' && by.category === 'read_only')
    throw new AppError('forbidden', `documents.${name}: a tool of the category read_only changes nothing`)
  const { principal, documents, library, signal, progress, log, callTool, ask } = context
  return await verb.tool.run(wanted, {
    principal,
    documents,
    library,
    budget,
    signal,
    progress,
    log,
    callTool,
    lacks: new Set(),
    ask,
  })
}
