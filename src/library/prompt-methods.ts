/**
 * The prompt template methods of specification §4.7 as plain functions of a principal and a JSON body;
 * `prompt-methods-endpoint.ts` serves them. What a principal may not see does not exist here either.
 */
import { AppError } from '#leaf/errors.ts'
import { compileSchema, problemsText, type Check } from '#leaf/schema.ts'
import type { RefusalOf } from '../core/effects.ts'
import type { Principal } from '../core/principal.ts'
import { unknownName } from '#leaf/names.ts'
import { requireEffect } from './access.ts'
import { withDescendants } from './categories.ts'
import { categoryTree } from './category-tree.ts'
import { versionHistory } from './versions/history.ts'
import { promptStatuses, type PromptStatus, type PromptTemplate } from './words.ts'
import type { Channels } from './versions/channels.ts'
import type { Previews } from './prompts/previews.ts'
import { byPopularity, promptRows } from './prompts/prompt-rows.ts'
import type { Library } from './library.ts'
import type { LibraryUsage } from './usage.ts'
import type { PromptWriter } from './writing/writing.ts'
import { objectWith } from '#leaf/object-schema.ts'

/** The dependencies of the methods. */
export interface PromptMethodParts {
  readonly library: () => Channels
  readonly usage: LibraryUsage
  readonly writer: PromptWriter
  readonly previews: Previews
  readonly refusalOf: RefusalOf
}

/** One method: the schema of its body, and the function that answers it. */
export interface PromptMethod<Answer = unknown> {
  /** The JSON Schema of the body. */
  readonly input: Readonly<Record<string, unknown>>
  /** Answers the method. AppError `invalid` with every problem of the body at once; `text` is the body as it was sent. */
  call(principal: Principal, body: unknown, text?: string): Promise<Answer>
}

const limit = { type: 'integer', minimum: 1, maximum: 1000 } as const
const text = { type: 'string', maxLength: 1000 } as const
const status = { type: 'string', enum: promptStatuses } as const
// `prompt_id` is our name, `prompt_name` is the one that callers of the platform know.
const ofPrompt = objectWith({})

const ofPreview = objectWith(
  { template_content: { type: 'string', maxLength: 200_000 } },
  {
    rendering_engine: { type: 'string', enum: ['Jinja2', 'Format String', 'Raw'] },
    arguments: { type: ['object', 'string'] },
    declared_arguments: { type: 'array', maxItems: 50, items: { type: 'object' } },
  },
)

/** Returns every method by its name. */
export function promptMethods(parts: PromptMethodParts) {
  return {
    preview_template: method(ofPreview, async (principal, _body: unknown, text) => {
      requireEffect(parts.refusalOf, principal, 'preview_prompts')
      return parts.previews.render(principal.user, text, (doctype, name) =>
        parts.library().for(principal).links.exists(principal, doctype, name),
      )
    }),
    ...findingMethods(parts),
    ...versionMethods(parts),
  }
}

/** Finds every template that a principal may get and that fits, the best or most used first. AppError `not_found` for a category. */
export async function findPrompts(
  library: Library,
  usage: LibraryUsage,
  principal: Principal,
  { query = '', category, tags }: Pick<SearchBody, 'query' | 'category' | 'tags'>,
  isWanted: (template: PromptTemplate) => boolean,
) {
  const admitted = new Map(
    library
      .gettable(principal)
      .filter(isWanted)
      .filter(inCategory(library, category))
      .filter(withTags(tags))
      .map((template) => [template.id, template]),
  )
  const uses = await usage.all('prompt')
  const words = query.trim()
  const found =
    words === ''
      ? [...admitted.values()].sort(byPopularity(uses))
      : (await library.index()).find(words, (id) => admitted.has(id)).map((id) => admitted.get(id)!)
  return { found, uses }
}

/** Makes the methods that find templates and their categories. */
function findingMethods({ library: channels, usage }: PromptMethodParts) {
  const of = (principal: Principal): Library => channels().for(principal)
  return {
    search_prompts: method(
      objectWith(
        {},
        { query: text, category: text, status, tags: { type: ['string', 'array'], items: text }, limit },
      ),
      async (principal, body: SearchBody) => {
        const { status = 'Published' } = body
        const isWanted = (template: PromptTemplate): boolean => template.status === status
        const { found, uses } = await findPrompts(of(principal), usage, principal, body, isWanted)
        return promptRows(principal, found.slice(0, body.limit ?? 20), uses)
      },
    ),
    get_popular_prompts: method(objectWith({}, { limit }), async (principal, body: { limit?: number }) => {
      const uses = await usage.all('prompt')
      const published = of(principal).prompts(principal).filter(isPublished)
      return promptRows(principal, [...published].sort(byPopularity(uses)).slice(0, body.limit ?? 10), uses)
    }),
    get_prompts_by_category: method(
      objectWith({ category: text }),
      async (principal, body: { category: string }) => {
        const library = of(principal)
        const found = library
          .prompts(principal)
          .filter(isPublished)
          .filter(inCategory(library, body.category))
        return promptRows(principal, found, await usage.all('prompt'))
      },
    ),
    get_category_tree: method(objectWith({}, { parent: text }), (principal, body: { parent?: string }) =>
      Promise.resolve(categoryTree(of(principal), principal, body.parent)),
    ),
  }
}

/** Makes the methods that read and write versions of one template. */
function versionMethods({ library: channels, writer }: PromptMethodParts) {
  return {
    get_version_history: method(
      { ...ofPrompt, properties: { prompt_id: text, prompt_name: text, limit } },
      (principal, body: PromptBody & { limit?: number }) => {
        const library = channels().for(principal)
        const template = library.prompt(principal, idOf(body))
        return versionHistory(library.line, template, Math.min(body.limit ?? 50, 200))
      },
    ),
    restore_version: method(
      {
        ...ofPrompt,
        properties: {
          prompt_id: text,
          prompt_name: text,
          version: { type: 'integer', minimum: 1 },
          version_id: { type: ['integer', 'string'], pattern: '^\\d{1,9}$' },
        },
      },
      (principal, body: PromptBody & { version?: number; version_id?: number | string }) => {
        const version = Number(body.version ?? body.version_id)
        if (!Number.isInteger(version)) throw new AppError('invalid', '"version" is required')
        return writer.restore(principal, idOf(body), version)
      },
    ),
    create_version: method(
      {
        ...ofPrompt,
        properties: { prompt_id: text, prompt_name: text, notes: { type: 'string', maxLength: 2000 } },
      },
      (principal, body: PromptBody & { notes?: string }) =>
        writer.createVersion(principal, idOf(body), body.notes?.trim() ?? ''),
    ),
    duplicate_as_private: method(
      { ...ofPrompt, properties: { prompt_id: text, prompt_name: text } },
      (principal, body: PromptBody) => writer.duplicate(principal, idOf(body)),
    ),
  }
}

/** Every method with the type of its answer. */
export type PromptMethods = ReturnType<typeof promptMethods>

/**
 * Makes a method from the schema of its body and a function that gets checked bodies. The type is written beside
 * the schema: deriving it from a schema with alternatives takes the compiler minutes.
 */
function method<Body, Answer>(
  input: Readonly<Record<string, unknown>>,
  call: (principal: Principal, body: Body, text: string) => Promise<Answer>,
): PromptMethod<Answer> {
  const check: Check = compileSchema(input)
  return {
    input,
    call: async (principal, body, text) => {
      const given = body ?? {}
      const problems = check(given)
      if (problems.length > 0) throw new AppError('invalid', problemsText(problems), { data: { problems } })
      return call(principal, given as Body, text ?? JSON.stringify(given))
    },
  }
}

interface PromptBody {
  readonly prompt_id?: string
  readonly prompt_name?: string
}

interface SearchBody {
  readonly query?: string
  readonly category?: string
  readonly status?: PromptStatus
  readonly tags?: string | readonly string[]
  readonly limit?: number
}

function idOf(body: { readonly prompt_id?: string; readonly prompt_name?: string }): string {
  const id = body.prompt_id ?? body.prompt_name
  if (id === undefined) throw new AppError('invalid', '"prompt_id" is required')
  return id
}

function isPublished(template: PromptTemplate): boolean {
  return template.status === 'Published'
}

/** Returns a filter by category; AppError `not_found` for a category that does not exist. */
function inCategory(library: Library, category: string | undefined): (template: PromptTemplate) => boolean {
  if (category === undefined || category === '') return () => true
  const { categories } = library.reading
  if (!categories.has(category))
    throw new AppError('not_found', unknownName('category', category, categories.keys()))
  const wanted = withDescendants(category, categories)
  return (template) => template.category !== undefined && wanted.has(template.category)
}

function withTags(tags: unknown): (template: PromptTemplate) => boolean {
  const wanted = (Array.isArray(tags) ? tags.map(String) : typeof tags === 'string' ? tags.split(',') : [])
    .map((tag) => tag.trim().toLowerCase())
    .filter((tag) => tag !== '')
  return (template) => {
    const has = new Set(template.tags.map((tag) => tag.toLowerCase()))
    return wanted.every((tag) => has.has(tag))
  }
}
