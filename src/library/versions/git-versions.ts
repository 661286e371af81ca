import { type GitVersions, type NumberedRevision, NumberedVersions, type Repository } from '#site/git.ts'
import { parseSource } from '#site/reading.ts'
import { readTemplate, type ReadTemplate } from '../prompts/template-file.ts'
import { noVersion, type PromptVersion, type VersionLine } from './versions.ts'

/** The templates of one branch that git numbers, by prompt_id. */
export type GitLine = ReadonlyMap<string, GitVersions>

/** Makes what numbers the versions of templates; each begins with a change that specification §9.5 counts. */
export function promptNumbers(): NumberedVersions {
  return new NumberedVersions('prompts', (file, bytes) => {
    const { document } = parseSource(file, bytes)
    const read = document && readTemplate(document, [])
    return read ? thingOf(read) : null
  })
}

/** Returns a template as what its file holds. */
export function thingOf({ template: { id, file }, document: { bytes }, fingerprint }: ReadTemplate) {
  return { id, fingerprint, file, bytes }
}

/** Returns a line that takes the versions of templates from git where it has them, and from the state otherwise. */
export function versionLine(
  held: GitLine,
  repository: Repository | undefined,
  kept: VersionLine,
): VersionLine {
  const newest = (of: 'versions' | 'changes', id: string, limit: number) =>
    withSources(repository!, id, held.get(id)![of].toReversed().slice(0, limit))
  return {
    history: (id, limit) => (held.has(id) ? newest('versions', id, limit) : kept.history(id, limit)),
    changes: (id, limit) => (held.has(id) ? newest('changes', id, limit) : kept.changes(id, limit)),
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
