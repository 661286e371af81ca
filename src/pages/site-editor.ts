/** The configuration as it lies in the site's folder: read, and edited as a commit in the name of whoever does. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Audit } from '../audit/audit.ts'
import type { Analysis } from '../analysis/analysis.ts'
import { AppError } from '../core/errors.ts'
import { hasRole, systemManager } from '../core/principal.ts'
import { noSql } from '../documents/run-sql.ts'
import { unifiedDiff } from '../library/diff.ts'
import { writeFileOf } from '../library/write-file.ts'
import { requireBegan } from '../library/writing-rules.ts'
import { openRepository } from '../site/git.ts'
import { listSite } from '../site/list-site.ts'
import { fileDigest, interpret, isParsed, readSite } from '../site/read-site.ts'
import { faultText, type Fault, type SiteFiles } from '../site/site-files.ts'
import type { Site } from '../site/kept-site.ts'
import { reportSql } from '../tools/report-sql.ts'
import type { User } from '../users/people.ts'
import { readWholeSite, type Snapshot } from '../build/snapshot.ts'

interface Parts {
  readonly site: Site<Snapshot>
  readonly folders: { readonly site: string }
  readonly audit: Audit
  readonly analysis: Analysis | undefined
}

const shownCommits = 10

/** Where the page of files gets them; AppError `not_found` for those that there are not, or not for this user. */
export type SiteEditor = ReturnType<typeof createSiteEditor>

/** Makes the one editor of a live site. */
export function createSiteEditor(parts: Parts) {
  const { site, folders } = parts
  const faultsNow = (): readonly Fault[] => [...site.state().faults, ...site.state().warnings]
  let last: Promise<unknown> = Promise.resolve()
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
        // Of the bytes that are shown: what an edit begins with.
        hash: fileDigest(bytes),
        faults: faultsNow().filter((fault) => fault.file === file),
        commits: (await repository?.history(file, shownCommits)) ?? [],
        refusal: await refusalFor(parts, user),
      }
    },
    /** From the file as it is to a text. */
    difference: async (user: User, file: string, text: string) => {
      const now = (await bytesOf(parts, user, file)).toString('utf8')
      return unifiedDiff(now, text.replaceAll('\r\n', '\n'), file, file)
    },
    /**
     * Checks the text with the whole site, writes it, and commits it in the user's name; answers the commit. AppError
     * `conflict` when the file is not the one that the edit began with, `invalid` with `data.faults`.
     */
    save: (user: User, file: string, edit: { readonly text: string; readonly hash: string }) => {
      // One at a time: what is compared with must still be there when it is replaced.
      const turn = last.then(() => save(parts, user, file, edit))
      last = turn.catch(() => undefined)
      return turn
    },
  }
}

async function filesFor({ folders }: Parts, user: User): Promise<readonly string[]> {
  return (
    (await listSite(folders.site)).files
      .map(({ path }) => path)
      .filter((path) => path.startsWith('config/') && isParsed(path))
      // The first documents are business data, which the role of the assistant's admin does not open.
      .filter((path) => !path.startsWith('config/seeds/') || hasRole(user, systemManager))
  )
}

async function bytesOf(parts: Parts, user: User, path: string): Promise<Buffer> {
  if (!(await filesFor(parts, user)).includes(path))
    throw new AppError('not_found', 'nothing is at this address')
  return readFile(join(parts.folders.site, path))
}

/** Why this user cannot edit the site here. */
async function refusalFor({ site, folders }: Parts, user: User): Promise<string | undefined> {
  if (!hasRole(user, systemManager)) return `only a ${systemManager} edits the site here`
  const { git, site: source } = site.current().settings
  if (source.git.url !== null) return 'the site is pulled from a git repository: edit the file there'
  if (!git.commit) return 'the setting git.commit is off: edit the file where the site comes from'
  return (await openRepository(folders.site)) ? undefined : 'the site is not in a git repository'
}

async function save(
  parts: Parts,
  user: User,
  path: string,
  { text, hash }: { readonly text: string; readonly hash: string },
): Promise<string> {
  const why = await refusalFor(parts, user)
  if (why !== undefined) throw new AppError('forbidden', why)
  parts.audit.requireWritable()
  const work = { file: path, message: `${path}: edited in the browser`, began: hash }
  const before = await bytesOf(parts, user, path)
  requireBegan(work, before)
  const bytes = Buffer.from(before.includes('\r\n') ? text : text.replaceAll('\r\n', '\n'))
  if (bytes.equals(before)) throw new AppError('invalid', 'nothing was changed')
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

/** What would be wrong with the site, and was not before. */
async function faultsWith(
  { site, folders, analysis }: Parts,
  path: string,
  bytes: Uint8Array,
): Promise<readonly Fault[]> {
  const runSql = analysis ? reportSql(analysis.sql) : noSql
  const files = edited(await readSite(folders.site), path, bytes)
  const { faults } = await readWholeSite(folders.site, files, runSql)
  const known = new Set(site.state().faults.map(faultText))
  return faults.filter((fault) => fault.file === path || !known.has(faultText(fault)))
}

/** The site with other bytes in one of its files. */
function edited(files: SiteFiles, path: string, bytes: Uint8Array): SiteFiles {
  const { document, faults } = interpret(path, bytes)
  const documents = new Map(files.documents)
  documents.delete(path)
  if (document) documents.set(path, document)
  const others = files.faults.filter((fault) => fault.file !== path)
  return { ...files, documents, faults: [...others, ...faults] }
}
