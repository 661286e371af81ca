import { fileFault } from '#site/site-files.ts'
import type { Tool } from '../tool.ts'
import type { Bundle } from './bundle-module.ts'
import type { Tell } from '#site/site.ts'
import type { EntryParts } from './entry-parts.ts'
import type { Announced } from './module-messages.ts'
import { ModuleProcess, type ProcessParts } from './module-process.ts'

/** Makes the module's tools, as they were when it was first started. */
export function moduleParts(
  bundle: Bundle,
  more: Omit<ProcessParts, 'bundle' | 'onFault'> & Tell,
): EntryParts {
  const { failed, well } = more
  const module = new ModuleProcess({ ...more, bundle, onFault: failed })
  let tools: readonly Tool[] = []
  const toolOf = ({ runs, ...about }: Announced): Tool => ({
    ...(about as Tool),
    computes: true,
    ...(runs && {
      run: async (args, context) => {
        const answer = await module.call(about as Tool, args, context)
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
