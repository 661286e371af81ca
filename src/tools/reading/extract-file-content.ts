import { listBelongings, readAttachment } from '../../documents/belongings.ts'
import type { FileContent, FilePart, Files } from '#sandbox/sandbox.ts'
import { AppError } from '#leaf/errors.ts'
import { documentShape, objectShape, yesNoShape } from '../output-shapes.ts'
import { defineTool, type Fits, turnOf, type Tool, type ToolContext } from '../tool.ts'
import { objectWith } from '#leaf/object-schema.ts'

const languagePattern = '^[a-z]{2,3}([_+-][A-Za-z]{2,8})*$'

/** The most characters of text in one answer; a model reads on with text_offset. */
const mostText = 50_000

const input = objectWith(
  { operation: { type: 'string', enum: ['extract', 'ocr', 'parse_data', 'extract_tables'] } },
  {
    attachment: { type: 'string', description: 'Its id (list_attachments).' },
    doctype: { type: 'string', description: 'Or this, name and file_name.' },
    name: { type: 'string' },
    file_name: { type: 'string' },
    language: { type: 'string', pattern: languagePattern, description: 'For OCR; default en.' },
    first_page: { type: 'integer', minimum: 1 },
    max_pages: { type: 'integer', minimum: 1, maximum: 500, description: 'Default 50.' },
    text_offset: { type: 'integer', minimum: 0, description: 'The last next_text_offset.' },
    row_offset: {
      type: 'integer',
      minimum: 0,
      description: 'The last next_row_offset.',
    },
    row_limit: {
      type: 'integer',
      minimum: 1,
      maximum: 5000,
      description: 'Default 200.',
    },
  },
)

/** Reads the text and tables of attached files. */
export function extractFileContent(files: Files): Tool {
  return defineTool({
    name: 'extract_file_content',
    title: 'Read an attached file',
    description: `Reads an attached file: PDF, Word, PowerPoint, Excel, CSV, JSON, text${files.readsImages ? ', images by OCR' : ''}. parse_data: rows of CSV, Excel, JSON; ocr: text in an image. Go on with the next_ values.`,
    category: 'read_only',
    input,
    largeOutput: objectShape({ success: yesNoShape, file_info: documentShape }),
    example: { operation: 'extract', doctype: 'Customer', name: 'ACME', file_name: 'contract.pdf' },
    async run(args, context) {
      const { operation, language = 'en' } = args
      const part = partOf(args, context.budget)
      const { documents, principal } = context
      const id = await idOf(args, context)
      const { attachment, content: bytes } = await readAttachment(documents, principal, id)
      const caller = turnOf(context)
      context.progress(0, 1, `reading ${attachment.file_name}`)
      const content = await files.read(attachment.file_name, bytes, part, caller)
      const known = {
        success: true,
        operation,
        file_info: {
          attachment: attachment.id,
          name: attachment.file_name,
          type: content.kind,
          size: attachment.bytes,
          ...(content.page_count > 0 && { pages: content.page_count }),
        },
      }
      if (content.kind === 'image' || operation === 'ocr') {
        if (content.kind !== 'image')
          throw new AppError(
            'invalid',
            `ocr reads images; ${attachment.file_name} is ${content.kind}, use extract`,
          )
        return { ...known, content: await files.readImage(bytes, language, caller) }
      }
      if (operation === 'parse_data' && content.tables.length === 0)
        throw new AppError('invalid', `${attachment.file_name} holds no rows; use extract`)
      return {
        ...known,
        ...shape(operation, content, part),
        ...(content.notes && { uncertain: content.notes }),
      }
    },
  })
}

type Wanted = Fits<typeof input>

function partOf(wanted: Wanted, budget: number): FilePart {
  const { operation, first_page: firstPage = 1, max_pages: maxPages = 50 } = wanted
  return {
    firstPage,
    lastPage: firstPage + maxPages - 1,
    textOffset: wanted.text_offset ?? 0,
    // A character may take three bytes of the answer.
    textLimit: operation === 'extract' ? Math.min(mostText, Math.floor(budget / 3)) : 0,
    rowOffset: wanted.row_offset ?? 0,
    rowLimit: wanted.row_limit ?? 200,
    // Leaves room for the other parts of the answer.
    maxBytes: budget - 1500,
  }
}

async function idOf(
  { attachment, doctype, name, file_name: file }: Wanted,
  { principal, documents }: ToolContext,
): Promise<string> {
  if (attachment !== undefined) return attachment
  if (doctype === undefined || name === undefined || file === undefined)
    throw new AppError(
      'invalid',
      'give attachment, or doctype, name and file_name (list_attachments names them)',
    )
  const all = await listBelongings(documents, principal, doctype, name, 'attachment')
  const found = all.findLast((other) => other.file_name === file)
  if (found) return found.id
  throw new AppError(
    'not_found',
    `${doctype} "${name}" has no attachment "${file}"; it has ${all.map((other) => `"${other.file_name}"`).join(', ') || 'none'}`,
  )
}

function shape(operation: string, content: FileContent, part: FilePart): Readonly<Record<string, unknown>> {
  const longest = Math.max(
    0,
    ...content.tables.map((table) => table.row_count - part.rowOffset - table.rows.length),
  )
  const rowsShown = Math.max(0, ...content.tables.map((table) => table.rows.length))
  const tables = {
    tables: content.tables,
    table_count: content.table_count,
    ...(longest > 0 && { next_row_offset: part.rowOffset + rowsShown }),
    ...(content.rows_fit !== undefined && {
      note: `only ${content.rows_fit} rows of each table fit into the answer; use row_offset and row_limit`,
    }),
  }
  if (operation !== 'extract') return tables
  const shown = content.pages.reduce((sum, { text }) => sum + text.length, 0)
  const textLeft = content.text_length > part.textOffset + shown
  const scanned = content.kind === 'pdf' && content.text_length < 20 && content.page_count > 0
  return {
    content: content.pages.length === 1 ? content.pages[0]!.text : content.pages,
    ...(textLeft && { next_text_offset: part.textOffset + shown }),
    ...(content.page_count > part.lastPage && { next_first_page: part.lastPage + 1 }),
    ...(content.tables.length > 0 && tables),
    ...(scanned && { note: 'the PDF holds hardly any text: it is probably a scan' }),
  }
}
