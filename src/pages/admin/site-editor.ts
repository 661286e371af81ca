/** The configuration in the site's folder: read, and edited as a commit in the name of the editing user. */
import type { Needs } from '../../control/operation.ts'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Document, parseDocument, visit } from 'yaml'
import { AppError } from '#leaf/errors.ts'
import { mayAtBrowser } from '../../core/effects.ts'
import { hasRole, systemManager } from '../../core/principal.ts'
import { hostChanges } from '#leaf/who-decides.ts'
import { unifiedDiff } from '#leaf/diff.ts'
import { writeFileOf } from '../../library/writing/write-file.ts'
import { requireBegan } from '../../library/writing/writing-rules.ts'
import { openRepository } from '#site/git.ts'
import { fileDigest, interpret, isParsed, listSite, readSite } from '#site/reading.ts'
import { faultText, type Fault, type SiteFiles } from '#site/site-files.ts'
import { builtInTools } from '../../tools/index.ts'
import { reportSql } from '../../tools/analysing/report-sql.ts'
import type { User } from '../../users/people.ts'
import { schemaOf } from '../../house/site-schemas.ts'
import { checksSeeds } from '../../house/seeding.ts'
import { faultsOf, readBuiltIns } from '../../house/snapshot.ts'
import { noSql } from '../../documents/reports/run-sql.ts'

/** The text of a file as it shall be, and the digest of the one with which the edit began. */
interface Edit {
  readonly text: string
  readonly hash: string
}

/** What is said of a file that no form can change. */
export const unreadable = 'the file cannot be read; its text must be mended first'
const aliased =
  'the file repeats parts of itself by names (&name, *name); edit its text, as a form would lose them'

/** Returns why no form can change a YAML file, if so. */
export function formRefusal(document: Document.Parsed): string | undefined {
  if (document.errors.length > 0) return unreadable
  let found: string | undefined
  visit(document, { Alias: () => void (found = aliased) })
  return found
}

/** The dependencies of the editor. */
export type SiteEditorParts = Needs<'site' | 'folders' | 'audit' | 'analysis'>

const shownCommits = 10

/** Makes the one editor of a live site. AppError `not_found` for files that do not exist, or not for this user. */
export function createSiteEditor(parts: SiteEditorParts) {
  const { site, folders } = parts
  const faultsNow = (): readonly Fault[] => [...site.state().faults, ...site.state().warnings]
  let last: Promise<unknown> = Promise.resolve()
  const saveInTurn = (user: User, file: string, edit: Edit): Promise<string> => {
    // Edits run one at a time: the compared file must still be there when it is replaced.
    const turn = last.then(() => save(parts, user, file, edit))
    last = turn.catch(() => undefined)
    return turn
  }
  return {
    list: async (user: User) =>
      (await filesFor(parts, user)).map((file) => ({
        file,
        faults: faultsNow().filter((fault) => fault.file === file).length,
      })),
    show: async (user: User, file: string) => {
      const bytes = await bytesOf(parts, user, file)
      const repository = await openRepository(folders.site)
      return {
        text: bytes.toString('utf8'),
        // The digest of the bytes that are shown, with which an edit begins.
        hash: fileDigest(bytes),
        faults: faultsNow().filter((fault) => fault.file === file),
        commits: (await repository?.history(file, shownCommits)) ?? [],
        refusal: await refusalFor(parts, user),
      }
    },
    /** Returns the difference from the file as it is to a text. */
    difference: async (user: User, file: string, text: string) => {
      const now = (await bytesOf(parts, user, file)).toString('utf8')
      return unifiedDiff(now, text.replaceAll('\r\n', '\n'), file, file)
    },
    /**
     * Checks the text with the whole site, writes it, and commits it in the user's name; returns the commit. AppError
     * `conflict` when the file is not the one that the edit began with, `invalid` with `data.faults`.
     */
    save: saveInTurn,
    /** Saves a YAML file with what a form changes in it, of which everything else, comments and all, stays as it is. */
    change: async (user: User, file: string, change: (document: Document) => void, began?: string) => {
      const bytes = await bytesOf(parts, user, file)
      const why = await refusalFor(parts, user)
      if (why !== undefined) throw new AppError('forbidden', why)
      const text = bytes.toString('utf8')
      const document = parseDocument(text.replaceAll('\r\n', '\n'))
      const unfit = formRefusal(document)
      if (unfit !== undefined) throw new AppError('invalid', unfit)
      change(document)
      const written = document.toString({ lineWidth: 0 })
      const same = text.includes('\r\n') ? written.replaceAll('\n', '\r\n') : written
      return saveInTurn(user, file, { text: same, hash: began ?? fileDigest(bytes) })
    },
  }
}

async function filesFor({ folders }: SiteEditorParts, user: User): Promise<readonly string[]> {
  return (
    (await listSite(folders.site)).files
      .map(({ path }) => path)
      .filter((path) => path.startsWith('config/') && isParsed(path))
      // Seeds are business data, which the role of the assistant's admin does not open.
      .filter((path) => !path.startsWith('config/seeds/') || hasRole(user, systemManager))
  )
}

async function bytesOf(parts: SiteEditorParts, user: User, path: string): Promise<Buffer> {
  if (!(await filesFor(parts, user)).includes(path))
    throw new AppError('not_found', 'nothing is at this address')
  return readFile(join(parts.folders.site, path))
}

/** Returns the reason why this user cannot edit the site here; undefined when they can. */
async function refusalFor({ site, folders }: SiteEditorParts, user: User): Promise<string | undefined> {
  if (!mayAtBrowser(user, 'edit_site')) return `only a ${systemManager} edits the site here`
  const { git, site: source } = site.current().settings
  if (source.git.url !== null) return 'the site is pulled from a git repository: edit the file there'
  if (!git.edit_in_browser)
    return 'the setting git.edit_in_browser is off: edit the file where the site comes from'
  return (await openRepository(folders.site)) ? undefined : 'the site is not in a git repository'
}

async function save(parts: SiteEditorParts, user: User, path: string, { text, hash }: Edit): Promise<string> {
  const why = await refusalFor(parts, user)
  if (why !== undefined) throw new AppError('forbidden', why)
  parts.audit.requireWritable()
  const work = { file: path, message: `${path}: edited in the browser`, began: hash }
  const before = await bytesOf(parts, user, path)
  requireBegan(work, before)
  const bytes = Buffer.from(before.includes('\r\n') ? text : text.replaceAll('\r\n', '\n'))
  if (bytes.equals(before)) throw new AppError('invalid', 'nothing was changed')
  requireBusiness(path, before, bytes)
  const faults = await faultsWith(parts, path, bytes)
  if (faults.length > 0)
    throw new AppError('invalid', 'the file was not saved, because it has faults', { data: { faults } })
  const author = { fullName: user.fullName, user: user.id }
  const { site } = parts.site.current().settings
  const place = { folder: parts.folders.site, commits: () => true, isPulled: () => site.git.url !== null }
  const commit = await writeFileOf(place, author, { work, bytes, branch: undefined })
  await parts.site.reload('a file was edited')
  return commit ?? ''
}

/** Refuses changes of keys that the host decides, by anybody; it compares the parsed data, with aliases followed. */
function requireBusiness(path: string, before: Uint8Array, after: Uint8Array): void {
  const { document } = interpret(path, after)
  const was = interpret(path, before).document?.data
  const changed = document ? hostChanges(schemaOf(path), was, document.data) : []
  if (changed.length === 0) return
  const message = 'this is decided on the host, by the file or by git; a browser does not change it'
  const faults = changed.map((key) => document!.fault(key, message, 'key'))
  const keys = faults.map((fault) => fault.path)
  const refusal = 'the file was not saved, because the host decides what was changed in it'
  throw new AppError('invalid', `${refusal}; ${path}: ${keys.slice(0, 20).join(', ')}`, { data: { faults } })
}

/** Returns the faults that the site would have, and had not before. */
async function faultsWith(
  { site, folders, analysis }: SiteEditorParts,
  path: string,
  bytes: Uint8Array,
): Promise<readonly Fault[]> {
  const runSql = analysis ? reportSql(analysis.sql) : noSql
  const means = { runSql, folders, ...checksSeeds }
  const files = edited(await readSite(folders.site), path, bytes)
  const faults = await faultsOf(files, { ...means, builtIns: await readBuiltIns(), tools: builtInTools })
  const known = new Set(site.state().faults.map(faultText))
  return faults.filter((fault) => fault.file === path || !known.has(faultText(fault)))
}

/** Returns the site with other bytes in one of its files. */
function edited(files: SiteFiles, path: string, bytes: Uint8Array): SiteFiles {
  const { document, faults } = interpret(path, bytes)
  const [documents, assets] = [new Map(files.documents), new Map(files.assets)]
  documents.delete(path)
  if (document) documents.set(path, document)
  else if (faults.length === 0) assets.set(path, bytes)
  const others = files.faults.filter((fault) => fault.file !== path)
  return { ...files, documents, assets, faults: [...others, ...faults] }
}
