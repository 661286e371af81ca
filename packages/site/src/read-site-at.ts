import { posix, resolve } from 'node:path'
import { AppError } from '#leaf/errors.ts'
import { openRepository, type Repository, type TreeFile } from './repository.ts'
import { isIgnoredName, siteFolders } from './list-site.ts'
import { digestLine, interpret, isParsed, siteFilesOf, siteLimits } from './read-site.ts'
import { fileFault, type Fault, type SiteFiles } from './site-files.ts'

/**
 * Reads the site at a branch, tag or commit, straight from git's objects: the working tree is
 * neither read nor changed. AppError `unavailable` without a repository, `not_found` without the revision.
 */
export async function readSiteAt(site: string, ref: string): Promise<SiteFiles> {
  const folder = resolve(site)
  const repository = await openRepository(folder)
  if (!repository) throw new AppError('unavailable', 'the site is not in a git repository')
  const tree = await repository.treeAt(ref, siteFolders)
  if (!tree) throw new AppError('not_found', `there is no revision "${ref}" in the site's git repository`)

  const faults: Fault[] = []
  const visible = tree.filter((file) => !file.path.split('/').some(isIgnoredName))
  const files = (await followLinks(repository, visible, faults)).filter((file) => {
    const most = isParsed(file.path) ? siteLimits.documentBytes : siteLimits.assetBytes
    if (file.size > most) faults.push(fileFault(file.path, `has ${file.size} bytes; the most is ${most}`))
    return file.size <= most
  })
  const total = files.reduce((sum, file) => sum + file.size, 0)
  if (files.length > siteLimits.files || total > siteLimits.totalBytes) {
    faults.push(fileFault('.', `the site has ${files.length} files and ${total} bytes, which is too much`))
    return siteFilesOf(folder, new Map(), faults)
  }

  const contents = await repository.objects([...new Set(files.map((file) => file.object))])
  files.sort((a, b) => (a.path < b.path ? -1 : 1))
  const read = files.map(({ path, object }) => {
    // The bytes are copied, so that one kept file does not keep git's whole answer.
    const bytes = Uint8Array.from(contents.get(object) ?? [])
    return [path, { bytes, line: digestLine(path, bytes), ...interpret(path, bytes) }] as const
  })
  return siteFilesOf(folder, new Map(read), faults)
}

/** Replaces every link by the files that it names, under the same rule as on disk. */
async function followLinks(
  repository: Repository,
  tree: readonly TreeFile[],
  faults: Fault[],
): Promise<TreeFile[]> {
  const links = tree.filter((file) => file.isLink)
  const files = tree.filter((file) => !file.isLink)
  if (links.length === 0) return files
  const targets = await repository.objects(links.map((link) => link.object))
  const byPath = new Map(files.map((file) => [file.path, file]))
  const found = [...files]
  for (const link of links) {
    const text = Buffer.from(targets.get(link.object) ?? []).toString('utf8')
    const target = posix.normalize(posix.join(posix.dirname(link.path), text))
    const below = `${target}/`
    const inside = !posix.isAbsolute(text) && siteFolders.some((name) => target.startsWith(`${name}/`))
    const file = byPath.get(target)
    if (siteFolders.includes(link.path)) {
      faults.push(fileFault(link.path, 'must be a folder of the site itself'))
      continue
    }
    const named = file
      ? [{ ...file, path: link.path }]
      : files
          .filter((entry) => entry.path.startsWith(below))
          .map((entry) => ({ ...entry, path: `${link.path}/${entry.path.slice(below.length)}` }))
    if (!inside) faults.push(fileFault(link.path, `is a link to a place outside ${siteFolders.join(', ')}`))
    else if (named.length === 0) faults.push(fileFault(link.path, 'is a link to nothing'))
    else found.push(...named)
  }
  return found
}
