import { createHash } from 'node:crypto'
import type { FileRevision, Repository } from '../site/git.ts'
import { parseSource } from '../site/parse-source.ts'
import { readTemplate, type ReadTemplate } from './template-file.ts'
import type { Ancestry, AskGit, Authorship } from './versions.ts'

/** How many commits of one file are looked at. */
const mostRevisions = 50

/**
 * Asks git how templates came to be what they are at `ref`: who wrote each state of their files since a
 * commit that is known already. What was changed since the last commit, or never committed, has no author yet.
 */
export function ancestryAt(repository: Repository, ref: string): AskGit {
  return async (templates, knownCommit) => {
    const tree = await repository.treeAt(ref, ['prompts'])
    const objects = new Map((tree ?? []).map((file) => [file.path, file.object]))
    const committed = templates.filter(({ template }) => objects.has(template.file))
    if (committed.length === 0) return new Map()
    const revisions = await repository.revisions(ref, ['prompts'], mostRevisions)
    const steps = committed.map((read) => {
      const { id, file } = read.template
      const newest = objects.get(file)!
      const isCurrent = newest === blobName(read.document.bytes, newest.length)
      const all = revisions.get(file) ?? []
      const since = all.slice(0, lengthSince(all, knownCommit(id)))
      return { read, older: isCurrent ? since.slice(1) : since, current: isCurrent ? all[0] : undefined }
    })
    const names = new Set(steps.flatMap(({ older }) => older.map(({ object }) => object)))
    const contents = await repository.objects([...names])
    return new Map(
      steps.map(({ read, older, current }): [string, Ancestry] => [
        read.template.id,
        {
          older: older.reverse().flatMap((revision) => stateOf(read, revision, contents)),
          ...(current && { current: authorOf(current) }),
        },
      ]),
    )
  }
}

/** How many came after a known commit; of a history that no longer has it, only the newest counts. */
function lengthSince(newestFirst: readonly FileRevision[], known: string | undefined): number {
  if (known === undefined) return newestFirst.length
  const at = newestFirst.findIndex(({ commit }) => commit === known)
  return at < 0 ? 1 : at
}

/** An older state of a template, unless it was not a good template, or another one, at that time. */
function stateOf(
  { template }: ReadTemplate,
  revision: FileRevision,
  contents: ReadonlyMap<string, Uint8Array>,
): { read: ReadTemplate; authorship: Authorship }[] {
  const bytes = contents.get(revision.object)
  const document = bytes && parseSource(template.file, bytes).document
  const read = document && readTemplate(document, [])
  return read?.template.id === template.id ? [{ read, authorship: authorOf(revision) }] : []
}

function authorOf({ authorEmail, time, commit }: FileRevision): Authorship {
  return { author: authorEmail, time, commit }
}

/** The name that git gives to bytes, in repositories of either hash. */
function blobName(bytes: Uint8Array, length: number): string {
  const hash = createHash(length === 64 ? 'sha256' : 'sha1')
  return hash.update(`blob ${bytes.length}\0`).update(bytes).digest('hex')
}
