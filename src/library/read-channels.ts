/** The libraries of channels: the site's, read from branches, tags and commits. */
import { messageOf } from '../core/errors.ts'
import type { Repository } from '../site/git.ts'
import { readSiteAt } from '../site/read-site-at.ts'
import type { Fault, SiteFiles } from '../site/site-files.ts'
import { defaultChannel } from './channels.ts'
import type { LibraryReading, Surroundings, TemplateCache } from './check-library.ts'
import { readLibrary } from './read-library.ts'

/** One line of a reading: the working tree, or a channel's branch as it was at a commit. */
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
    const setting = (message: string): Fault => settingFault(files, role, message)
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

/** The same of one channel. */
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
  const commit = await repository.resolve(ref)
  if (commit === undefined) {
    faults.push(setting(`there is no branch, tag or commit "${ref}" in the site's git repository`))
    return undefined
  }
  try {
    const files = await readSiteAt(folder, commit)
    const found: Fault[] = files.faults.filter(({ file }) => /^(prompts|skills)\//.test(file))
    // The warnings of a branch are its own authors' business.
    const reading = readLibrary(files, found, [], around)
    faults.push(...found.map((fault) => ({ ...fault, file: `${ref}:${fault.file}` })))
    return { line: role, ref, commit, files, reading }
  } catch (error) {
    faults.push(setting(messageOf(error)))
    return undefined
  }
}

/** A fault of the setting that makes a channel. */
export function settingFault(files: SiteFiles, role: string, message: string): Fault {
  const file = 'config/settings.yaml'
  return (
    files.documents.get(file)?.fault(['library', 'channels', role], message) ?? {
      file,
      line: 1,
      column: 1,
      path: `library.channels.${role}`,
      message,
    }
  )
}
