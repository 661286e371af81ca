import { isoTime } from '../core/clock.ts'
import type { PromptTemplate } from './words.ts'
import type { Use } from './usage.ts'

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
  /** null while it is not committed. */
  readonly version_number: number | null
  readonly use_count: number
  /** ISO 8601, null when it was never used. */
  readonly last_used: string | null
  readonly is_system: 0 | 1
  readonly owner: string
  readonly tags: readonly string[]
}

/** One row. */
export function promptRow(template: PromptTemplate, use: Use | undefined): PromptRow {
  return {
    name: template.id,
    prompt_id: template.id,
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

/** Rows of templates in the order given. */
export function promptRows(
  templates: readonly PromptTemplate[],
  uses: ReadonlyMap<string, Use>,
): PromptRow[] {
  return templates.map((template) => promptRow(template, uses.get(template.id)))
}

/** The order of popularity: most used first, then most recently, then by id. */
export function byPopularity(
  uses: ReadonlyMap<string, Use>,
): (a: PromptTemplate, b: PromptTemplate) => number {
  const count = (id: string): number => uses.get(id)?.count ?? 0
  const last = (id: string): number => uses.get(id)?.last ?? 0
  return (a, b) => count(b.id) - count(a.id) || last(b.id) - last(a.id) || (a.id < b.id ? -1 : 1)
}
