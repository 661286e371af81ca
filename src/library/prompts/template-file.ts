/** Reads prompt template files: `prompts/**\/*.md` with YAML front matter, or `.yaml` with `template_content`. */
import { fileDigest } from '#site/reading.ts'
import type { Place } from '#leaf/places.ts'
import { posix } from 'node:path'
import { AppError } from '#leaf/errors.ts'
import { fileSchema } from '#leaf/file-schema.ts'
import { type FromSchema, type JSONSchema } from '#leaf/schema.ts'
import { checkInPart } from '#site/checking.ts'
import type { Fault, SourceDocument } from '#site/site-files.ts'
import { compileArguments, linkProblems, problemsLine, type ArgumentCheck, type LinkCheck } from './arguments.ts'
import { visibilityFaults } from '../access.ts'
import { argumentSchema, readArguments, wordsOf } from './argument-rows.ts'
import { templateId } from '../writing/own-names.ts'
import { promptStatuses, type PromptTemplate } from '../words.ts'
import { placeOfVariable } from './lint.ts'
import { compileContent, type CompiledContent } from './render.ts'
import { references } from '#leaf/references.ts'
import { objectWith } from '#leaf/object-schema.ts'

/** One test of a template's own `tests:`. */
export interface PromptTest {
  readonly name: string
  readonly arguments: Readonly<Record<string, unknown>>
  readonly contains: readonly string[]
  readonly notContains: readonly string[]
  readonly equals?: string
  /** Text that the error must contain; without it the rendering must succeed. */
  readonly error?: string
}

/** A template as its file has it, with everything that was compiled from it once, at load. */
export interface ReadTemplate {
  /** Its `version` is null until git and the state have been asked (`librarian.ts`). */
  readonly template: PromptTemplate
  readonly check: ArgumentCheck
  readonly content: CompiledContent
  readonly tests: readonly PromptTest[]
  /** The doctypes that it is about: a built-in template is there only where all of these are. */
  readonly doctypes: readonly string[]
  /** A hash of what §9.5 counts as a change: content, engine, and the arguments' type, required flag and values. */
  readonly fingerprint: string
  readonly document: SourceDocument
  /** Mistakes that do not keep the template from being used. */
  readonly warnings: readonly Fault[]
}

/**
 * Returns the values that a template is rendered with. AppError `invalid` with every problem of the arguments at
 * once in `data.problems`; `exists` is asked about the documents that arguments of type `link` name.
 */
export async function valuesFor(
  {
    template,
    check,
  }: { readonly template: Pick<PromptTemplate, 'name' | 'arguments'>; readonly check: ArgumentCheck },
  args: Readonly<Record<string, unknown>>,
  exists: LinkCheck,
  now: number,
): Promise<Readonly<Record<string, unknown>>> {
  const { values, problems } = check(args, now)
  const all = [...problems, ...(await linkProblems(template.arguments, values, exists))]
  if (all.length > 0)
    throw new AppError('invalid', problemsLine(template.name, all), { data: { problems: all } })
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

/** The schema of a template's front matter, in the names of specification §2.6. */
export const templateSchema = objectWith(
  { title: { type: 'string', minLength: 1, maxLength: 200 } },
  {
    prompt_id: {
      type: 'string',
      pattern: '^[a-z0-9_-]+$',
      maxLength: 140,
      title: 'lower-case letters, digits, - and _',
    },
    description: { type: 'string', maxLength: 2000 },
    category: references('category', { type: ['string', 'null'] }),
    status: { type: 'string', enum: promptStatuses },
    visibility: { type: 'string', enum: ['Private', 'Shared', 'Public'] },
    rendering_engine: { type: 'string', enum: ['Jinja2', 'Format String', 'Raw'] },
    arguments: { type: 'array', maxItems: 50, items: argumentSchema },
    shared_with_roles: { type: 'array', items: references('role', { type: 'string' }), uniqueItems: true },
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

const check = fileSchema(templateSchema)

/** Reads one template file; undefined when it has faults, all of which are reported. */
export function readTemplate(document: SourceDocument, faults: Fault[]): ReadTemplate | undefined {
  const found: Fault[] = []
  const read = readInPart(document, found)
  faults.push(...found)
  return found.length > 0 ? undefined : read
}

/** Reads as much of a template file as it can, so that one fault does not hide the next; undefined when it is no map. */
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
  // The meaning of a wrong `visibility` is unknown, so faults that depend on it are not looked for.
  const isClear = part.visibility !== undefined || !Object.hasOwn(document.data as object, 'visibility')
  found.push(...idFaults(document, described.name))
  if (isClear) found.push(...visibilityFaults(document, 'template', described))
  const compiled = compileContent(described.engine, content.text, (message, place) =>
    found.push(content.fault(message, place)),
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
  const name = front.prompt_id ?? posix.basename(file).replace(/\.(md|ya?ml)$/, '')
  const owner = (front.owner ?? '').trim().toLowerCase()
  return {
    id: templateId(file, owner, name),
    name,
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
    owner,
    file,
    ...(front.parent_version !== undefined && { parent: front.parent_version }),
    ...(front.version_notes !== undefined && { versionNotes: front.version_notes }),
  }
}

function idFaults(document: SourceDocument, name: string): Fault[] {
  if (/^[a-z0-9_-]{1,140}$/.test(name)) return []
  const message = `the file name gives prompt_id "${name}"; use only lower-case letters, digits, - and _`
  return [document.fault([], message)]
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

/** Returns a hash of the version-relevant part of a template (specification §9.5). */
export function fingerprintOf(template: Pick<PromptTemplate, 'content' | 'engine' | 'arguments'>): string {
  const rows = template.arguments.map(({ name, type, required, allowedValues }) => [
    name,
    type,
    required,
    allowedValues,
  ])
  return fileDigest(JSON.stringify([template.content, template.engine, rows.sort(byName)]))
}

/** Returns the digest of a template as clients see it; it covers the version, but not the file, the name or counters. */
export function digestOf(template: Omit<PromptTemplate, 'digest'>): string {
  const { file: _file, name: _name, ...seen } = template
  return `sha256:${fileDigest(JSON.stringify(seen))}`
}

function byName(a: readonly unknown[], b: readonly unknown[]): number {
  return String(a[0]) < String(b[0]) ? -1 : 1
}

interface Content {
  readonly text: string
  fault(message: string, place?: Place): Fault
}

/** Returns the template's text, with a function that makes faults at its own lines. */
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
      fault: (message, place) =>
        document.fault(['template_content'], place ? `line ${place.line}: ${message}` : message),
    }
  }
  const fault = (message: string, { line, column }: Place = { line: 1, column: 1 }): Fault => ({
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
      content.fault(`"${name}" is used but is not an argument`, placeOfVariable(content.text, name)),
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
