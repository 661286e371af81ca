/** Template files as text: changed in place with their comments kept, or written anew. */
import { parseDocument, stringify } from 'yaml'
import { AppError } from '../core/errors.ts'
import type { PromptArgument, PromptTemplate } from './words.ts'

const yamlStyle = { lineWidth: 0, flowCollectionPadding: true } as const

/** What to change in a template file; a field that is undefined is removed. */
export interface TemplateChange {
  readonly front: Readonly<Record<string, unknown>>
  /** Left out, the content stays as it is. */
  readonly content?: string
}

/** The text of a template file with some fields changed; comments and the order of fields stay. */
export function changedText(file: string, bytes: Uint8Array, { front, content }: TemplateChange): string {
  const text = new TextDecoder().decode(bytes).replaceAll('\r\n', '\n')
  if (!file.endsWith('.md')) {
    return changedYaml(text, { ...front, ...(content !== undefined && { template_content: content }) })
  }
  const parts = /^---[ \t]*\n([\s\S]*?)^---[ \t]*(?:\n|$)/m.exec(text)
  if (!parts || parts.index > 0) throw new AppError('conflict', `${file} has no front matter any more`)
  return `---\n${changedYaml(parts[1]!, front)}---\n${content ?? text.slice(parts[0].length)}`
}

function changedYaml(text: string, fields: Readonly<Record<string, unknown>>): string {
  const document = parseDocument(text, { schema: 'core', version: '1.2' })
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) document.delete(name)
    else document.set(name, value)
  }
  return document.toString(yamlStyle)
}

/** Arguments as the rows of a file, in the names of specification §2.7; what is standard is left out. */
export function argumentRows(rows: readonly PromptArgument[]): Record<string, unknown>[] {
  return rows.map((argument) => ({
    argument_name: argument.name,
    ...(argument.label !== argument.name && { display_label: argument.label }),
    argument_type: argument.type,
    ...(argument.required && { is_required: 1 }),
    ...(argument.default !== null && { default_value: argument.default }),
    ...(argument.description !== '' && { description: argument.description }),
    ...(argument.allowedValues.length > 0 && { allowed_values: [...argument.allowedValues] }),
    ...(argument.doctype !== undefined && { doctype: argument.doctype }),
    ...(argument.pattern !== undefined && { validation_regex: argument.pattern }),
    ...(argument.minLength !== undefined && { min_length: argument.minLength }),
    ...(argument.maxLength !== undefined && { max_length: argument.maxLength }),
  }))
}

/** What a version consists of (specification §9.5) as one text, for reading and for comparing. */
export function versionText(version: Pick<PromptTemplate, 'engine' | 'arguments' | 'content'>): string {
  const front = {
    rendering_engine: version.engine,
    ...(version.arguments.length > 0 && { arguments: argumentRows(version.arguments) }),
  }
  const content = version.content.endsWith('\n') ? version.content : `${version.content}\n`
  return `${stringify(front, yamlStyle)}---\n${content}`
}
