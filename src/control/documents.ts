import { AppError } from '#leaf/errors.ts'
import { objectWith } from '#leaf/object-schema.ts'
import { flag, nonNegative as count } from '#leaf/setting-types.ts'
import { asks, takes } from '#commands/description.ts'
import { defineOperation, type Needs } from './operation.ts'
import { principalOf } from './whose.ts'

const needs = ['site', 'people', 'settings'] as const

const text = { type: 'string' } as const
const object = { type: 'object' } as const

/** The input of an export; its command writes the text as it comes. */
export const exportInput = takes({
  doctype: '<doctype>',
  user: '--user <user>!: as this user, who gets what they may read',
  format: asks('--format <format>: csv: a table (RFC 4180); jsonl: one whole document a line', {
    enum: ['csv', 'jsonl'],
    default: 'csv',
  }),
  fields: '--fields <fields>: only these fields, with commas',
  filters: '--filters <json>: only documents that pass these, as list_documents takes them',
})

/** The operations that bring documents in from files and out again. */
export const documentOperations = [
  defineOperation({
    // Its command reads the file, where the operator is: the daemon may not see it.
    name: 'documents.import_target',
    input: objectWith({ doctype: text }, { user: text }),
    needs,
    run: async ({ doctype, user }, services) => {
      const { importTarget } = await import('../documents/importing/import-target.ts')
      const { principal, keepsOrigin } = importerOf(services, user)
      return importTarget(services.site.current().documents, principal, doctype, keepsOrigin)
    },
  }),
  defineOperation({
    name: 'documents.import_mark',
    input: objectWith({ run: text }, { again: flag }),
    needs,
    run: async ({ run, again = false }, { site }) => {
      const { importedBefore } = await import('../documents/importing/import-rows.ts')
      return importedBefore(site.current().documents, run, again)
    },
  }),
  defineOperation({
    // Audited as the changes that it makes, and as `document.import`.
    name: 'documents.import_rows',
    input: objectWith(
      {
        doctype: text,
        run: { type: 'string', pattern: '^[0-9a-f]{32}$' },
        from: count,
        next: count,
        refused: count,
        last: flag,
        rows: {
          type: 'array',
          items: objectWith({ index: count, line: count, data: object }, { origin: object }),
        },
      },
      { user: text, key: text, dry_run: flag },
    ),
    needs,
    run: async ({ doctype, user, key, dry_run: dryRun = false, ...batch }, services) => {
      const { importRows } = await import('../documents/importing/import-rows.ts')
      const { principal, keepsOrigin } = importerOf(services, user)
      const { users } = services.people()
      const options = { key, dryRun, keepsOrigin, isUser: (one: string) => users.has(one) }
      return await importRows(services.site.current().documents, principal, doctype, batch, options)
    },
  }),
  defineOperation({
    // Audited as `document.export`, before each piece of the text.
    name: 'documents.export',
    input: exportInput,
    needs,
    run: async ({ doctype, user, format, fields, filters }, { site, ...taken }) => {
      const { exportDocuments } = await import('../documents/asking/exporting.ts')
      const asker = principalOf(taken, user)
      return await exportDocuments({ ...site.current().documents, asker }, asker, {
        doctype,
        format: format as 'csv' | 'jsonl',
        fields: fields?.split(',').map((field) => field.trim()),
        ...(filters !== undefined && { filters: filtersIn(filters) }),
      })
    },
  }),
] as const

/** Returns who imports: a user, or the operator, whom alone the site may let keep names, owners and times. */
function importerOf(taken: Needs<'people' | 'settings'>, user: string | undefined) {
  const keepsOrigin = user === undefined && taken.settings().documents.import_keeps_origin
  return { principal: principalOf(taken, user), keepsOrigin }
}

function filtersIn(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    throw new AppError('invalid', `--filters: must be JSON, such as {"status": "Open"}`, { cause: error })
  }
}
