import { existsSync } from 'node:fs'
import { type Folders, namedSecrets, secretsIn } from '#leaf/secret-files.ts'
import type { Fault } from '#site/site-files.ts'
import { type OwnTools, withOwnTools } from '../tools/own/own-tools.ts'
import type { SiteReading } from './snapshot.ts'

type Reading = Pick<SiteReading<unknown>, 'own' | 'settings' | 'platform' | 'files'>

/** Returns the secrets of own tools and their databases that are missing on this machine. */
export function missingSecrets({ own, settings }: Reading, folders: Folders): readonly Fault[] {
  const pathOf = secretsIn(settings, folders)
  return [...own.documents.values(), own.sourcesDocument].flatMap((document) =>
    namedSecrets(document?.data)
      .filter(({ name }) => !existsSync(pathOf(name)))
      .map(({ path, name }) => document!.fault(path, `there is no ${pathOf(name)} on this machine`)),
  )
}

/** Tries a site's own tools from here and returns those that do not work, or not as they seem; modules were tried when read. */
export function troublesOf(
  { own, settings, platform, files }: Reading,
  folders: Folders,
): Promise<{ readonly troubles: readonly Fault[]; readonly remarks: OwnTools['remarks'] }> {
  return withOwnTools(async (ownTools) => {
    ownTools.nameSecrets(secretsIn(settings, folders))
    await ownTools.tables.open({ files, platform, sources: own.sources })
    await ownTools.open({ ...own, modules: [] })
    await ownTools.retry()
    return { troubles: ownTools.troubles.map(({ fault }) => fault), remarks: ownTools.remarks }
  })
}
