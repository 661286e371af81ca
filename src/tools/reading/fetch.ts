import { getDocument } from '../../documents/asking/reading.ts'
import { documentAddress, partsOf } from '../writing/document-id.ts'
import { documentShape, objectShape, textShape } from '../output-shapes.ts'
import { defineTool } from '../tool.ts'
import { objectWith } from '#leaf/object-schema.ts'

/** Returns one document as text, as ChatGPT's connectors demand of `fetch`. */
export const fetchDocument = defineTool({
  name: 'fetch',
  title: 'Fetch a document',
  description: 'Reads one document by the id that search returned.',
  category: 'read_only',
  input: objectWith({
    id: { type: 'string', maxLength: 250 },
  }),
  output: objectShape(
    { id: textShape, title: textShape, text: textShape, url: textShape },
    { metadata: documentShape },
  ),
  example: { id: 'Sales Order/SO-00001' },
  async run({ id }, { principal, documents, publicUrl }) {
    const { doctype, name } = partsOf(id)
    const data = await getDocument(documents, principal, doctype, name)
    // The title may be hidden from the caller; then the name takes its place.
    const titleField = documents.platform.doctypes.get(doctype)?.titleField
    const title = titleField === undefined ? undefined : data[titleField]
    return {
      id,
      title:
        typeof title === 'string' && title !== name ? `${title} (${doctype} ${name})` : `${doctype} ${name}`,
      text: textOf(doctype, data),
      url: documentAddress(publicUrl, doctype, name),
      metadata: { doctype, modified: data['modified'], owner: data['owner'], docstatus: data['docstatus'] },
    }
  },
})

function textOf(doctype: string, data: Readonly<Record<string, unknown>>): string {
  const lines = Object.entries(data).map(([field, value]) => `- ${field}: ${lineOf(value)}`)
  return [`# ${doctype} ${String(data['name'])}`, '', ...lines].join('\n')
}

function lineOf(value: unknown): string {
  if (!Array.isArray(value)) return typeof value === 'string' ? value : JSON.stringify(value)
  return value.map((row) => `\n  - ${JSON.stringify(row)}`).join('')
}
