import { createHash } from 'node:crypto'
import type { Repository } from '../site/git.ts'
import type { SiteFiles } from '../site/site-files.ts'
import type { AskAuthors, Authorship } from './versions.ts'

/** Few enough files to ask git for each; more are found in one walk through the log. */
const askedSingly = 8

/**
 * Asks git who wrote templates as they were read: those whose bytes are the committed ones at `ref`. What
 * was changed since, or never committed, has no author yet.
 */
export function authorsAt(repository: Repository, files: SiteFiles, ref: string): AskAuthors {
  return async (templates) => {
    const tree = await repository.treeAt(ref, ['prompts'])
    const objects = new Map((tree ?? []).map((file) => [file.path, file.object]))
    const committed = templates.filter(({ file }) => {
      const bytes = files.documents.get(file)?.bytes
      const object = objects.get(file)
      return bytes !== undefined && object !== undefined && object === blobName(bytes, object.length)
    })
    if (committed.length === 0) return new Map()
    const found = new Map<string, Authorship>()
    // `history` begins at HEAD, whatever the revision.
    const singly = committed.length <= askedSingly && ref === 'HEAD'
    const last = singly ? undefined : await repository.lastCommits(ref, ['prompts'])
    for (const { id, file } of committed) {
      const commit = last ? last.get(file) : (await repository.history(file, 1))[0]
      if (commit) found.set(id, { author: commit.authorEmail, time: commit.time, commit: commit.commit })
    }
    return found
  }
}

/** The name that git gives to bytes, in repositories of either hash. */
function blobName(bytes: Uint8Array, length: number): string {
  const hash = createHash(length === 64 ? 'sha256' : 'sha1')
  return hash.update(`blob ${bytes.length}\0`).update(bytes).digest('hex')
}
