import { brokenDoctypeFile } from '../documents/platform/doctype-reading.ts'
import type { Platform } from '../documents/platform/platform.ts'
import { categoriesFile } from '../library/read-library.ts'
import type { Fault, SiteFiles } from '#site/site-files.ts'
import { sourcesFile } from '../settings/sources.ts'
import { rolesFile } from '../users/read-people.ts'

/** The files that hold the names of a noun when these have no file each. */
const placeOfNames: Readonly<Record<string, string>> = {
  role: rolesFile,
  category: categoriesFile,
  source: sourcesFile,
}

/** Returns the file that would hold a name, when that file is the broken one. */
export function brokenFileOf(
  noun: string,
  name: string,
  read: { readonly files: SiteFiles; readonly faults: readonly Fault[]; readonly platform: Platform },
): string | undefined {
  const { files, faults, platform } = read
  if (noun === 'doctype') return brokenDoctypeFile(name, faults, files, platform.doctypes)
  // The tools that a module would have defined are not known before it runs.
  if (noun === 'tool') return faults.find((fault) => fault.file.startsWith('tools/'))?.file
  const file = placeOfNames[noun]
  return faults.some((fault) => fault.file === file && (fault.path === '' || noun === 'source'))
    ? file
    : undefined
}
