import { createHash } from 'node:crypto'
import type { FileRevision, Repository } from '#site/git.ts'
import { parseSource } from '#site/reading.ts'
import { readTemplate, type ReadTemplate } from '../prompts/template-file.ts'
import { noVersion, type PromptVersion, type VersionLine } from './versions.ts'

/** The template that a file of a commit was; null when it was no valid one. */
type BlobMeaning = { readonly id: string; readonly fingerprint: string } | null

/** A cache of what blobs meant in a file; a blob's name stands for its bytes, so no entry becomes outdated. */
export type BlobMemory = Map<string, BlobMeaning>

/** The history of a template on one branch. */
export interface GitVersions {
  /** Versions, oldest first; each begins with the commit that changed what specification §9.5 counts. */
  readonly versions: readonly NumberedRevision[]
  /** Every commit that changed the file, oldest first, with the number of its version. */
  readonly changes: readonly NumberedRevision[]
  /** The version number of the template as read; null while it is not committed. */
  readonly number: number | null
  /** The last commit of the file, when its bytes are as committed. */
  readonly commit?: string
}

interface NumberedRevision extends FileRevision {
  readonly number: number
}

/** The templates of one branch that git numbers, by prompt_id. */
export type GitLine = ReadonlyMap<string, GitVersions>

/** The number of blobs held in memory at once. */
const batch = 500

/**
 * Numbers the versions of templates along the first parents of a commit: the same commit gives the same numbers
 * on every machine. A template keeps its versions when its file is moved, because they belong to its id.
 */
export async function gitVersions(
  repository: Repository,
  ref: string,
  templates: readonly ReadTemplate[],
  memory: BlobMemory,
): Promise<GitLine> {
  const revisions = await repository.revisions(ref, ['prompts'])
  await learn(repository, revisions, memory)
  const changes = new Map<string, NumberedRevision[]>()
  const last = new Map<string, string>()
  for (const revision of revisions.toReversed()) {
    const known = memory.get(placeOf(revision))
    if (!known) continue
    const of = changes.get(known.id) ?? []
    const isNew = last.get(known.id) !== known.fingerprint
    of.push({ ...revision, number: (of.at(-1)?.number ?? 0) + (isNew ? 1 : 0) })
    changes.set(known.id, of)
    last.set(known.id, known.fingerprint)
  }
  const newest = new Map<string, FileRevision>()
  for (const revision of revisions) if (!newest.has(revision.path)) newest.set(revision.path, revision)
  return new Map(
    templates.map((read): [string, GitVersions] => {
      const { id, file } = read.template
      const of = changes.get(id) ?? []
      const versions = of.filter(({ number }, index) => number !== of[index - 1]?.number)
      const head = newest.get(file)
      const isCommitted = head && head.object === blobName(read.document.bytes, head.object.length)
      return [
        id,
        {
          versions,
          changes: of,
          number: last.get(id) === read.fingerprint ? versions.length : null,
          ...(isCommitted && { commit: head.commit }),
        },
      ]
    }),
  )
}

/** Returns a line that takes the versions of templates from git where it has them, and from the state otherwise. */
export function versionLine(
  held: GitLine,
  repository: Repository | undefined,
  kept: VersionLine,
): VersionLine {
  return {
    history: (id, limit) => {
      const found = held.get(id)
      if (!found) return kept.history(id, limit)
      return withSources(repository!, id, found.versions.toReversed().slice(0, limit))
    },
    changes: (id, limit) => {
      const found = held.get(id)
      if (!found) return kept.changes(id, limit)
      return withSources(repository!, id, found.changes.toReversed().slice(0, limit))
    },
    version: async (id, number) => {
      const found = held.get(id)
      if (!found) return kept.version(id, number)
      const version = found.versions[number - 1]
      if (!version) throw noVersion(id, number)
      return (await withSources(repository!, id, [version]))[0]!
    },
  }
}

/** Adds the text of their files to versions of a template, in the order given. */
async function withSources(
  repository: Repository,
  prompt: string,
  versions: readonly NumberedRevision[],
): Promise<PromptVersion[]> {
  const contents = await repository.objects(versions.map(({ object }) => object))
  return versions.map(({ number, authorEmail, time, commit, subject, path, object }) => ({
    prompt,
    number,
    author: authorEmail,
    time,
    commit,
    subject,
    file: path,
    source: new TextDecoder().decode(contents.get(object)),
  }))
}

async function learn(
  repository: Repository,
  revisions: readonly FileRevision[],
  memory: BlobMemory,
): Promise<void> {
  const unknown = revisions.filter((revision) => !memory.has(placeOf(revision)))
  for (let at = 0; at < unknown.length; at += batch) {
    const portion = unknown.slice(at, at + batch)
    const contents = await repository.objects([...new Set(portion.map(({ object }) => object))])
    for (const revision of portion) {
      const place = placeOf(revision)
      if (!memory.has(place)) memory.set(place, meaningOf(revision.path, contents.get(revision.object)!))
    }
  }
}

/** Keys the cache by blob and path: the same bytes are another template in another file. */
function placeOf({ object, path }: FileRevision): string {
  return `${object} ${path}`
}

function meaningOf(path: string, bytes: Uint8Array): BlobMeaning {
  const { document } = parseSource(path, bytes)
  const read = document && readTemplate(document, [])
  return read ? { id: read.template.id, fingerprint: read.fingerprint } : null
}

/** Returns git's object name of bytes, in repositories of either hash. */
function blobName(bytes: Uint8Array, length: number): string {
  const hash = createHash(length === 64 ? 'sha256' : 'sha1')
  return hash.update(`blob ${bytes.length}\0`).update(bytes).digest('hex')
}
