import { bulkUpdate } from '../../documents/writing/updating.ts'
import { doctype, dryRun, likeFilters } from '../gate/arguments.ts'
import { listShape, objectShape, textShape, wholeNumberShape } from '../output-shapes.ts'
import { defineTool } from '../tool.ts'
import { objectWith } from '#leaf/object-schema.ts'

/**
 * Makes the same change to many documents in one transaction. Refused without names or filters, for more than
 * 500 documents, and as a whole when one of them cannot be changed.
 */
export const bulkUpdateTool = defineTool({
  name: 'bulk_update',
  title: 'Update many documents',
  description:
    'Sets the same values on up to 500 documents, by names or filters: all, or none when one cannot be changed. Use dry_run first.',
  category: 'privileged',
  idempotent: true,
  input: objectWith(
    { doctype, data: { type: 'object', description: 'New values by field.' } },
    {
      names: { type: 'array', items: { type: 'string' }, maxItems: 500 },
      filters: likeFilters,
      dry_run: dryRun,
    },
  ),
  output: objectShape({
    doctype: textShape,
    updated_count: wholeNumberShape,
    updated: listShape(textShape),
    unchanged: listShape(textShape),
  }),
  example: { doctype: 'Task', filters: { status: 'Review' }, data: { status: 'Done' }, dry_run: true },
  async run({ doctype, names, filters, data, dry_run: dryRun = false }, { principal, documents }) {
    const which = { ...(names && { names }), ...(filters && { filters }) }
    const { updated, unchanged } = await bulkUpdate(documents, principal, doctype, which, data, { dryRun })
    return { doctype, updated_count: updated.length, updated, unchanged, ...(dryRun && { dry_run: true }) }
  },
})
