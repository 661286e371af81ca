import type { submitDocument } from '../documents/lifecycle.ts'
import { doctype, dryRun, name } from './arguments.ts'
import { aboutDocument, documentShape, wholeNumberShape } from './output-shapes.ts'
import { defineTool, type Tool } from './tool.ts'
import { objectWith } from '../core/object-schema.ts'

/** What one of the tools that move a document from state to state has of its own. */
interface Lifecycle {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly change: typeof submitDocument
}

/** A tool that submits, cancels or amends one document. */
export function lifecycleTool({ change, ...own }: Lifecycle): Tool {
  return defineTool({
    ...own,
    category: 'write',
    input: objectWith({ doctype, name }, { dry_run: dryRun }),
    largeOutput: aboutDocument({ docstatus: wholeNumberShape, data: documentShape }),
    example: { doctype: 'Sales Order', name: 'SO-00001', dry_run: true },
    async run({ doctype, name, dry_run: dryRun = false }, { principal, documents }) {
      const data = await change(documents, principal, doctype, name, { dryRun })
      return {
        doctype,
        name: data['name'],
        docstatus: data['docstatus'],
        ...(dryRun && { dry_run: true }),
        data,
      }
    },
  })
}
