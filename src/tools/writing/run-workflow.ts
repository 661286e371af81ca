import { runWorkflow } from '../../documents/writing/workflow.ts'
import { doctype, dryRun, name } from '../gate/arguments.ts'
import { aboutDocument, documentShape, listShape, textShape, wholeNumberShape } from '../output-shapes.ts'
import { defineTool } from '../tool.ts'
import { objectWith } from '#leaf/object-schema.ts'

/**
 * Takes an action of a workflow, such as an approval. Refused when the state has no such action, when
 * the caller's roles or the condition do not allow it, and to the owner where self-approval is off; the
 * refusal names the possible actions.
 */
export const runWorkflowTool = defineTool({
  name: 'run_workflow',
  title: 'Run a workflow action',
  description: 'Moves a document to its next workflow state, such as "Approve".',
  category: 'write',
  destructive: true,
  input: objectWith(
    {
      doctype,
      name,
      action: { type: 'string', description: 'As get_doctype_info names it.' },
    },
    { comment: { type: 'string', maxLength: 1000 }, dry_run: dryRun },
  ),
  output: aboutDocument({
    previous_state: textShape,
    current_state: textShape,
    docstatus: wholeNumberShape,
    next_available_actions: listShape(documentShape),
  }),
  example: { doctype: 'Purchase Order', name: 'PO-00001', action: 'Request Approval' },
  async run({ doctype, name, action, comment, dry_run: dryRun = false }, { principal, documents }) {
    const move = await runWorkflow(documents, principal, doctype, name, action, {
      dryRun,
      // The action comes first: the history shows one note for both.
      ...(comment !== undefined && { comment: `${action}: ${comment}` }),
    })
    return {
      doctype,
      name,
      previous_state: move.previousState,
      current_state: move.currentState,
      docstatus: move.document['docstatus'],
      next_available_actions: move.next,
      ...(dryRun && { dry_run: true }),
    }
  },
})
