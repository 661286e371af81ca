/** Where prompts and resources come from: the library first, then what was added beside it. */
import type { PromptProvider, ResourceProvider } from './extras.ts'
import { libraryPrompts } from './library-prompts.ts'
import type { McpDeps, McpSnapshot } from './protocol.ts'
import { skillResources } from './skill-resources.ts'

type Sources = Pick<McpDeps, 'audit' | 'extras'>

/** Everything that offers prompts. */
export function promptProviders({ library }: McpSnapshot, { extras }: Sources): readonly PromptProvider[] {
  return [libraryPrompts(library), ...(extras?.prompts ?? [])]
}

/** Everything that offers resources. */
export function resourceProviders(
  { library }: McpSnapshot,
  { audit, extras }: Sources,
): readonly ResourceProvider[] {
  return [skillResources(library, audit), ...(extras?.resources ?? [])]
}
