import { faultText } from '#site/site-files.ts'
import type { Folders } from '#leaf/secret-files.ts'
import { unfinishedCheckout } from '#site/git.ts'
import { readSiteAt } from '#site/reading.ts'
import { siteFaults } from '#site/site.ts'
import { withSql } from './check-sql.ts'
import { checksSeeds, trySeeds } from './seeding.ts'
import { missingSecrets, troublesOf } from './own-troubles.ts'
import { comingSite } from './pulling.ts'
import { readWholeSite } from './snapshot.ts'

/** Reads everything as the daemon would and, if wanted, tries what the site's own tools need; throws all faults at once. */
export async function checkSite(folders: Folders, tries: boolean) {
  const { site } = folders
  const source = await comingSite(folders)
  if (source) {
    const warnings = [`the site is cloned from ${source.url} when the service starts`]
    return { site, users: 0, doctypes: 0, prompts: 0, skills: 0, warnings }
  }
  // The daemon finishes this checkout before it reads the site.
  const commit = await unfinishedCheckout(site)
  const files = commit === undefined ? undefined : await readSiteAt(site, commit)
  const { reading, faults, warnings } = await withSql(folders, (means) =>
    readWholeSite(site, files, { ...means, ...checksSeeds }),
  )
  if (faults.length > 0) throw siteFaults(site, faults)
  await trySeeds(reading)
  const { troubles, remarks } = tries ? await troublesOf(reading, folders) : { troubles: [], remarks: [] }
  if (troubles.length > 0) throw siteFaults(site, troubles)
  warnings.push(...remarks, ...missingSecrets(reading, folders))
  const { people, platform, library } = reading
  return {
    site,
    users: people.users.size,
    doctypes: platform.doctypes.size,
    prompts: library.templates.size,
    skills: library.skills.size,
    warnings: warnings.map(faultText),
  }
}
