import { isoTime } from '#leaf/clock.ts'
import type { Principal } from '../../core/principal.ts'
import { promptNameFor } from '../writing/own-names.ts'
import type { PromptTemplate } from '../words.ts'
import type { Use } from '../usage.ts'

/** A template as the methods and the command line list it, in the names of specification §2.6. */
export interface PromptRow {
  readonly name: string
  readonly prompt_id: string
  readonly title: string
  readonly description: string
  readonly category: string | null
  readonly status: string
  readonly visibility: string
  readonly rendering_engine: string
  /** The version; null while it is not committed. */
  readonly version_number: number | null
  readonly use_count: number
  /** ISO 8601; null when it was never used. */
  readonly last_used: string | null
  readonly is_system: 0 | 1
  readonly owner: string
  readonly tags: readonly string[]
}

/** Returns one row, with the name under which the viewer gets the template. */
export function promptRow(
  viewer: Pick<Principal, 'user'>,
  template: PromptTemplate,
  use: Use | undefined,
): PromptRow {
  const name = promptNameFor(viewer, template)
  return {
    name,
    prompt_id: name,
    title: template.title,
    description: template.description,
    category: template.category ?? null,
    status: template.status,
    visibility: template.visibility,
    rendering_engine: template.engine,
    version_number: template.version,
    use_count: use?.count ?? 0,
    last_used: use?.last === undefined ? null : isoTime(use.last),
    is_system: template.isSystem ? 1 : 0,
    owner: template.owner,
    tags: template.tags,
  }
}

/** Returns rows of templates in the order given. */
export function promptRows(
  viewer: Pick<Principal, 'user'>,
  templates: readonly PromptTemplate[],
  uses: ReadonlyMap<string, Use>,
): PromptRow[] {
  return templates.map((template) => promptRow(viewer, template, uses.get(template.id)))
}

/** Compares by popularity: most used first, then most recently used, then by id. */
export function byPopularity(
  uses: ReadonlyMap<string, Use>,
): (a: PromptTemplate, b: PromptTemplate) => number {
  const count = (id: string): number => uses.get(id)?.count ?? 0
  const last = (id: string): number => uses.get(id)?.last ?? 0
  return (a, b) => count(b.id) - count(a.id) || last(b.id) - last(a.id) || (a.id < b.id ? -1 : 1)
}
