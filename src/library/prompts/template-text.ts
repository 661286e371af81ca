/** Changes template files as text, in place with their comments kept, or writes them anew. */
import { isMap, isNode, isScalar, parseDocument, stringify, type Scalar, visit } from 'yaml'
import { AppError } from '#leaf/errors.ts'
import type { PromptArgument, PromptTemplate } from '../words.ts'

const yamlStyle = { lineWidth: 0, flowCollectionPadding: true } as const

/** Returns a template file's text with fields changed, or removed where undefined; comments and the order of fields stay. */
export function changedText(
  file: string,
  bytes: Uint8Array,
  fields: Readonly<Record<string, unknown>>,
): string {
  const text = new TextDecoder().decode(bytes).replaceAll('\r\n', '\n')
  const { begin, front, end, body } = partsOf(file, text)
  return begin + changedYaml(file, front, fields) + end + body
}

/** Returns a template file's text with the content, engine and arguments of an older one, byte for byte. */
export function restoredText(file: string, bytes: Uint8Array, older: string): string {
  const now = partsOf(file, new TextDecoder().decode(bytes))
  const then = partsOf(file, older)
  const fields = ['rendering_engine', 'arguments', 'template_content']
  return (
    now.begin +
    fields.reduce((text, field) => withField(text, then.front, field), now.front) +
    now.end +
    then.body
  )
}

/** Splits a file into its fields, the lines that frame them, and the content below. */
function partsOf(file: string, text: string): { begin: string; front: string; end: string; body: string } {
  if (!file.endsWith('.md')) return { begin: '', front: text, end: '', body: '' }
  const parts = /^(---[ \t]*\r?\n)([\s\S]*?)^(---[ \t]*(?:\r?\n|$))/m.exec(text)
  if (!parts || parts.index > 0) throw noFront(file)
  return { begin: parts[1]!, front: parts[2]!, end: parts[3]!, body: text.slice(parts[0].length) }
}

function noFront(file: string): AppError {
  return new AppError('conflict', `${file} has no front matter any more`)
}

/** Replaces the lines of one field by those of another YAML text, or removes them. */
function withField(text: string, other: string, field: string): string {
  const [place, lines] = [linesOf(text, field), linesOf(other, field)]
  const put = lines ? other.slice(...lines) : ''
  if (place) return text.slice(0, place[0]) + put + text.slice(place[1])
  return put === '' ? text : `${text}${text.endsWith('\n') ? '' : '\n'}${put}`
}

/** Returns the start and end of a field's lines. */
function linesOf(text: string, field: string): [number, number] | undefined {
  const { contents } = parseDocument(text, { schema: 'core', version: '1.2' })
  const pair = isMap(contents) && contents.items.find(({ key }) => isScalar(key) && key.value === field)
  if (!pair) return undefined
  const end = isNode(pair.value) ? pair.value.range[1] : (pair.key as Scalar).range![1]
  const line = text.indexOf('\n', Math.max(0, end - 1))
  return [(pair.key as Scalar).range![0], line < 0 ? text.length : line + 1]
}

function changedYaml(file: string, text: string, fields: Readonly<Record<string, unknown>>): string {
  const document = parseDocument(text, { schema: 'core', version: '1.2' })
  const { contents } = document
  if (!isMap(contents)) throw noFront(file)
  for (const [name, value] of Object.entries(fields)) {
    const pair = contents.items.find(({ key }) => isScalar(key) && key.value === name)
    const anchor = anchorIn(pair?.key) ?? anchorIn(pair?.value)
    if (anchor !== undefined) {
      const why = `${name} has a name (&${anchor}) by which other fields repeat it; edit the text`
      throw new AppError('conflict', `${file}: ${why}`)
    }
    if (value === undefined) document.delete(name)
    else document.set(name, value)
  }
  return document.toString(yamlStyle)
}

/** Returns a name by which other parts of a document may repeat a value or a part of it. */
function anchorIn(value: unknown): string | undefined {
  let anchor: string | undefined
  if (isNode(value)) visit(value, { Value: (_, node) => void (anchor ??= node.anchor) })
  return anchor
}

/** Returns arguments as the rows of a file, in the names of specification §2.7; defaults are left out. */
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

/** Returns the parts of a version (specification §9.5) as one text, for reading and for comparing. */
export function versionText(version: Pick<PromptTemplate, 'engine' | 'arguments' | 'content'>): string {
  const front = {
    rendering_engine: version.engine,
    ...(version.arguments.length > 0 && { arguments: argumentRows(version.arguments) }),
  }
  const content = version.content.endsWith('\n') ? version.content : `${version.content}\n`
  return `${stringify(front, yamlStyle)}---\n${content}`
}

/** Makes a template file for a version of which only the parts were kept. */
export function legacySource(
  version: Pick<PromptTemplate, 'title' | 'engine' | 'arguments' | 'content'>,
): string {
  return `---\n${stringify({ title: version.title }, yamlStyle)}${versionText(version)}`
}
