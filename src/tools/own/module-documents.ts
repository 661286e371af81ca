/** The verbs by which a module reaches documents: tools of the service, run as the caller of the module's tool. */
import { AppError } from '#leaf/errors.ts'
import { compileSchema, problemsText } from '#leaf/schema.ts'
import { aggregate } from '../reading/aggregate.ts'
import { createDocumentTool } from '../writing/create-document.ts'
import { getDocumentTool } from '../reading/get-document.ts'
import { listDocumentsTool } from '../reading/list-documents.ts'
import type { DocumentVerbs } from '../module-tool.d.ts'
import { searchDocumentsTool } from '../reading/search-documents.ts'
import { submitDocumentTool } from '../writing/submit-document.ts'
import type { Tool, ToolContext } from '../tool.ts'
import { updateDocumentTool } from '../writing/update-document.ts'
import type { ModuleCall } from '#modules/process.ts'

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
  } satisfies Record<keyof DocumentVerbs, Tool>).map(([name, tool]) => [
    `documents.${name}`,
    { tool, check: compileSchema(tool.input) },
  ]),
)

/** Returns the functions by which a call of a module's tool asks the service, as who called that tool. */
export function asksOf(by: Pick<Tool, 'category'>, context: ToolContext): ModuleCall['asks'] {
  const names = [...verbs.keys()].map((name) => [
    name,
    async (wanted: unknown) => await runVerb(by, context, name, wanted),
  ])
  // Each takes what it knows, whatever the module sends.
  return {
    ...Object.fromEntries(names),
    callTool: async (name: string, wanted: unknown) => await context.callTool(name, wanted),
    ask: async (questions: Parameters<ToolContext['ask']>[0]) => await context.ask(questions),
  }
}

/** Runs a verb. AppError `invalid` for arguments that the verb does not take, `forbidden` for a change by a read-only tool. */
async function runVerb(
  by: Pick<Tool, 'category'>,
  context: ToolContext,
  name: string,
  wanted: unknown,
): Promise<unknown> {
  const { tool, check } = verbs.get(name)!
  const problems = check(wanted)
  if (problems.length > 0) throw new AppError('invalid', `${name}: ${problemsText(problems)}`)
  if (tool.category !== 'read_only' && by.category === 'read_only')
    throw new AppError('forbidden', `${name}: a tool of the category read_only changes nothing`)
  const { principal, documents, library, signal, progress, log, callTool, ask } = context
  return await tool.run(wanted, {
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
