import type { submitDocument } from '../../documents/writing/lifecycle.ts'
import { doctype, dryRun, name } from '../gate/arguments.ts'
import { aboutDocument, documentShape, wholeNumberShape } from '../output-shapes.ts'
import { defineTool, type Tool } from '../tool.ts'
import { objectWith } from '#leaf/object-schema.ts'

/** The parts in which the tools that submit, cancel and amend differ. */
interface Lifecycle {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly change: typeof submitDocument
  readonly destructive?: true
}

/** Makes a tool that submits, cancels or amends one document. */
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
