/** Versions of what files hold, numbered along one branch of their repository. */
import { createHash } from 'node:crypto'
import type { FileRevision, Repository } from './repository.ts'

/** What a file of a commit held: an id, and a fingerprint that is another for another version; null for nothing. */
type Held = { readonly id: string; readonly fingerprint: string } | null

/** The history of one thing on one branch. */
export interface GitVersions {
  /** Versions, oldest first; each begins with the commit that changed the fingerprint. */
  readonly versions: readonly NumberedRevision[]
  /** Every commit that changed the file, oldest first, with the number of its version. */
  readonly changes: readonly NumberedRevision[]
  /** The version number of the thing as read; null while it is not committed. */
  readonly number: number | null
  /** The last commit of the file, when its bytes are as committed. */
  readonly commit?: string
}

export interface NumberedRevision extends FileRevision {
  readonly number: number
}

/** The number of blobs held in memory at once. */
const batch = 500

/** The versions of things in the files of a folder. */
export class NumberedVersions {
  readonly #folder: string
  readonly #heldIn: (file: string, bytes: Uint8Array) => Held
  /** By blob and path, as the same bytes are another thing in another file. A blob's name stands for its bytes: no entry becomes outdated. */
  readonly #held = new Map<string, Held>()

  /** `heldIn` says what a file of any commit held. */
  constructor(folder: string, heldIn: (file: string, bytes: Uint8Array) => Held) {
    this.#folder = folder
    this.#heldIn = heldIn
  }

  /**
   * Numbers the versions of things along the first parents of a commit, by their ids: the same commit gives the same
   * numbers on every machine. A thing keeps its versions when its file is moved, because they belong to its id.
   */
  async of(
    repository: Repository,
    ref: string,
    things: readonly (NonNullable<Held> & { readonly file: string; readonly bytes: Uint8Array })[],
  ): Promise<ReadonlyMap<string, GitVersions>> {
    const revisions = await repository.revisions(ref, [this.#folder])
    await this.#learn(repository, revisions)
    const changes = new Map<string, NumberedRevision[]>()
    const last = new Map<string, string>()
    for (const revision of revisions.toReversed()) {
      const known = this.#held.get(placeOf(revision))
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
      things.map(({ id, fingerprint, file, bytes }): [string, GitVersions] => {
        const of = changes.get(id) ?? []
        const versions = of.filter(({ number }, index) => number !== of[index - 1]?.number)
        const head = newest.get(file)
        const isCommitted = head && head.object === blobName(bytes, head.object.length)
        const number = last.get(id) === fingerprint ? versions.length : null
        return [id, { versions, changes: of, number, ...(isCommitted && { commit: head.commit }) }]
      }),
    )
  }

  async #learn(repository: Repository, revisions: readonly FileRevision[]): Promise<void> {
    const unknown = revisions.filter((revision) => !this.#held.has(placeOf(revision)))
    for (let at = 0; at < unknown.length; at += batch) {
      const portion = unknown.slice(at, at + batch)
      const contents = await repository.objects([...new Set(portion.map(({ object }) => object))])
      for (const revision of portion) {
        const place = placeOf(revision)
        if (!this.#held.has(place))
          this.#held.set(place, this.#heldIn(revision.path, contents.get(revision.object)!))
      }
    }
  }
}

function placeOf({ object, path }: FileRevision): string {
  return `${object} ${path}`
}

/** Returns git's object name of bytes, in repositories of either hash. */
function blobName(bytes: Uint8Array, length: number): string {
  const hash = createHash(length === 64 ? 'sha256' : 'sha1')
  return hash.update(`blob ${bytes.length}\0`).update(bytes).digest('hex')
}
