/** Adds databases of others to a site, and doctypes over their tables: files that people then go on with. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Document, isSeq, parseDocument } from 'yaml'
import { AppError, messageOf } from '#leaf/errors.ts'
import { unknownName } from '#leaf/names.ts'
import { type Folders, readSecretFile, secretsIn } from '#leaf/secret-files.ts'
import type { CatalogueTable } from '#sources/catalogue.ts'
import type { Source } from '#sources/source.ts'
import { type Door, openDoor } from '#sources/sources.ts'
import { type Draft, draftDoctypes, parentOf, tableName } from '../documents/sources/draft.ts'
import { draftFrappe, readFrappe } from '../documents/sources/frappe.ts'
import { assistantAdmin, assistantUser, systemManager } from '../core/principal.ts'
import { rolesFile } from '../users/read-people.ts'
import { writeKeysDdl, writeKeysIn } from '#sources/write-keys.ts'
import { wholeMessage } from '#site/checking.ts'
import { readSite } from '#site/reading.ts'
import { readSettings } from '../settings/read-settings.ts'
import { documentsIn, type Fault, type SiteFiles } from '#site/site-files.ts'
import { siteFaults } from '#site/site.ts'
import { readSources, sourcesFile } from '../settings/sources.ts'

/** Tries a database, and names it in `config/sources.yaml`. AppError `unavailable` where it cannot be reached; then nothing is written. */
export async function addSource(
  folders: Folders,
  name: string,
  source: Source,
): Promise<{ readonly file: string; readonly tables: number }> {
  if (!/^[a-z][a-z0-9_-]{0,39}$/.test(name))
    throw new AppError('invalid', `"${name}" cannot be the name of a source: small letters, digits, _ and -`)
  const files = await readSite(folders.site)
  const sources = sourcesOf(files)
  if (Object.hasOwn(sources, name))
    throw new AppError('conflict', `${sourcesFile} has a source "${name}" already`)
  const tables = await within(folders, files, source, async (door) => {
    const login = await door.look((at) => at.login())
    if (login.above)
      throw new AppError(
        'invalid',
        `"${login.name}" is a superuser or has BYPASSRLS, which no row-level security binds: take a login that may only read`,
      )
    if (login.isState)
      throw new AppError(
        'invalid',
        'this database has the state of this service or of one like it: no documents lie there',
      )
    if (login.refusal !== undefined) throw new AppError('invalid', `this database ${login.refusal}`)
    return await door.look((at) => at.tables())
  })
  const path = join(folders.site, sourcesFile)
  const document = existsSync(path) ? parseDocument(readFileSync(path, 'utf8')) : new Document({})
  document.setIn(['sources', name], document.createNode(source))
  write(path, document.toString({ lineWidth: 0 }))
  return { file: path, tables: tables.filter(({ readable }) => readable).length }
}

/** A file that was drafted, or what is new for one that is there. */
export interface Drafted {
  readonly doctype: string
  readonly table: string
  readonly file: string
  /** `new`, `changed` or `same`. */
  readonly state: 'new' | 'changed' | 'same'
  /** Fields that a file which is there does not have yet, and those whose column is gone. */
  readonly added: readonly string[]
  readonly gone: readonly string[]
  /** Columns that no field shows, and why. */
  readonly left: readonly string[]
}

/** Drafts doctypes over the tables of a source, all or those named; writes files only where asked. */
export async function draftFrom(
  folders: Folders,
  name: string,
  wanted: readonly string[],
  writes: boolean,
): Promise<{ readonly doctypes: readonly Drafted[]; readonly left: readonly string[] }> {
  const files = await readSite(folders.site)
  const source = sourceOf(sourcesOf(files), name)
  const { all, frappe } = await within(folders, files, source, (door) =>
    door.look(async (at) => {
      const all = (await at.tables()).filter(({ schema, name }) => `${schema}.${name}` !== source.write_keys)
      return { all, frappe: await readFrappe(at, all) }
    }),
  )
  const chosen = chosenOf(all, wanted)
  const known = knownTables(files, name, source.type === 'postgres' ? 'public' : source.database)
  const { drafts, left } = frappe
    ? draftFrappe(name, { all, named: chosen }, frappe, known)
    : draftDoctypes(name, chosen, known)
  if (writes) addRoles(folders.site, drafts)
  return { doctypes: drafts.map((draft) => compareOrWrite(folders.site, files, draft, writes)), left }
}

const builtIn: readonly string[] = [systemManager, assistantAdmin, assistantUser]

/** Adds the roles that rules of drafts name, and that nobody has yet, to those of the site. */
function addRoles(site: string, drafts: readonly Draft[]): void {
  const rules = drafts.flatMap(({ content }) => (content['permissions'] ?? []) as { readonly role: string }[])
  if (rules.length === 0) return
  const path = join(site, rolesFile)
  const document = existsSync(path) ? parseDocument(readFileSync(path, 'utf8')) : new Document({ roles: [] })
  const { roles = [] } = document.toJS() as { readonly roles?: readonly { readonly name?: string }[] }
  const there = new Set(roles.map(({ name }) => name))
  const missing = [...new Set(rules.map(({ role }) => role))].filter(
    (one) => !there.has(one) && !builtIn.includes(one),
  )
  if (missing.length === 0) return
  for (const role of missing) document.addIn(['roles'], document.createNode({ name: role }))
  write(path, document.toString({ lineWidth: 0 }))
}

/** Returns the tables of these names (`*` stands for anything), and the rows that belong to them. */
function chosenOf(all: readonly CatalogueTable[], wanted: readonly string[]): readonly CatalogueTable[] {
  if (wanted.length === 0) return all
  const patterns = wanted.map((one) => ({
    one,
    matches: new RegExp(
      `^(?:[^.]+\\.)?${one
        .split('*')
        .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
        .join('.*')}$`,
    ),
  }))
  const missing = patterns.find(({ matches }) => !all.some((table) => matches.test(tableName(table))))
  if (missing) throw new AppError('not_found', unknownName('table', missing.one, all.map(tableName)))
  const named = all.filter((table) => patterns.some(({ matches }) => matches.test(tableName(table))))
  return all.filter(
    (table) => named.includes(table) || named.includes(parentOf(table, all) as CatalogueTable),
  )
}

function compareOrWrite(site: string, files: SiteFiles, draft: Draft, writes: boolean): Drafted {
  const { doctype, table, left } = draft
  const there = [...documentsIn(files, 'config/doctypes/')].find(
    ({ data }) => (data as { doctype?: unknown } | null)?.doctype === doctype,
  )
  const file = there?.file ?? `config/doctypes/${doctype.toLowerCase().replaceAll(' ', '-')}.yaml`
  if (!there) {
    if (writes) write(join(site, file), textOf(draft))
    return { doctype, table, file, state: 'new', added: [], gone: [], left }
  }
  const { fields = [] } = there.data as { readonly fields?: readonly Readonly<Record<string, unknown>>[] }
  const columnOf = (field: Readonly<Record<string, unknown>>): unknown =>
    field['type'] === 'table' ? JSON.stringify(field['doctype']) : (field['column'] ?? field['fieldname'])
  const has = new Set(fields.map(columnOf))
  const added = draft.fields.filter((field) => !has.has(columnOf(field)))
  const now = new Set([...draft.fields.map(columnOf), ...left.map((one) => one.split(' ')[0])])
  const gone = fields.filter((field) => field['through'] === undefined && !now.has(columnOf(field)))
  if (writes && added.length > 0) {
    const document = parseDocument(readFileSync(join(site, file), 'utf8'))
    const list = document.get('fields')
    if (isSeq(list)) for (const field of added) list.add(document.createNode(field, { flow: true }))
    write(join(site, file), document.toString({ lineWidth: 0 }))
  }
  return {
    doctype,
    table,
    file,
    state: added.length + gone.length > 0 ? 'changed' : 'same',
    added: added.map(({ fieldname }) => fieldname),
    gone: gone.map((field) => String(field['fieldname'])),
    left,
  }
}

/** Returns the file of a new doctype, which nobody may read until its author says who. */
function textOf({ content, fields, table }: Draft): string {
  const document = new Document({ ...content, fields: [] })
  document.set(
    'fields',
    fields.map((field) => document.createNode(field, { flow: true })),
  )
  const isChild = content['child'] === true
  const head = [
    '# yaml-language-server: $schema=../../.schemas/doctype.json',
    // Its name is another's: after a line end in it, keys such as permissions would follow.
    `# Drafted from the table ${table.replace(/[\p{C}\p{Z}]+/gu, ' ')}.`,
  ]
  const tail =
    isChild || content['permissions'] !== undefined
      ? []
      : [
          '# Nobody may read these documents until a rule says so:',
          '# permissions:',
          '#   - { role: …, actions: [read, report] }',
        ]
  return [...head, ...tail, document.toString({ lineWidth: 0 })].join('\n')
}

/** Returns the doctypes that lie in the source already, by table. */
function knownTables(files: SiteFiles, source: string, home: string): ReadonlyMap<string, string> {
  type Known = {
    readonly doctype?: string
    readonly from?: { readonly source?: string; readonly table?: string }
    readonly fields?: readonly { readonly doctype?: string; readonly rows?: { readonly table?: string } }[]
  }
  const known = new Map<string, string>()
  const note = (table: string | undefined, doctype: string | undefined): void => {
    if (table !== undefined && doctype !== undefined)
      known.set(table.includes('.') ? table : `${home}.${table}`, doctype)
  }
  for (const { data } of documentsIn(files, 'config/doctypes/')) {
    const { doctype, from, fields = [] } = (data ?? {}) as Known
    if (from?.source !== source) continue
    note(from.table, doctype)
    for (const field of Array.isArray(fields) ? fields : []) note(field.rows?.table, field.doctype)
  }
  return known
}

/** Returns the statements with which the owner of a source makes the table that its `write_keys` names. */
export async function writeKeysOf(folders: Folders, name: string): Promise<readonly string[]> {
  const source = sourceOf(sourcesOf(await readSite(folders.site)), name)
  const keys = writeKeysIn(source)
  if (!keys)
    throw new AppError(
      'invalid',
      `the source "${name}" has no write_keys in ${sourcesFile}: name a table there, such as public.assistant_write_keys`,
    )
  return writeKeysDdl(keys, source)
}

function sourceOf(sources: ReturnType<typeof readSources>, name: string): Source {
  const source = sources[name]
  if (!source) throw new AppError('not_found', unknownName('source', name, Object.keys(sources)))
  return source
}

function sourcesOf(files: SiteFiles): ReturnType<typeof readSources> {
  const faults: Fault[] = []
  const sources = readSources(files, faults)
  if (faults.length > 0) throw siteFaults(files.folder, faults)
  return sources
}

async function within<R>(
  folders: Folders,
  files: SiteFiles,
  source: Source,
  work: (door: Door) => Promise<R>,
): Promise<R> {
  const pathOf = secretsIn(readSettings(files, [], []), folders)
  const door = await openDoor(
    source,
    (name) => readSecretFile(pathOf(name), 'a source'),
    () => undefined,
  )
  try {
    return await work(door)
  } catch (error) {
    if (error instanceof AppError) throw error
    throw new AppError(
      'unavailable',
      `the database cannot be asked: ${wholeMessage(error) || messageOf(error)}`,
      { cause: error },
    )
  } finally {
    await door.close()
  }
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}
