/** Prompt template files: `prompts/**\/*.md` with YAML front matter, or `.yaml` with `template_content`. */
import { createHash } from 'node:crypto'
import { posix } from 'node:path'
import { AppError } from '../core/errors.ts'
import { compileSchema, type FromSchema, type JSONSchema } from '../core/schema.ts'
import { checkInPart } from '../site/check-document.ts'
import type { Fault, SourceDocument } from '../site/site-files.ts'
import { compileArguments, linkProblems, problemsLine, type ArgumentCheck } from './arguments.ts'
import { argumentSchema, readArguments, wordsOf } from './argument-rows.ts'
import { promptStatuses, type PromptTemplate } from './words.ts'
import { placeOfVariable } from './lint.ts'
import { compileContent, type CompiledContent } from './render.ts'
import { objectWith } from '../core/object-schema.ts'

/** One expectation of a template's own `tests:`. */
export interface PromptTest {
  readonly name: string
  readonly arguments: Readonly<Record<string, unknown>>
  readonly contains: readonly string[]
  readonly notContains: readonly string[]
  readonly equals?: string
  /** Text that the error must contain; without it the rendering must succeed. */
  readonly error?: string
}

/** A template as its file says it, with everything that was made of it once, at load. */
export interface ReadTemplate {
  /** Its `version` is null until git and the state have been asked (`librarian.ts`). */
  readonly template: PromptTemplate
  readonly check: ArgumentCheck
  readonly content: CompiledContent
  readonly tests: readonly PromptTest[]
  /** What it is about: a built-in template is there only where all of these are. */
  readonly doctypes: readonly string[]
  /** Over what §9.5 counts as a change: content, engine, and the arguments' type, required flag and values. */
  readonly fingerprint: string
  readonly document: SourceDocument
  /** Mistakes that do not keep the template from being used. */
  readonly warnings: readonly Fault[]
}

/**
 * The values that a template is rendered with. AppError `invalid` with every problem of the arguments at once
 * in `data.problems`; `exists` is asked of the documents that arguments of type `link` name.
 */
export async function valuesFor(
  { template, check }: ReadTemplate,
  args: Readonly<Record<string, unknown>>,
  exists: (doctype: string, name: string) => Promise<boolean>,
): Promise<Readonly<Record<string, unknown>>> {
  const { values, problems } = check(args)
  const all = [...problems, ...(await linkProblems(template.arguments, values, exists))]
  if (all.length > 0)
    throw new AppError('invalid', problemsLine(template.id, all), { data: { problems: all } })
  return values
}

const textOrList = {
  oneOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }],
} as const
const flag = { enum: [0, 1, false, true] } as const

const testSchema = objectWith(
  {},
  {
    name: { type: 'string', minLength: 1, maxLength: 200 },
    arguments: { type: 'object' },
    contains: textOrList,
    not_contains: textOrList,
    equals: { type: 'string' },
    error: { type: 'string' },
  },
)

/** The front matter of a template, in the names of specification §2.6. */
export const templateSchema = objectWith(
  { title: { type: 'string', minLength: 1, maxLength: 200 } },
  {
    prompt_id: {
      type: 'string',
      pattern: '^[a-z0-9_-]{1,140}$',
      title: 'lower-case letters, digits, - and _',
    },
    description: { type: 'string', maxLength: 2000 },
    category: { type: ['string', 'null'] },
    status: { type: 'string', enum: promptStatuses },
    visibility: { type: 'string', enum: ['Private', 'Shared', 'Public'] },
    rendering_engine: { type: 'string', enum: ['Jinja2', 'Format String', 'Raw'] },
    arguments: { type: 'array', maxItems: 50, items: argumentSchema },
    shared_with_roles: { type: 'array', items: { type: 'string' }, uniqueItems: true },
    tags: textOrList,
    owner: { type: 'string' },
    doctypes: { type: 'array', items: { type: 'string' } },
    is_system: flag,
    parent_version: { type: 'string' },
    version_notes: { type: 'string', maxLength: 2000 },
    tests: { type: 'array', items: testSchema },
    template_content: { type: 'string' },
  },
) satisfies JSONSchema

type FrontMatter = FromSchema<typeof templateSchema>

const check = compileSchema(templateSchema)

/** Reads one template file; undefined when it has faults, all of which are told. */
export function readTemplate(document: SourceDocument, faults: Fault[]): ReadTemplate | undefined {
  const found: Fault[] = []
  const read = readInPart(document, found)
  faults.push(...found)
  return found.length > 0 ? undefined : read
}

/** Reads what can be read of a template file, so that one fault does not hide the next; undefined when it is no map. */
export function readInPart(document: SourceDocument, found: Fault[]): ReadTemplate | undefined {
  const part = checkInPart<FrontMatter>(document, check, found)
  if (!part) return undefined
  const front: FrontMatter = { title: '', ...part }
  const content = contentOf(document, front, found)
  const rows = readArguments(front.arguments ?? [], (path, message) =>
    found.push(document.fault(['arguments', ...path], message)),
  )
  const checkArguments = compileArguments(rows, (row, property, message) =>
    found.push(document.fault(['arguments', row, property], message)),
  )
  const described = describedBy(document.file, front, content.text, rows)
  // What a wrong value of `visibility` would have meant, nobody knows.
  const isClear = part.visibility !== undefined || !Object.hasOwn(document.data as object, 'visibility')
  found.push(...idFaults(document, described.id), ...(isClear ? visibilityFaults(document, described) : []))
  const compiled = compileContent(described.engine, content.text, (message, line, column) =>
    found.push(content.fault(message, line, column)),
  )
  const names = rows.map((row) => row.name)
  return {
    template: Object.freeze({ ...described, digest: digestOf(described) }),
    check: checkArguments,
    content: compiled,
    tests: testsOf(front),
    doctypes: front.doctypes ?? [],
    fingerprint: fingerprintOf(described),
    document,
    // Arguments that could not be read would seem to be missing.
    warnings: found.length === 0 ? argumentLint(document, compiled, names, content) : [],
  }
}

function describedBy(
  file: string,
  front: FrontMatter,
  content: string,
  rows: PromptTemplate['arguments'],
): Omit<PromptTemplate, 'digest'> {
  return {
    id: front.prompt_id ?? idOfFile(file),
    title: front.title,
    description: front.description ?? '',
    ...(front.category && { category: front.category }),
    status: front.status ?? 'Draft',
    visibility: front.visibility ?? 'Private',
    engine: front.rendering_engine ?? 'Jinja2',
    content,
    arguments: rows,
    sharedWithRoles: front.shared_with_roles ?? [],
    tags: wordsOf(front.tags ?? []),
    version: null,
    isSystem: Boolean(front.is_system),
    owner: (front.owner ?? '').trim().toLowerCase(),
    file,
    ...(front.parent_version !== undefined && { parent: front.parent_version }),
    ...(front.version_notes !== undefined && { versionNotes: front.version_notes }),
  }
}

function idFaults(document: SourceDocument, id: string): Fault[] {
  if (/^[a-z0-9_-]{1,140}$/.test(id)) return []
  const message = `the file name gives prompt_id "${id}"; use only lower-case letters, digits, - and _`
  return [document.fault([], message)]
}

function visibilityFaults(
  document: SourceDocument,
  { visibility, sharedWithRoles, owner, isSystem }: Omit<PromptTemplate, 'digest'>,
): Fault[] {
  if (visibility === 'Shared')
    return sharedWithRoles.length > 0
      ? []
      : [document.fault(['visibility'], 'a Shared template needs shared_with_roles')]
  const faults: Fault[] = []
  if (sharedWithRoles.length > 0)
    faults.push(document.fault(['shared_with_roles'], `counts only for visibility Shared, not ${visibility}`))
  if (visibility === 'Private' && owner === '' && !isSystem) {
    const given = Object.hasOwn(document.data as object, 'visibility')
    faults.push(
      document.fault(given ? ['visibility'] : [], 'a Private template (the default) needs an owner'),
    )
  }
  return faults
}

function testsOf(front: FrontMatter): PromptTest[] {
  return (front.tests ?? []).map((test, index) => ({
    name: test.name ?? `test ${index + 1}`,
    arguments: test.arguments ?? {},
    contains: [test.contains ?? []].flat(),
    notContains: [test.not_contains ?? []].flat(),
    ...(test.equals !== undefined && { equals: test.equals }),
    ...(test.error !== undefined && { error: test.error }),
  }))
}

/** The version-relevant part of a template as one text (specification §9.5). */
export function fingerprintOf(template: Pick<PromptTemplate, 'content' | 'engine' | 'arguments'>): string {
  const rows = template.arguments.map(({ name, type, required, allowedValues }) => [
    name,
    type,
    required,
    allowedValues,
  ])
  return sha256Hex(JSON.stringify([template.content, template.engine, rows.sort(byName)]))
}

/** The digest of a template as clients see it; its version counts, its place and its counters do not. */
export function digestOf(template: Omit<PromptTemplate, 'digest'>): string {
  const { file: _file, ...seen } = template
  return `sha256:${sha256Hex(JSON.stringify(seen))}`
}

function sha256Hex(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function byName(a: readonly unknown[], b: readonly unknown[]): number {
  return String(a[0]) < String(b[0]) ? -1 : 1
}

function idOfFile(file: string): string {
  return posix.basename(file).replace(/\.(md|ya?ml)$/, '')
}

interface Content {
  readonly text: string
  fault(message: string, line?: number, column?: number): Fault
}

/** The template's text, and faults at its own lines. */
function contentOf(document: SourceDocument, front: FrontMatter, faults: Fault[]): Content {
  const { file, body } = document
  const inFront = front.template_content
  if (body === undefined || inFront !== undefined) {
    if (body !== undefined && body.trim() !== '') {
      faults.push(
        document.fault(['template_content'], 'a markdown file holds the content below its front matter'),
      )
    }
    if (inFront === undefined || inFront.trim() === '')
      faults.push(document.fault([], '"template_content" is required'))
    return {
      text: inFront ?? '',
      fault: (message, line) =>
        document.fault(['template_content'], line === undefined ? message : `line ${line}: ${message}`),
    }
  }
  const fault = (message: string, line = 1, column = 1): Fault => ({
    file,
    line: document.bodyLine! + line - 1,
    column,
    path: 'template_content',
    message,
  })
  if (body.trim() === '') faults.push(fault('the template has no content below its front matter'))
  if (body.length > 200_000) faults.push(fault(`the content is longer than 200000 characters`))
  return { text: body, fault }
}

function argumentLint(
  document: SourceDocument,
  compiled: CompiledContent,
  declared: readonly string[],
  content: Content,
): Fault[] {
  const unknown = [...compiled.names].filter((name) => !declared.includes(name))
  return [
    ...unknown.map((name) =>
      content.fault(`"${name}" is used but is not an argument`, ...placeOfVariable(content.text, name)),
    ),
    ...declared.flatMap((name, row) =>
      compiled.names.has(name)
        ? []
        : [
            document.fault(
              ['arguments', row, 'argument_name'],
              `argument "${name}" is not used in the content`,
            ),
          ],
    ),
  ]
}
