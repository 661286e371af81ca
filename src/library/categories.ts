import { unknownName } from '#leaf/names.ts'
import { fileSchema } from '#leaf/file-schema.ts'
import { type FromSchema, type JSONSchema } from '#leaf/schema.ts'
import { checkDocument } from '#site/checking.ts'
import type { Fault, SourceDocument } from '#site/site-files.ts'
import type { Category } from './words.ts'
import { objectWith } from '#leaf/object-schema.ts'

/** `prompts/categories.yaml`: a list of categories, in the names of specification §2.8. */
export const categoriesSchema = objectWith({
  categories: {
    type: 'array',
    items: objectWith(
      {
        category_id: { type: 'string', pattern: '^[a-z0-9-]+$', maxLength: 140 },
        category_name: { type: 'string', minLength: 1, maxLength: 140 },
      },
      {
        parent_category: { type: ['string', 'null'] },
        is_group: { enum: [0, 1, false, true] },
        icon: { type: 'string', pattern: '^[A-Za-z0-9 _-]*$', maxLength: 100 },
        color: { type: 'string', pattern: '^#[0-9A-Fa-f]{6}$' },
        description: { type: 'string', maxLength: 500 },
        is_system: { enum: [0, 1, false, true] },
      },
    ),
  },
}) satisfies JSONSchema

const check = fileSchema(categoriesSchema)

/** A category, with a function that makes a fault at its place in the file. */
export interface ReadCategory {
  readonly category: Category
  readonly fault: (property: string, message: string) => Fault
}

/** Reads the categories of one file; a category whose id is taken already is reported and left out. */
export function readCategories(
  document: SourceDocument,
  taken: ReadonlyMap<string, ReadCategory>,
  faults: Fault[],
): Map<string, ReadCategory> {
  const data = checkDocument<FromSchema<typeof categoriesSchema>>(document, check, faults)
  const read = new Map<string, ReadCategory>()
  for (const [index, row] of (data?.categories ?? []).entries()) {
    const id = row.category_id
    const fault = (property: string, message: string): Fault =>
      document.fault(['categories', index, property], message)
    if (read.has(id) || taken.has(id)) {
      const how = taken.get(id)?.category.isSystem ? 'a built-in category' : 'declared twice'
      faults.push(fault('category_id', `"${id}" is ${how}`))
      continue
    }
    read.set(id, {
      category: Object.freeze({
        id,
        name: row.category_name,
        description: row.description ?? '',
        ...(row.parent_category && { parent: row.parent_category }),
        isGroup: Boolean(row.is_group),
        icon: row.icon ?? '',
        color: row.color ?? '',
        isSystem: Boolean(row.is_system),
      }),
      fault,
    })
  }
  return read
}

/** Reports faults of the hierarchy: parents that do not exist, are not groups, or form a cycle. */
export function checkHierarchy(categories: ReadonlyMap<string, ReadCategory>, faults: Fault[]): void {
  for (const { category, fault } of categories.values()) {
    if (category.parent === undefined) continue
    const parent = categories.get(category.parent)
    if (!parent) {
      faults.push(fault('parent_category', unknownName('category', category.parent, categories.keys())))
    } else if (!parent.category.isGroup) {
      faults.push(fault('parent_category', `"${category.parent}" is not a group; set is_group: 1 there`))
    }
    const above = new Set([category.id])
    let next: string | undefined = category.parent
    while (next !== undefined && !above.has(next)) {
      above.add(next)
      next = categories.get(next)?.category.parent
    }
    if (next === category.id) faults.push(fault('parent_category', 'leads back to the category itself'))
  }
}

/** Returns the ids of a category and of everything below it. */
export function withDescendants(id: string, categories: ReadonlyMap<string, Category>): Set<string> {
  const found = new Set([id])
  for (let size = 0; size !== found.size;) {
    size = found.size
    for (const category of categories.values()) {
      if (category.parent !== undefined && found.has(category.parent)) found.add(category.id)
    }
  }
  return found
}
