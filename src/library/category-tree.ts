import { AppError } from '#leaf/errors.ts'
import type { Principal } from '../core/principal.ts'
import { unknownName } from '#leaf/names.ts'
import type { Category } from './words.ts'
import type { Library } from './library.ts'

/** A category with its children, and the number of templates that the principal sees in it and below. */
export interface CategoryNode {
  readonly category_id: string
  readonly category_name: string
  readonly description: string
  readonly icon: string
  readonly color: string
  readonly is_group: 0 | 1
  readonly prompt_count: number
  readonly children: readonly CategoryNode[]
}

/** Returns the categories as a tree, from the top or from below one category; AppError `not_found`. */
export function categoryTree(library: Library, principal: Principal, parent?: string): CategoryNode[] {
  const { categories } = library.reading
  if (parent !== undefined && !categories.has(parent)) {
    throw new AppError('not_found', unknownName('category', parent, categories.keys()))
  }
  const counts = new Map<string, number>()
  for (const { category, status: of } of library.prompts(principal)) {
    if (category !== undefined && of === 'Published') counts.set(category, (counts.get(category) ?? 0) + 1)
  }
  const below = (id: string | undefined): CategoryNode[] =>
    [...categories.values()].filter((category) => category.parent === id).map(node)
  const node = (category: Category): CategoryNode => {
    const children = below(category.id)
    return {
      category_id: category.id,
      category_name: category.name,
      description: category.description,
      icon: category.icon,
      color: category.color,
      is_group: category.isGroup ? 1 : 0,
      prompt_count:
        (counts.get(category.id) ?? 0) + children.reduce((sum, child) => sum + child.prompt_count, 0),
      children,
    }
  }
  return below(parent)
}
