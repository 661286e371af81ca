import type { Audit } from '#audit/audit.ts'
import type { Store, Stored } from '#state/store.ts'
import type { LibraryReading } from './check-library.ts'

interface StoredBuiltIn extends Stored {
  readonly digest: string
}

/** The changes that a new package made to the built-in templates, categories and skills. */
export interface BuiltInMigration {
  readonly created: readonly string[]
  readonly updated: readonly string[]
  readonly removed: readonly string[]
}

const none: BuiltInMigration = { created: [], updated: [], removed: [] }

/**
 * Runs the platform's migration step (specification §9.9): compares what is built in with what was built in
 * when the state was last used, stores the difference, and audits it. Ids are `prompt/…`, `category/…`,
 * `skill/…`; counters and versions are kept under the ids and outlive an update.
 */
export async function migrateBuiltIns(
  now: LibraryReading['builtIns'],
  packageVersion: string,
  { store, audit }: { readonly store: Store; readonly audit: Audit },
): Promise<BuiltInMigration> {
  const builtIns = store.collection<StoredBuiltIn>({ name: 'library.built_in' })
  const before = new Map((await builtIns.find()).map(({ id, digest }) => [id, digest]))
  if (isSame(now, before)) return none

  return store.transaction(async (transaction) => {
    const stored = transaction.in(builtIns)
    const known = new Map((await stored.find()).map(({ id, digest }) => [id, digest]))
    const migration = {
      created: [...now.keys()].filter((id) => !known.has(id)),
      updated: [...now].filter(([id, digest]) => known.has(id) && known.get(id) !== digest).map(([id]) => id),
      removed: [...known.keys()].filter((id) => !now.has(id)),
    }
    for (const id of migration.removed) await stored.delete(id)
    for (const id of [...migration.created, ...migration.updated])
      await stored.put({ id, digest: now.get(id)! })
    if (migration.created.length + migration.updated.length + migration.removed.length === 0) return none
    await audit.recordIn(transaction, {
      type: 'library.migrate',
      status: 'ok',
      user: 'system',
      target: `assistant-core ${packageVersion}`,
      data: { ...migration },
    })
    return migration
  })
}

/** Returns the digests of the library's built-in templates, categories and skills, by id. */
export function builtInsOf(reading: Omit<LibraryReading, 'builtIns'>): Map<string, string> {
  const found = new Map<string, string>()
  for (const [id, { template }] of reading.templates)
    if (template.isSystem) found.set(`prompt/${id}`, template.digest)
  for (const [id, category] of reading.categories) {
    if (category.isSystem) found.set(`category/${id}`, JSON.stringify(category))
  }
  for (const [name, skill] of reading.skills) {
    if (skill.isSystem) found.set(`skill/${name}`, reading.skillDigests.get(name)!)
  }
  return found
}

function isSame(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  return a.size === b.size && [...a].every(([id, digest]) => b.get(id) === digest)
}
