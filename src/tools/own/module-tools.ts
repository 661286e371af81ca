import { fileFault } from '#site/site-files.ts'
import type { Bundle } from '#modules/bundle.ts'
import { type ModuleCall, ModuleProcess, type ProcessParts } from '#modules/process.ts'
import { AnswerPending, type Tool, type ToolContext } from '../tool.ts'
import type { Tell } from '#site/site.ts'
import type { EntryParts } from './entry-parts.ts'
import { asksOf } from './module-documents.ts'

type Announced = Awaited<ReturnType<ModuleProcess['start']>>

/** Makes the module's tools, as they were when it was first started. */
export function moduleParts(
  bundle: Bundle,
  more: Omit<ProcessParts, 'bundle' | 'memorySetting' | 'onFault'> & Tell,
): EntryParts {
  const { failed, well } = more
  const memorySetting = 'tools.module_memory_mb'
  const module = new ModuleProcess({ ...more, memorySetting, bundle, onFault: failed })
  let tools: readonly Tool[] = []
  const toolOf = ({ runs, ...about }: Announced[number]): Tool => ({
    ...(about as unknown as Tool),
    computes: true,
    ...(runs && {
      run: async (args, context) => {
        const answer = await module.call(callOf(about as unknown as Tool, args, context))
        well()
        return answer
      },
    }),
  })
  return {
    tools: () => tools,
    attempt: async () => {
      if (module.runs) return
      const announced = await module.start()
      if (tools.length === 0) tools = announced.map(toolOf)
    },
    place: (message) => fileFault(bundle.file, message),
    isProcess: true,
    close: (now) => (now ? module.close() : module.leave()),
  }
}

/** A call of a module's tool, which reaches what who called may reach. */
function callOf(tool: Tool, args: unknown, context: ToolContext): ModuleCall {
  const { signal, principal, budget, repeatable, progress, log } = context
  const { user, fullName, roles, client, requestId } = principal
  return {
    tool: tool.name,
    args,
    given: {
      principal: { user, fullName, roles: new Set(roles), ...(client && { client }), requestId },
      budget,
      ...(repeatable && { repeatable: { id: repeatable.id } }),
    },
    asks: asksOf(tool, context),
    tells: { progress, log },
    // The run begins anew when the person has answered.
    isEnd: (error) => error instanceof AnswerPending,
    signal,
    requestId,
  }
}
