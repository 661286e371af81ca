/** Reads `config/seeds/*.yaml`, which nobody needs but who checks the site or fills an empty state: large ones take seconds. */
import { fileDigest, parseSource } from '#site/reading.ts'
import { unknownName } from '#leaf/names.ts'
import { fileSchema } from '#leaf/file-schema.ts'
import { type Problem } from '#leaf/schema.ts'
import { isMissing } from '../../core/values.ts'
import { checkDocument, checkReferences, findSecrets } from '#site/checking.ts'
import { fileFault, type Fault, type SiteFiles, type SourceDocument } from '#site/site-files.ts'
import { readValue } from '../values.ts'
import type { Doctype, Field, Platform } from './platform.ts'
import { makerSchema, type Seed, type SeedMaker, seedSchema, seedsSchema } from './seed-schema.ts'

const checkSeeds = fileSchema(seedsSchema)
const checkMaker = fileSchema(makerSchema)

type Path = readonly (string | number)[]

/** A recipe that knows its place in the site. */
export interface PlacedSeed {
  readonly seed: Seed
  /** Its file, and the SHA-256 of that. */
  readonly file: string
  readonly digest: string
  /** Makes a fault at a path inside the recipe. */
  readonly fault: (path: Path, message: string) => Fault
}

/** True for a map that makes a value; everything else stands for itself. */
export function isMaker(value: unknown): value is SeedMaker {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns the files of the site that have seeds, by path, with the SHA-256 of their bytes. */
export function seedFiles({ assets }: SiteFiles): Readonly<Record<string, string>> {
  const files = [...assets].filter(([path]) => /^config\/seeds\/.*\.ya?ml$/.test(path))
  return Object.fromEntries(
    files.sort(([a], [b]) => (a < b ? -1 : 1)).map(([path, bytes]) => [path, fileDigest(bytes)]),
  )
}

/** Reads the recipes of the site, files in the order of their names. */
export function readSeeds(files: SiteFiles, faults: Fault[], platform: Platform): readonly PlacedSeed[] {
  return Object.entries(seedFiles(files)).flatMap(([path, digest]) => {
    const { document, faults: unread } = parseSource(path, files.assets.get(path)!)
    faults.push(...unread)
    if (!document) return []
    faults.push(...findSecrets(document))
    const read = checkDocument<{ readonly seeds: readonly Seed[] }>(document, checkSeeds, faults)
    return (read?.seeds ?? []).map((seed, index) => {
      const fault: PlacedSeed['fault'] = (at, message) => document.fault(['seeds', index, ...at], message)
      const placed = { seed, file: path, digest, fault }
      checkSeed(document, placed, index, platform, faults)
      return placed
    })
  })
}

/** Returns what is told of seed files that this state does not load; `loaded` has the digests of those that it did. */
export function unloadedSeeds(
  files: SiteFiles,
  loaded: { readonly time: string; readonly files?: Readonly<Record<string, string>> },
): readonly Fault[] {
  return Object.entries(seedFiles(files))
    .filter(([path, digest]) => loaded.files?.[path] !== digest)
    .map(([path]) =>
      fileFault(
        path,
        `is not loaded: seeds go into an empty state, which this one was until ${loaded.time}; "documents import" brings more in`,
      ),
    )
}

function checkSeed(
  document: SourceDocument,
  { seed, fault }: PlacedSeed,
  index: number,
  platform: Platform,
  faults: Fault[],
): void {
  const doctype = platform.doctypes.get(seed.doctype)
  const has = (name: string): boolean => name === 'name' || doctype!.fields.has(name)
  const field = doctype && { has, keys: () => doctype.fields.keys() }
  const part = { path: ['seeds', index], value: seed }
  checkReferences(document, seedSchema, { doctype: platform.doctypes, field }, faults, part)
  if (!doctype) return
  if (doctype.child) faults.push(fault(['doctype'], `${doctype.name} is a child doctype`))
  if (doctype.origin)
    faults.push(fault(['doctype'], `${doctype.name} lies in a source, whose rows are its own`))
  for (const { path, message } of recordProblems(seed, doctype))
    faults.push(fault(['records', ...path], message))
  for (const [at, day] of (seed.created ?? []).entries())
    if (Number.isNaN(Date.parse(`${day}T00:00:00Z`)))
      faults.push(fault(['created', at], `must be a date such as 2026-03-31, not "${day}"`))
  for (const part of ['fields', 'submitted'] as const)
    for (const [name, maker] of Object.entries(seed[part] ?? {}))
      for (const { path, message } of makerProblems(maker, doctype, doctype.fields.get(name), platform))
        faults.push(fault([part, name, ...path], message))
}

/** Finds wrong and missing values of written records; rows, links and rules are checked when the documents are made. */
function* recordProblems({ records = [], fields }: Seed, doctype: Doctype): Generator<Problem> {
  for (const [index, record] of records.entries()) {
    for (const [name, value] of Object.entries(record)) {
      const field = doctype.fields.get(name)
      if (!field && !['name', 'doctype', 'workflow_state'].includes(name))
        yield { path: [index, name], message: unknownName('field', name, doctype.fields.keys()) }
      const read = field && field.type !== 'table' && readValue(field, value)
      if (read && 'problem' in read) yield { path: [index, name], message: read.problem }
    }
    for (const { name, required, computed, ...field } of doctype.fields.values()) {
      const isFilled = fields?.[name] ?? computed ?? field.default ?? field.defaultExpression
      if (required && isFilled === undefined && field.type !== 'check' && isMissing(record[name]))
        yield { path: [index], message: `"${name}" is required` }
    }
  }
}

/** Finds what is wrong with the maker of a field's value, or with a value that stands for itself. */
function* makerProblems(
  maker: unknown,
  doctype: Doctype,
  field: Field | undefined,
  platform: Platform,
): Generator<Problem> {
  const problems = isMaker(maker) ? checkMaker(maker) : [...valueProblems([maker], field, () => [])]
  yield* problems
  if (!isMaker(maker) || problems.length > 0) return
  const { link, from, after, text, pick, cycle, rows } = maker
  yield* valueProblems(pick ?? [], field, (index) => ['pick', index])
  yield* valueProblems(cycle ?? [], field, (index) => ['cycle', index])
  if (link !== undefined && !platform.doctypes.has(link))
    yield { path: ['link'], message: unknownName('doctype', link, platform.doctypes.keys()) }
  else if (link !== undefined && field?.type === 'link' && field.doctype !== link)
    yield { path: ['link'], message: `${field.name} links to ${field.doctype!}, not to ${link}` }
  for (const [key, other] of Object.entries({ after, from }))
    if (other !== undefined && !doctype.fields.has(other))
      yield { path: [key], message: unknownName('field', other, doctype.fields.keys()) }
  if (from !== undefined) yield* fetchProblems(maker, doctype.fields.get(from), platform)
  for (const [, name = ''] of (text ?? '').matchAll(/\{(\w+)\}/g))
    if (name !== 'n' && !doctype.fields.has(name))
      yield { path: ['text'], message: unknownName('field', name, ['n', ...doctype.fields.keys()]) }
  if (rows) yield* rowProblems(maker, field, platform)
}

function* valueProblems(
  values: readonly unknown[],
  field: Field | undefined,
  pathOf: (index: number) => Path,
): Generator<Problem> {
  if (!field || field.type === 'table' || field.type === 'json') return
  for (const [index, value] of values.entries()) {
    const read = readValue(field, value)
    if ('problem' in read) yield { path: [...pathOf(index)], message: read.problem }
  }
}

/** Finds what is wrong with a value that is taken from a linked document. */
function* fetchProblems(
  { from, field }: SeedMaker,
  link: Field | undefined,
  platform: Platform,
): Generator<Problem> {
  if (!link) return
  const target = link.type === 'link' ? platform.doctypes.get(link.doctype!) : undefined
  if (!target) yield { path: ['from'], message: `${from!} is no link` }
  else if (field === undefined)
    yield { path: ['from'], message: 'needs "field": which value of the linked document' }
  else if (!target.fields.has(field))
    yield { path: ['field'], message: unknownName(`field of ${target.name}`, field, target.fields.keys()) }
}

function* rowProblems(
  { fields = {} }: SeedMaker,
  table: Field | undefined,
  platform: Platform,
): Generator<Problem> {
  const columns = table?.type === 'table' ? platform.doctypes.get(table.doctype!) : undefined
  if (!columns) {
    if (table) yield { path: ['rows'], message: `${table.name} is no table` }
    return
  }
  for (const [name, maker] of Object.entries(fields)) {
    const column = columns.fields.get(name)
    if (!column) yield { path: ['fields', name], message: unknownName('field', name, columns.fields.keys()) }
    for (const { path, message } of makerProblems(maker, columns, column, platform))
      yield { path: ['fields', name, ...path], message }
  }
}
