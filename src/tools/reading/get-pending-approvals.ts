import { pendingApprovals } from '../../documents/writing/workflow.ts'
import { doctype } from '../gate/arguments.ts'
import { fitRows } from '../gate/fit-rows.ts'
import { rowsShape } from '../output-shapes.ts'
import { defineTool } from '../tool.ts'
import { objectWith } from '#leaf/object-schema.ts'

/** Lists the documents of any workflow that wait for the caller, with its actions; `run_workflow` takes one. */
export const getPendingApprovals = defineTool({
  name: 'get_pending_approvals',
  title: 'Pending approvals',
  description: 'Documents that wait for a workflow action of yours, oldest first.',
  category: 'read_only',
  view: 'approvals',
  unlisted: ['limit'],
  input: objectWith(
    {},
    {
      doctype,
      limit: { type: 'integer', minimum: 1, maximum: 200, description: 'Default 50.' },
    },
  ),
  largeOutput: rowsShape('pending_approvals'),
  example: { doctype: 'Purchase Order' },
  async run({ doctype, limit = 50 }, { principal, documents, budget }) {
    const { pending, total } = await pendingApprovals(documents, principal, {
      ...(doctype !== undefined && { doctype }),
      limit,
    })
    return fitRows({ pending_approvals: pending }, 'pending_approvals', { total, offset: 0 }, budget)
  },
})
