import { interpret } from '../site/read-site.ts'
import type { Fault, SiteFiles, SourceDocument } from '../site/site-files.ts'
import {
  checkSkill,
  checkTemplates,
  type CachedTemplate,
  type FoundFaults,
  type Surroundings,
  type TemplateCache,
} from './check-library.ts'
import { checkHierarchy, readCategories, type ReadCategory } from './categories.ts'
import type { Category, Skill } from './words.ts'
import { withoutCopies } from './copied-built-ins.ts'
import { readSkills, type ReadSkill } from './skill-files.ts'
import { readInPart, type ReadTemplate } from './template-file.ts'

/** One immutable reading of the prompts, categories and skills of a site and of the package. */
export interface LibraryReading {
  readonly templates: ReadonlyMap<string, ReadTemplate>
  readonly categories: ReadonlyMap<string, Category>
  readonly skills: ReadonlyMap<string, Skill>
  readonly skillDigests: ReadonlyMap<string, string>
}

/**
 * Reads the library whole and checks it whole: every fault and every warning is told at once, at its
 * place. With faults the result is not to be used.
 */
export function readLibrary(
  files: SiteFiles,
  faults: Fault[],
  warnings: Fault[],
  around: Surroundings,
): LibraryReading {
  const isPackage = around.builtIns?.folder === files.folder
  const builtIns = isPackage ? undefined : around.builtIns
  const own = builtIns ? withoutCopies(files, builtIns) : files
  const parts = [
    ...(builtIns ? [{ files: builtIns, ofPackage: true }] : []),
    { files: own, ofPackage: isPackage },
  ]

  const categories = new Map<string, ReadCategory>()
  const templates = new Map<string, ReadTemplate>()
  const skills = new Map<string, ReadSkill>()
  for (const part of parts) {
    const onlySystem = part.files === builtIns
    const told: FoundFaults = { faults, warnings }
    for (const [id, read] of categoriesOf(part.files, part.ofPackage, categories, told)) {
      if (!onlySystem || read.category.isSystem) categories.set(id, read)
    }
    // What is built in is there where what it is about is there.
    const isAbsent = ({ doctypes }: { readonly doctypes: readonly string[] }): boolean =>
      onlySystem && !doctypes.every((doctype) => around.doctypeNames.has(doctype))
    for (const read of templatesOf(part.files, part.ofPackage, around.cache, told)) {
      if ((onlySystem && !read.template.isSystem) || isAbsent(read)) continue
      addTemplate(read, templates, told)
    }
    for (const [name, read] of skillsOf(part.files, part.ofPackage, told)) {
      if ((onlySystem && !read.skill.isSystem) || isAbsent(read)) continue
      if (skills.has(name))
        faults.push(read.document.fault(['name'], `"${name}" is a built-in skill; choose another name`))
      else skills.set(name, read)
    }
  }
  checkHierarchy(categories, faults)
  // Nobody who runs a site can change what is built in: it fits itself to its readers instead of warning.
  const isOwn = ({ isSystem }: { readonly isSystem: boolean }): boolean => isPackage || !isSystem
  const ownTemplates = [...templates.values()].filter(({ template }) => isOwn(template))
  checkTemplates(ownTemplates, categories, around, { faults, warnings })
  for (const read of skills.values()) if (isOwn(read.skill)) checkSkill(read, around, { faults, warnings })
  return reading(templates, categories, skills)
}

/** What a file of the library would be, were it these bytes. */
export interface Examined {
  /** Everything that would keep the site from being used. */
  readonly faults: readonly Fault[]
  /** Of this file. */
  readonly warnings: readonly Fault[]
  readonly read: ReadTemplate | undefined
}

/** Checks a site that is in use as if one file of it were these bytes. */
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
  // What it remembers of this file is not what stands there.
  const cache = { ...around.cache, files: new Map(around.cache?.files) }
  const { templates } = readLibrary({ ...files, documents }, faults, warnings, { ...around, cache })
  return {
    faults,
    warnings: warnings.filter((warning) => warning.file === file),
    read: [...templates.values()].find(({ template }) => template.file === file),
  }
}

/** Where categories stand in a site. */
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
    const current = known && isSame(known.bytes, document.bytes) ? known : readAnew(document)
    now.set(file, current)
    const { read } = current
    faults.push(...current.faults)
    if (!read) continue
    if (read.template.isSystem && !ofPackage)
      faults.push(document.fault(['is_system'], onlyThePackage('templates')))
    else yield read
  }
}

/** Whether a file of the site is a prompt template; notes for people (README.md) and the categories are not. */
export function isTemplateFile(file: string): boolean {
  return (
    file.startsWith('prompts/') &&
    /\.(md|ya?ml)$/.test(file) &&
    file !== categoriesFile &&
    !/(^|\/)README\.md$/i.test(file)
  )
}

const isSame = (a: Uint8Array, b: Uint8Array): boolean => a === b || Buffer.compare(a, b) === 0

function readAnew(document: SourceDocument): CachedTemplate {
  const faults: Fault[] = []
  return { bytes: document.bytes, read: readInPart(document, faults), faults }
}

function addTemplate(
  read: ReadTemplate,
  templates: Map<string, ReadTemplate>,
  { faults }: FoundFaults,
): void {
  const { id } = read.template
  const other = templates.get(id)
  if (!other) {
    templates.set(id, read)
    return
  }
  const [builtIn, mine] = other.template.isSystem ? [other, read] : [read, other]
  faults.push(
    builtIn.template.isSystem !== mine.template.isSystem
      ? mine.document.fault(
          ['prompt_id'],
          `"${id}" is a built-in template; duplicate it under another prompt_id`,
        )
      : read.document.fault(['prompt_id'], `"${id}" is already used by ${other.template.file}`),
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

function reading(
  templates: Map<string, ReadTemplate>,
  categories: ReadonlyMap<string, ReadCategory>,
  skills: ReadonlyMap<string, ReadSkill>,
): LibraryReading {
  return {
    templates,
    categories: new Map([...categories].map(([id, { category }]) => [id, category])),
    skills: new Map([...skills].map(([name, { skill }]) => [name, skill])),
    skillDigests: new Map([...skills].map(([name, { digest }]) => [name, digest])),
  }
}
