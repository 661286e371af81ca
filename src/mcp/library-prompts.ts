/** The library's prompt templates as MCP prompts, in the words of specification §4.5. */
import { AppError } from '../core/errors.ts'
import { listedDescription } from '../library/arguments.ts'
import type { PromptArgument, PromptTemplate } from '../library/words.ts'
import type { PromptArgumentEntry, PromptEntry, PromptProvider } from './extras.ts'
import type { McpSnapshot } from './protocol.ts'

/** The library's prompt templates as a source of prompts. */
export function libraryPrompts(library: McpSnapshot['library']): PromptProvider {
  return {
    list: (principal) => library.prompts(principal).map(entryOf),
    get: async (principal, name, args) => {
      if (!isKnown(() => library.prompt(principal, name))) return undefined
      const { template, text, commit } = await library.render(principal, name, args)
      return {
        description: template.description,
        messages: [{ role: 'user', content: { type: 'text', text } }],
        _meta: {
          'assistant_core/version_number': template.version,
          'assistant_core/digest': template.digest,
          ...(commit !== undefined && { 'assistant_core/commit': commit }),
        },
      }
    },
    complete: async (principal, name, argument, typed) =>
      isKnown(() => library.prompt(principal, name))
        ? library.complete(principal, name, argument, typed)
        : undefined,
    digest: (principal) => library.promptsDigest(principal),
  }
}

function isKnown(find: () => unknown): boolean {
  try {
    find()
    return true
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return false
    throw error
  }
}

function entryOf(template: PromptTemplate): PromptEntry {
  return {
    name: template.id,
    title: template.title,
    description: template.description,
    ...(template.category !== undefined && { category: template.category }),
    arguments: template.arguments.map(argumentOf),
  }
}

/** Specification §4.5, rules for prompts, 2. */
function argumentOf(argument: PromptArgument): PromptArgumentEntry {
  const { name, required, allowedValues } = argument
  return {
    name,
    description: listedDescription(argument),
    required,
    ...(allowedValues.length > 0 && { enum: allowedValues }),
    default: argument.default ?? null,
  }
}
