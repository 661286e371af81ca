import { changedIn } from './changed.ts'
import { interpret } from '#site/reading.ts'
import type { Fault, SiteFiles, SourceDocument } from '#site/site-files.ts'
import {
  checkSkill,
  checkTemplate,
  checkTemplates,
  restOf,
  type CachedTemplate,
  type FoundFaults,
  type LastReading,
  type LibraryReading,
  type Surroundings,
  type TemplateCache,
} from './check-library.ts'
import { isOwnName } from './writing/own-names.ts'
import { builtInsOf } from './built-ins.ts'
import { checkHierarchy, readCategories, type ReadCategory } from './categories.ts'
import { withoutCopies } from './writing/copied-built-ins.ts'
import { checkTests } from './prompts/prompt-tests.ts'
import { readSkills, type ReadSkill } from './skill-files.ts'
import { readInPart, type ReadTemplate } from './prompts/template-file.ts'

/**
 * Reads and checks the whole library: every fault and every warning is reported at once, at its
 * place. When there are faults, the result must not be used.
 */
export function readLibrary(
  files: SiteFiles,
  faults: Fault[],
  warnings: Fault[],
  around: Surroundings,
): LibraryReading {
  const rest = around.cache ? restOf(around) : ''
  const again = readChanged(files, around, rest)
  const told: FoundFaults = { faults: [], warnings: [] }
  const reading = again?.reading ?? readWhole(files, around, rest, told)
  for (const fault of told.faults) faults.push(fault)
  for (const warning of again?.warnings ?? told.warnings) warnings.push(warning)
  if (around.cache && !again) {
    const last = { files, builtIns: around.builtIns, rest, reading, warnings: told.warnings }
    around.cache.last = told.faults.length === 0 ? last : undefined
  }
  return reading
}

/** Milliseconds that a daemon, which reads again and again, waits for all tests of a library. */
const mostTestMilliseconds = 10_000

/** Reads the library and runs the templates' own tests, unless there are faults already. */
export async function readTested(
  files: SiteFiles,
  faults: Fault[],
  warnings: Fault[],
  around: Surroundings,
): Promise<LibraryReading> {
  const before = faults.length
  const reading = readLibrary(files, faults, warnings, around)
  const told = { faults, warnings }
  const milliseconds = around.cache ? mostTestMilliseconds : Infinity
  if (faults.length === before) await checkTests(reading.templates.values(), told, milliseconds)
  return reading
}

function readWhole(files: SiteFiles, around: Surroundings, rest: string, told: FoundFaults): LibraryReading {
  const isPackage = around.builtIns?.folder === files.folder
  const builtIns = isPackage ? undefined : around.builtIns
  const own = builtIns ? withoutCopies(files, builtIns) : files
  const parts = [
    ...(builtIns ? [{ files: builtIns, ofPackage: true }] : []),
    { files: own, ofPackage: isPackage },
  ]

  const categories = new Map<string, ReadCategory>()
  const templates = new Map<string, ReadTemplate>()
  const names = new Map<string, ReadTemplate>()
  const skills = new Map<string, ReadSkill>()
  for (const part of parts) {
    const onlySystem = part.files === builtIns
    for (const [id, read] of categoriesOf(part.files, part.ofPackage, categories, told)) {
      if (!onlySystem || read.category.isSystem) categories.set(id, read)
    }
    // A built-in thing is left out where a doctype that it is about is missing.
    const isAbsent = ({ doctypes }: { readonly doctypes: readonly string[] }): boolean =>
      onlySystem && !doctypes.every((doctype) => around.doctypeNames.has(doctype))
    for (const read of templatesOf(part.files, part.ofPackage, around.cache, told)) {
      if ((onlySystem && !read.template.isSystem) || isAbsent(read)) continue
      addTemplate(read, { templates, names }, told)
    }
    for (const [name, read] of skillsOf(part.files, part.ofPackage, told)) {
      if ((onlySystem && !read.skill.isSystem) || isAbsent(read)) continue
      if (skills.has(name))
        told.faults.push(read.document.fault(['name'], `"${name}" is a built-in skill; choose another name`))
      else skills.set(name, read)
    }
  }
  checkHierarchy(categories, told.faults)
  // Built-in things are not warned about: no operator can change them, and they are fitted to their readers.
  const isOwn = ({ isSystem }: { readonly isSystem: boolean }): boolean => isPackage || !isSystem
  const ownTemplates = [...templates.values()].filter(({ template }) => isOwn(template))
  checkTemplates(ownTemplates, categories, around, rest, told)
  for (const read of skills.values()) if (isOwn(read.skill)) checkSkill(read, around, told)
  return readingOf({ templates, names }, categories, skills)
}

/**
 * Rereads the library when only a site's own templates changed since the last reading, without a fault before or
 * after; undefined when all of it must be read. Of ten thousand templates it looks only at those that changed.
 */
function readChanged(files: SiteFiles, around: Surroundings, rest: string): LastReading | undefined {
  const { cache, builtIns } = around
  if (!cache?.last || cache.last.rest !== rest || files.faults.length > 0) return undefined
  const { last } = cache
  if (last.builtIns !== builtIns) return undefined
  if (changedIn(last.files.assets, files.assets)?.length !== 0) return undefined
  const changed = changedIn(last.files.documents, files.documents)?.filter((file) =>
    /^(prompts|skills)\//.test(file),
  )
  const known = cache.files.get(files.folder)
  if (!changed || !known) return undefined
  const templates = new Map(last.reading.templates)
  for (const file of changed) {
    const before = known.get(file)
    const current = readUnlessKnown(before, files.documents.get(file)!)
    const { read } = current
    if (!read || !before?.read || current.faults.length > 0) return undefined
    if (read.template.isSystem || builtIns?.documents.has(file)) return undefined
    const { faults, warnings } = checkTemplate(read, last.reading.categories, around)
    const isTold = last.warnings.some((warning) => warning.file === file)
    const isMoved = read.template.id !== before.read.template.id || claimed(read) !== claimed(before.read)
    if (isMoved || faults.length + warnings.length > 0 || isTold) return undefined
    known.set(file, current)
    templates.set(read.template.id, read)
  }
  return (cache.last = { ...last, files, reading: { ...last.reading, templates } })
}

/** The result of checking a file of the library as if it had other bytes. */
export interface Examined {
  /** Every fault that would keep the site from being used. */
  readonly faults: readonly Fault[]
  /** The warnings of this file. */
  readonly warnings: readonly Fault[]
  readonly read: ReadTemplate | undefined
}

/** Checks a site that is in use as if one of its files had these bytes. */
export function examineFile(
  files: SiteFiles,
  around: Surroundings,
  file: string,
  bytes: Uint8Array,
): Examined {
  const { document, faults: found } = interpret(file, bytes)
  const faults = [...found]
  const warnings: Fault[] = []
  if (!document) return { faults, warnings, read: undefined }
  const documents = new Map(files.documents).set(file, document)
  // The cache of this file does not count, as the bytes differ; the copy keeps the real cache unchanged.
  const cache = { ...around.cache, files: new Map(around.cache?.files) }
  const { templates } = readLibrary({ ...files, documents }, faults, warnings, { ...around, cache })
  return {
    faults,
    warnings: warnings.filter((warning) => warning.file === file),
    read: [...templates.values()].find(({ template }) => template.file === file),
  }
}

/** The path of the categories in a site. */
export const categoriesFile = 'prompts/categories.yaml'

function categoriesOf(
  files: SiteFiles,
  ofPackage: boolean,
  taken: ReadonlyMap<string, ReadCategory>,
  { faults }: FoundFaults,
): Map<string, ReadCategory> {
  const document = files.documents.get(categoriesFile)
  if (!document) return new Map()
  const read = readCategories(document, taken, faults)
  for (const { category, fault } of read.values()) {
    if (category.isSystem && !ofPackage) faults.push(fault('is_system', onlyThePackage('categories')))
  }
  return read
}

function* templatesOf(
  files: SiteFiles,
  ofPackage: boolean,
  cache: TemplateCache | undefined,
  { faults }: FoundFaults,
): Generator<ReadTemplate> {
  const before = cache?.files.get(files.folder)
  const now = new Map<string, CachedTemplate>()
  cache?.files.set(files.folder, now)
  for (const [file, document] of files.documents) {
    const known = before?.get(file)
    if (!known && !isTemplateFile(file)) continue
    const current = readUnlessKnown(known, document)
    now.set(file, current)
    const { read } = current
    faults.push(...current.faults)
    if (!read) continue
    if (read.template.isSystem && !ofPackage)
      faults.push(document.fault(['is_system'], onlyThePackage('templates')))
    else yield read
  }
}

/** True for prompt template files; notes for people (README.md) and the categories are none. */
export function isTemplateFile(file: string): boolean {
  return (
    file.startsWith('prompts/') &&
    /\.(md|ya?ml)$/.test(file) &&
    file !== categoriesFile &&
    !/(^|\/)README\.md$/i.test(file)
  )
}

function readUnlessKnown(known: CachedTemplate | undefined, document: SourceDocument): CachedTemplate {
  const { bytes } = document
  if (known && (known.bytes === bytes || Buffer.compare(known.bytes, bytes) === 0)) return known
  const faults: Fault[] = []
  return { bytes, read: readInPart(document, faults), faults }
}

/** Templates by id, and by the name that they claim. */
interface Placed {
  readonly templates: Map<string, ReadTemplate>
  readonly names: Map<string, ReadTemplate>
}

/** Returns the name that no other template of the library may have: the shared name, or the owner's own. */
function claimed({ template }: ReadTemplate): string {
  return isOwnName(template) ? template.id : template.name
}

function addTemplate(read: ReadTemplate, { templates, names }: Placed, { faults }: FoundFaults): void {
  const { id, name } = read.template
  const other = names.get(claimed(read)) ?? templates.get(id)
  if (!other) {
    templates.set(id, read)
    names.set(claimed(read), read)
    return
  }
  const [builtIn, mine] = other.template.isSystem ? [other, read] : [read, other]
  faults.push(
    builtIn.template.isSystem !== mine.template.isSystem
      ? mine.document.fault(
          ['prompt_id'],
          `"${name}" is a built-in template; duplicate it under another prompt_id`,
        )
      : read.document.fault(['prompt_id'], `"${name}" is already used by ${other.template.file}`),
  )
}

function* skillsOf(
  files: SiteFiles,
  ofPackage: boolean,
  { faults }: FoundFaults,
): Generator<[string, ReadSkill]> {
  for (const [name, read] of readSkills(files, faults)) {
    if (read.skill.isSystem && !ofPackage)
      faults.push(read.document.fault(['is_system'], onlyThePackage('skills')))
    else yield [name, read]
  }
}

function onlyThePackage(what: string): string {
  return `only the package has built-in ${what}; leave is_system out`
}

function readingOf(
  { templates, names }: Placed,
  categories: ReadonlyMap<string, ReadCategory>,
  skills: ReadonlyMap<string, ReadSkill>,
): LibraryReading {
  const offered = [...names].filter(([name, { template }]) => name !== template.id)
  const read = {
    templates,
    offered: new Map(offered.map(([name, { template }]) => [name, template.id])),
    categories: new Map([...categories].map(([id, { category }]) => [id, category])),
    skills: new Map([...skills].map(([name, { skill }]) => [name, skill])),
    skillDigests: new Map([...skills].map(([name, { digest }]) => [name, digest])),
  }
  return { ...read, builtIns: builtInsOf(read) }
}
