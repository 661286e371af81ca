import { createHash } from 'node:crypto'
import { nearest } from '../core/schema.ts'
import type { Fault, SiteFiles, SourceDocument } from '../site/site-files.ts'
import type { People } from '../users/people.ts'
import { checkHierarchy, readCategories, unknownCategory, type ReadCategory } from './categories.ts'
import type { Category, Skill } from './library.ts'
import { withoutCopies } from './copied-built-ins.ts'
import { unknownNames, type KnownNames } from './lint.ts'
import { readSkills, type ReadSkill } from './skill-files.ts'
import { readTemplate, type ReadTemplate } from './template-file.ts'

/** One immutable reading of the prompts, categories and skills of a site and of the package. */
export interface LibraryReading {
  readonly templates: ReadonlyMap<string, ReadTemplate>
  readonly categories: ReadonlyMap<string, Category>
  readonly skills: ReadonlyMap<string, Skill>
  readonly skillDigests: ReadonlyMap<string, string>
  /** Equal digests, equal libraries. */
  readonly digest: string
}

/** What the library is checked against. */
export interface LibraryContext {
  readonly people: People
  /**
   * The package's own `prompts/` and `skills/`, which are added to the site; left out when the setting
   * `library.built_ins` is off. May be the site itself: then what is marked `is_system` is built in.
   */
  readonly builtIns?: SiteFiles
  readonly toolNames: ReadonlySet<string>
  readonly doctypeNames: ReadonlySet<string>
  /** Remembers files that did not change from one reading to the next. */
  readonly cache?: TemplateCache
}

/** What became of template files, kept between readings so that a reload reads only what changed. */
export type TemplateCache = Map<string, CachedTemplate>

interface CachedTemplate {
  readonly bytes: Uint8Array
  readonly read: ReadTemplate | undefined
  readonly faults: readonly Fault[]
  /** Names that meant nothing, and to whom (see `KnownNames`). */
  lint?: { readonly known: string; readonly warnings: readonly Fault[] }
}

/**
 * Reads the library whole and checks it whole: every fault and every warning is told at once, at its
 * place. With faults the result is not to be used.
 */
export function readLibrary(
  files: SiteFiles,
  faults: Fault[],
  warnings: Fault[],
  context: LibraryContext,
): LibraryReading {
  const isPackage = context.builtIns?.folder === files.folder
  const builtIns = isPackage ? undefined : context.builtIns
  const seen = new Set<string>()
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
    const told: Told = { faults, warnings }
    for (const [id, read] of categoriesOf(part.files, part.ofPackage, categories, told)) {
      if (!onlySystem || read.category.isSystem) categories.set(id, read)
    }
    for (const read of templatesOf(part.files, part.ofPackage, context.cache, seen, told)) {
      if (onlySystem && !read.template.isSystem) continue
      addTemplate(read, templates, told)
    }
    for (const [name, read] of skillsOf(part.files, part.ofPackage, told)) {
      if (onlySystem && !read.skill.isSystem) continue
      if (skills.has(name))
        faults.push(read.document.fault(['name'], `"${name}" is a built-in skill; choose another name`))
      else skills.set(name, read)
    }
  }
  for (const key of context.cache?.keys() ?? []) if (!seen.has(key)) context.cache?.delete(key)

  checkHierarchy(categories, faults)
  const lint = templateLint(context)
  for (const read of templates.values()) checkTemplate(read, categories, context, lint, { faults, warnings })
  for (const read of skills.values()) checkSkill(read, context, { faults, warnings })
  return reading(templates, categories, skills)
}

interface Told {
  readonly faults: Fault[]
  readonly warnings: Fault[]
}

const categoriesFile = 'prompts/categories.yaml'

function categoriesOf(
  files: SiteFiles,
  ofPackage: boolean,
  taken: ReadonlyMap<string, ReadCategory>,
  { faults }: Told,
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
  seen: Set<string>,
  { faults }: Told,
): Generator<ReadTemplate> {
  for (const [file, document] of files.documents) {
    if (!isTemplateFile(file)) continue
    const key = `${files.folder}\n${file}`
    seen.add(key)
    const read = remembered(cache, key, document, faults)
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

function remembered(
  cache: TemplateCache | undefined,
  key: string,
  document: SourceDocument,
  faults: Fault[],
): ReadTemplate | undefined {
  const known = cache?.get(key)
  if (known && (known.bytes === document.bytes || Buffer.compare(known.bytes, document.bytes) === 0)) {
    faults.push(...known.faults)
    return known.read
  }
  const found: Fault[] = []
  const read = readTemplate(document, found)
  cache?.set(key, { bytes: document.bytes, read, faults: found })
  faults.push(...found)
  return read
}

function addTemplate(read: ReadTemplate, templates: Map<string, ReadTemplate>, { faults }: Told): void {
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

function* skillsOf(files: SiteFiles, ofPackage: boolean, { faults }: Told): Generator<[string, ReadSkill]> {
  for (const [name, read] of readSkills(files, faults)) {
    if (read.skill.isSystem && !ofPackage)
      faults.push(read.document.fault(['is_system'], onlyThePackage('skills')))
    else yield [name, read]
  }
}

function onlyThePackage(what: string): string {
  return `only the package has built-in ${what}; leave is_system out`
}

function checkTemplate(
  read: ReadTemplate,
  categories: ReadonlyMap<string, ReadCategory>,
  context: LibraryContext,
  lint: (read: ReadTemplate) => readonly Fault[],
  { faults, warnings }: Told,
): void {
  const { template, document } = read
  warnings.push(...read.warnings)
  if (template.category !== undefined && !categories.has(template.category)) {
    faults.push(document.fault(['category'], unknownCategory(template.category, categories.keys())))
  }
  checkPeople(template, document, context.people, { faults, warnings })
  for (const [row, { doctype }] of template.arguments.entries()) {
    if (doctype !== undefined && !context.doctypeNames.has(doctype)) {
      const near = nearest(doctype, context.doctypeNames)
      faults.push(
        document.fault(
          ['arguments', row, 'doctype'],
          `unknown doctype "${doctype}"${near === undefined ? '' : `; did you mean "${near}"?`}`,
        ),
      )
    }
  }
  warnings.push(...lint(read))
}

/** The names lint of a template, made anew only when the template or the known names changed. */
function templateLint(context: LibraryContext): (read: ReadTemplate) => readonly Fault[] {
  const known = JSON.stringify([[...context.toolNames].sort(), [...context.doctypeNames].sort()])
  const byRead = new Map([...(context.cache?.values() ?? [])].map((cached) => [cached.read, cached]))
  return (read) => {
    const cached = byRead.get(read)
    if (cached?.lint?.known === known) return cached.lint.warnings
    const own = new Set(read.template.arguments.map(({ name }) => name))
    const warnings = namesIn(read.document, read.template.content, context, own)
    if (cached) cached.lint = { known, warnings }
    return warnings
  }
}

function checkSkill(read: ReadSkill, context: LibraryContext, told: Told): void {
  const { skill, document } = read
  checkPeople(skill, document, context.people, told)
  const list = Array.isArray(skill.frontmatter['tools'])
  for (const [index, tool] of skill.tools.entries()) {
    if (context.toolNames.has(tool)) continue
    const near = nearest(tool, context.toolNames)
    told.warnings.push(
      document.fault(
        list ? ['tools', index] : ['tools'],
        `there is no tool "${tool}"${near === undefined ? '' : `; did you mean "${near}"?`}`,
      ),
    )
  }
  told.warnings.push(...namesIn(document, document.body ?? '', context, new Set()))
  for (const file of skill.files) {
    if (file.path === 'SKILL.md' || !file.path.endsWith('.md') || !file.text) continue
    const text = Buffer.from(file.bytes).toString('utf8')
    const path = `skills/${skill.name}/${file.path}`
    for (const { message, offset } of unknownNames(text, names(context), new Set())) {
      told.warnings.push({ file: path, ...placeIn(text, offset), path: '', message })
    }
  }
}

/**
 * Roles must exist. An owner who left is only warned about: a site that is refused because somebody
 * was removed from it could not be used to remove them.
 */
function checkPeople(
  thing: { readonly sharedWithRoles: readonly string[]; readonly owner: string },
  document: SourceDocument,
  people: People,
  { faults, warnings }: Told,
): void {
  for (const [index, role] of thing.sharedWithRoles.entries()) {
    if (people.roles.has(role)) continue
    const near = nearest(role, people.roles.keys())
    faults.push(
      document.fault(
        ['shared_with_roles', index],
        `unknown role "${role}"${near === undefined ? '' : `; did you mean "${near}"?`}`,
      ),
    )
  }
  if (thing.owner !== '' && !people.find(thing.owner)) {
    warnings.push(document.fault(['owner'], `"${thing.owner}" is not a user of this site`))
  }
}

function namesIn(
  document: SourceDocument,
  text: string,
  context: LibraryContext,
  own: ReadonlySet<string>,
): Fault[] {
  const unknown = unknownNames(text, names(context), own)
  if (unknown.length === 0) return []
  const whole = Buffer.from(document.bytes).toString('utf8').replaceAll('\r\n', '\n')
  const start = document.body === undefined ? -1 : whole.lastIndexOf(text)
  return unknown.map(({ message, offset }) =>
    start < 0
      ? document.fault(['template_content'], message)
      : { file: document.file, ...placeIn(whole, start + offset), path: '', message },
  )
}

function names(context: LibraryContext): KnownNames {
  return { tools: context.toolNames, doctypes: context.doctypeNames }
}

function placeIn(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split('\n')
  return { line: before.length, column: before.at(-1)!.length + 1 }
}

function reading(
  templates: Map<string, ReadTemplate>,
  categories: ReadonlyMap<string, ReadCategory>,
  skills: ReadonlyMap<string, ReadSkill>,
): LibraryReading {
  const hash = createHash('sha256')
  for (const [id, { template }] of [...templates].sort(([a], [b]) => (a < b ? -1 : 1))) {
    hash.update(`${id} ${template.digest}\n`)
  }
  const plainCategories = new Map([...categories].map(([id, { category }]) => [id, category]))
  hash.update(JSON.stringify([...plainCategories]))
  for (const [name, { digest }] of skills) hash.update(`${name} ${digest}\n`)
  return {
    templates,
    categories: plainCategories,
    skills: new Map([...skills].map(([name, { skill }]) => [name, skill])),
    skillDigests: new Map([...skills].map(([name, { digest }]) => [name, digest])),
    digest: hash.digest('hex'),
  }
}
