/** Reads the libraries of channels: the site's library at branches, tags and commits. */
import { messageOf } from '#leaf/errors.ts'
import type { Repository } from '#site/git.ts'
import { settingFault } from '../../settings/read-settings.ts'
import { readSiteAt } from '#site/reading.ts'
import type { Fault, SiteFiles } from '#site/site-files.ts'
import { defaultChannel } from './channels.ts'
import type { LibraryReading, Surroundings, TemplateCache } from '../check-library.ts'
import { readTested } from '../read-library.ts'

/** One line of a reading: the working tree, or a channel's branch at a commit. */
export interface ReadLine {
  readonly line: string
  /** The branch of a channel; `HEAD` for the working tree. */
  readonly ref: string
  readonly commit: string | undefined
  readonly files: SiteFiles
  readonly reading: LibraryReading
}

/** Reads and checks the library of every channel; a channel with a fault is left out. */
export async function readChannels(
  files: SiteFiles,
  faults: Fault[],
  around: Surroundings,
  repository: Repository | undefined,
  cacheOf: (line: string) => TemplateCache,
): Promise<ReadLine[]> {
  const lines: ReadLine[] = []
  for (const [role, ref] of Object.entries(around.channels)) {
    const setting = (message: string): Fault => settingFault(files, ['library', 'channels', role], message)
    if (role !== defaultChannel && !around.people.roles.has(role)) {
      faults.push(setting(`unknown role "${role}"; channels are named by roles, or "${defaultChannel}"`))
      continue
    }
    const cached = { ...around, cache: cacheOf(role) }
    const line = await readChannel(files.folder, role, ref, repository, cached, faults, setting)
    if (line) lines.push(line)
  }
  return lines
}

/** Reads and checks the library of one channel. */
export async function readChannel(
  folder: string,
  role: string,
  ref: string,
  repository: Repository | undefined,
  around: Surroundings,
  faults: Fault[],
  setting: (message: string) => Fault,
): Promise<ReadLine | undefined> {
  if (!repository) {
    faults.push(setting('channels need the site to be in a git repository'))
    return undefined
  }
  const commit = await commitOfChannel(repository, ref)
  if (commit === undefined) {
    faults.push(setting(`there is no branch, tag or commit "${ref}" in the site's git repository`))
    return undefined
  }
  try {
    const files = await readSiteAt(folder, commit)
    const found: Fault[] = files.faults.filter(({ file }) => /^(prompts|skills)\//.test(file))
    // Warnings of a branch are dropped, as they are the business of its own authors.
    const reading = await readTested(files, found, [], around)
    faults.push(...found.map((fault) => faultAt(ref, fault)))
    return { line: role, ref, commit, files, reading }
  } catch (error) {
    faults.push(setting(messageOf(error)))
    return undefined
  }
}

/**
 * Returns the commit of a channel. A branch has the same name wherever the site is read: the pulled branch comes
 * first, then the local branch, tag or commit, then the remote branch of a clone.
 */
export async function commitOfChannel(repository: Repository, ref: string): Promise<string | undefined> {
  const name = ref.replace(/^site\//, '')
  for (const known of [`refs/remotes/site/${name}`, ref, name, `refs/remotes/origin/${name}`]) {
    const commit = await repository.resolve(known)
    if (commit !== undefined) return commit
  }
  return undefined
}

/** Returns a fault with the branch before its file name. */
export function faultAt(ref: string, fault: Fault): Fault {
  return { ...fault, file: `${ref}:${fault.file}` }
}
