/** Checks of the library against the rest of the site: people, doctypes, tools, categories. */
import { checkNames } from '../site/check-document.ts'
import { didYouMean, unknownName } from '../core/names.ts'
import type { Fault, SiteFiles, SourceDocument } from '../site/site-files.ts'
import type { People } from '../users/people.ts'
import type { ReadCategory } from './categories.ts'
import { reaches, type Guarded } from './access.ts'
import { notOffered, unknownNames, type KnownNames, type Readers } from './lint.ts'
import type { ReadSkill } from './skill-files.ts'
import type { ReadTemplate } from './template-file.ts'
import type { Category, Skill } from './words.ts'

/** What a library is read with and checked against: the rest of the site, the package, the state's memory. */
export interface Surroundings {
  readonly people: People
  /**
   * The package's own `prompts/` and `skills/`, which are added to the site; left out when the setting
   * `library.built_ins` is off. May be the site itself: then what is marked `is_system` is built in.
   */
  readonly builtIns?: SiteFiles
  readonly toolNames: ReadonlySet<string>
  readonly doctypeNames: ReadonlySet<string>
  /** Everybody who may use the service; their texts are compared with what they have. */
  readonly readers: readonly Readers[]
  /** The setting `library.channels`: a role, or `default`, to a branch, tag or commit. */
  readonly channels: Readonly<Record<string, string>>
  readonly packageVersion: string
  /** Remembers files that did not change from one reading to the next. */
  readonly cache?: TemplateCache
}

/** What became of template files, kept between readings so that a reload reads and checks only what changed. */
export interface TemplateCache {
  /** By folder of the site or the package, and file. */
  readonly files: Map<string, Map<string, CachedTemplate>>
  /** What was found beyond the files themselves, while the rest of the site is the same. */
  checked?: { readonly rest: string; readonly found: WeakMap<ReadTemplate, FoundFaults> }
  /** The last reading, if it had no faults. */
  last?: LastReading | undefined
}

/** One immutable reading of the prompts, categories and skills of a site and of the package. */
export interface LibraryReading {
  readonly templates: ReadonlyMap<string, ReadTemplate>
  readonly categories: ReadonlyMap<string, Category>
  readonly skills: ReadonlyMap<string, Skill>
  readonly skillDigests: ReadonlyMap<string, string>
  /** What of it the package brought, by `prompt/…`, `category/…`, `skill/…`, each with its digest. */
  readonly builtIns: ReadonlyMap<string, string>
}

/** A reading of the library, what it was made of, and what was said about it. */
export interface LastReading {
  readonly files: SiteFiles
  readonly builtIns: SiteFiles | undefined
  readonly rest: string
  readonly reading: LibraryReading
  readonly warnings: readonly Fault[]
}

/** What became of one file. */
export interface CachedTemplate {
  readonly bytes: Uint8Array
  readonly read: ReadTemplate | undefined
  readonly faults: readonly Fault[]
}

/** Where faults and warnings are told. */
export interface FoundFaults {
  readonly faults: Fault[]
  readonly warnings: Fault[]
}

/** Tells what is wrong with templates beyond their own files; looks again only at those that changed, or at all when the rest did. */
export function checkTemplates(
  templates: Iterable<ReadTemplate>,
  categories: ReadonlyMap<string, ReadCategory>,
  around: Surroundings,
  others: string,
  { faults, warnings }: FoundFaults,
): void {
  const { cache } = around
  const rest = others + JSON.stringify([...categories.keys()])
  const known = cache?.checked?.rest === rest ? cache.checked.found : new WeakMap<ReadTemplate, FoundFaults>()
  if (cache) cache.checked = { rest, found: known }
  for (const read of templates) {
    let found = known.get(read)
    if (!found) known.set(read, (found = checkTemplate(read, categories, around)))
    faults.push(...found.faults)
    warnings.push(...found.warnings)
  }
}

/** All of the rest of a site that a library is checked against. */
export function restOf({ people, toolNames, doctypeNames, readers }: Surroundings): string {
  const names = [[...people.roles.keys()], [...people.users.keys()], toolNames, doctypeNames, readers]
  return JSON.stringify(names, (_key, value: unknown) =>
    value instanceof Set ? [...(value as Set<string>)].sort() : value,
  )
}

/** Its category, people, doctypes, and the names in its text. */
export function checkTemplate(
  read: ReadTemplate,
  categories: ReadonlyMap<string, unknown>,
  around: Surroundings,
): FoundFaults {
  const { template, document } = read
  const [faults, warnings]: [Fault[], Fault[]] = [[], [...read.warnings]]
  if (template.category !== undefined && !categories.has(template.category)) {
    faults.push(document.fault(['category'], unknownName('category', template.category, categories.keys())))
  }
  checkPeople(template, document, around.people, { faults, warnings })
  for (const [row, { doctype }] of template.arguments.entries()) {
    if (doctype !== undefined && !around.doctypeNames.has(doctype)) {
      faults.push(
        document.fault(['arguments', row, 'doctype'], unknownName('doctype', doctype, around.doctypeNames)),
      )
    }
  }
  const own = new Set(template.arguments.map(({ name }) => name))
  warnings.push(...namesIn(document, template.content, around, own, readersOf(template, around)))
  return { faults, warnings }
}

/** The same of a skill, for SKILL.md and the markdown beside it. */
export function checkSkill(read: ReadSkill, around: Surroundings, told: FoundFaults): void {
  const { skill, document } = read
  checkPeople(skill, document, around.people, told)
  const readers = readersOf(skill, around)
  const list = Array.isArray(skill.frontmatter['tools'])
  for (const [index, tool] of skill.tools.entries()) {
    const message = around.toolNames.has(tool)
      ? notOffered(tool, readers)
      : `there is no tool "${tool}"${didYouMean(tool, around.toolNames)}`
    if (message !== undefined)
      told.warnings.push(document.fault(list ? ['tools', index] : ['tools'], message))
  }
  const own = new Set<string>()
  told.warnings.push(...namesIn(document, document.body ?? '', around, own, readers))
  for (const file of skill.files) {
    if (file.path === 'SKILL.md' || !file.path.endsWith('.md') || !file.text) continue
    const text = Buffer.from(file.bytes).toString('utf8')
    const path = `skills/${skill.name}/${file.path}`
    for (const { message, offset } of unknownNames(text, names(around), own, readers)) {
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
  { faults, warnings }: FoundFaults,
): void {
  checkNames(document, ['shared_with_roles'], 'role', thing.sharedWithRoles, people.roles, faults)
  if (thing.owner !== '' && !people.find(thing.owner)) {
    warnings.push(document.fault(['owner'], `"${thing.owner}" is not a user of this site`))
  }
}

/** Who reads a thing: whoever it reaches, and its owner. */
function readersOf(thing: Guarded, { readers }: Surroundings): readonly Readers[] {
  return readers.flatMap((group) => {
    if (reaches(group.roles, thing)) return [group]
    return group.users.includes(thing.owner) ? [{ ...group, users: [thing.owner] }] : []
  })
}

/** Names in a text of a document that mean nothing, or nothing to its readers; `path` is where a text in YAML stands. */
export function namesIn(
  document: SourceDocument,
  text: string,
  around: Pick<Surroundings, 'toolNames' | 'doctypeNames'>,
  own: ReadonlySet<string>,
  readers: readonly Readers[],
  path: readonly string[] = ['template_content'],
): Fault[] {
  const unknown = unknownNames(text, names(around), own, readers)
  if (unknown.length === 0) return []
  const whole = Buffer.from(document.bytes).toString('utf8').replaceAll('\r\n', '\n')
  const start = document.body === undefined ? -1 : whole.lastIndexOf(text)
  return unknown.map(({ message, offset }) =>
    start < 0
      ? document.fault(path, message)
      : { file: document.file, ...placeIn(whole, start + offset), path: '', message },
  )
}

function names(around: Pick<Surroundings, 'toolNames' | 'doctypeNames'>): KnownNames {
  return { tools: around.toolNames, doctypes: around.doctypeNames }
}

function placeIn(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split('\n')
  return { line: before.length, column: before.at(-1)!.length + 1 }
}
