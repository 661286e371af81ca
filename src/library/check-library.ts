/** Checks the library against the rest of the site: people, doctypes, tools, categories. */
import { didYouMean } from '#leaf/names.ts'
import { placeIn } from '#leaf/places.ts'
import { checkReferences, type NameSet } from '#site/checking.ts'
import type { Fault, SiteFiles, SourceDocument } from '#site/site-files.ts'
import type { People } from '../users/people.ts'
import type { ReadCategory } from './categories.ts'
import { reaches } from './access.ts'
import { notOffered, unknownNames, type KnownNames, type Readers } from './prompts/lint.ts'
import { type ReadSkill, skillSchema } from './skill-files.ts'
import { type ReadTemplate, templateSchema } from './prompts/template-file.ts'
import type { Category, Guarded, Skill } from './words.ts'

/** The context in which a library is read and checked: the rest of the site, the package, and the cache. */
export interface Surroundings {
  readonly people: People
  /**
   * The package's own `prompts/` and `skills/`, which are added to the site; left out when the setting
   * `library.built_ins` is off. May be the site itself: then what is marked `is_system` is built in.
   */
  readonly builtIns?: SiteFiles
  readonly toolNames: ReadonlySet<string>
  readonly doctypeNames: ReadonlySet<string>
  /** Everybody who may use the service; the names in the texts that they read are compared with what they have. */
  readonly readers: readonly Readers[]
  /** The setting `library.channels`: a role, or `default`, to a branch, tag or commit. */
  readonly channels: Readonly<Record<string, string>>
  readonly packageVersion: string
  /** A cache of files that did not change from one reading to the next. */
  readonly cache?: TemplateCache
}

/** A cache of template files, kept between readings so that a reload reads and checks only what changed. */
export interface TemplateCache {
  /** By folder of the site or the package, and file. */
  readonly files: Map<string, Map<string, CachedTemplate>>
  /** The faults found beyond the files themselves, valid while the rest of the site is the same. */
  checked?: { readonly rest: string; readonly found: WeakMap<ReadTemplate, FoundFaults> }
  /** The last reading, if it had no faults. */
  last?: LastReading | undefined
}

/** One immutable reading of the prompts, categories and skills of a site and of the package. */
export interface LibraryReading {
  readonly templates: ReadonlyMap<string, ReadTemplate>
  /** Ids of templates that stand in their owner's folder and are offered to others, by the shared name. */
  readonly offered: ReadonlyMap<string, string>
  readonly categories: ReadonlyMap<string, Category>
  readonly skills: ReadonlyMap<string, Skill>
  readonly skillDigests: ReadonlyMap<string, string>
  /** The part that the package brought, by `prompt/…`, `category/…`, `skill/…`, each with its digest. */
  readonly builtIns: ReadonlyMap<string, string>
}

/** A reading of the library, with its inputs and its warnings. */
export interface LastReading {
  readonly files: SiteFiles
  readonly builtIns: SiteFiles | undefined
  readonly rest: string
  readonly reading: LibraryReading
  readonly warnings: readonly Fault[]
}

/** The result of reading one file. */
export interface CachedTemplate {
  readonly bytes: Uint8Array
  readonly read: ReadTemplate | undefined
  readonly faults: readonly Fault[]
}

/** Lists that collect faults and warnings. */
export interface FoundFaults {
  readonly faults: Fault[]
  readonly warnings: Fault[]
}

/** Reports faults of templates beyond their own files; checks only those that changed, or all when the rest did. */
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

/** Returns all of the rest of a site that a library is checked against, as one text. */
export function restOf({ people, toolNames, doctypeNames, readers }: Surroundings): string {
  const names = [[...people.roles.keys()], [...people.users.keys()], toolNames, doctypeNames, readers]
  return JSON.stringify(names, (_key, value: unknown) =>
    value instanceof Set ? [...(value as Set<string>)].sort() : value,
  )
}

/** Checks a template's category, people and doctypes, and the names in its text. */
export function checkTemplate(read: ReadTemplate, categories: NameSet, around: Surroundings): FoundFaults {
  const { template, document } = read
  const [faults, warnings]: [Fault[], Fault[]] = [[], [...read.warnings]]
  // An empty category means that there is none.
  const category = { has: (id: string) => id === '' || categories.has(id), keys: () => categories.keys() }
  checkReferences(document, templateSchema, { ...namesOf(around), category }, faults)
  warnings.push(...ownerWarnings(template, document, around.people))
  const own = new Set(template.arguments.map(({ name }) => name))
  warnings.push(...namesIn(document, template.content, around, own, readersOf(template, around)))
  return { faults, warnings }
}

/** Checks a skill in the same way: SKILL.md and the markdown beside it. */
export function checkSkill(read: ReadSkill, around: Surroundings, told: FoundFaults): void {
  const { skill, document } = read
  checkReferences(document, skillSchema, namesOf(around), told.faults)
  told.warnings.push(...ownerWarnings(skill, document, around.people))
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

function namesOf({ people, doctypeNames }: Surroundings): Readonly<Record<string, NameSet>> {
  return { role: people.roles, doctype: doctypeNames }
}

/** Warns of an owner who left. This is no fault: a site refused because a user was removed could not be used to remove them. */
function ownerWarnings({ owner }: { owner: string }, document: SourceDocument, people: People): Fault[] {
  const isKnown = owner === '' || people.find(owner) !== undefined
  return isKnown ? [] : [document.fault(['owner'], `"${owner}" is not a user of this site`)]
}

/** Returns the readers of a thing as written: everybody it reaches, and its owner. Shipped things are fitted to each reader. */
function readersOf(thing: Guarded, { readers }: Surroundings): readonly Readers[] {
  if (thing.isSystem) return []
  return readers.flatMap((group) => {
    if (reaches(group.roles, thing)) return [group]
    return group.users.includes(thing.owner) ? [{ ...group, users: [thing.owner] }] : []
  })
}

/** Warns of names in a text that do not exist, or not for its readers; `path` is the place of a text in YAML. */
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
