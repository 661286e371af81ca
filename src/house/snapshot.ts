/**
 * One reading of the site as the program uses it: every part read and checked together, so that all
 * faults are reported at once, then bound to the state. A request keeps the snapshot it started with.
 */
import { setImmediate } from 'node:timers/promises'
import { type Settings, settingsSchema } from '../core/settings.ts'
import { secretsIn } from '#leaf/secret-files.ts'
import type { Tracer } from '#telemetry/trace-context.ts'
import { packageFolder, version } from '../core/version.ts'
import { settling } from '../documents/writing/intentions.ts'
import type { Documents } from '../documents/documents.ts'
import { clientLimitOf } from '../documents/platform/client-limits.ts'
import type { DocumentMemory } from '../documents/memory.ts'
import type { Platform } from '../documents/platform/platform.ts'
import { clientsFile, clientsSchema } from '../documents/platform/read-client-limits.ts'
import { readPlatform } from '../documents/platform/read-platform.ts'
import { noSql } from '../documents/reports/run-sql.ts'
import type { PlacedSeed } from '../documents/platform/read-seeds.ts'
import type { LibraryReading, Surroundings } from '../library/check-library.ts'
import type { Librarian, ReadLines } from '../library/librarian.ts'
import { readChannels } from '../library/versions/read-channels.ts'
import { doctypeOfDoctypes } from '../library/words.ts'
import { readTested } from '../library/read-library.ts'
import { causesFirst, checkReferences } from '#site/checking.ts'
import type { Channels } from '../library/versions/channels.ts'
import type { Library } from '../library/library.ts'
import { checkMaskedFields, checkReportSql, type Means, noMeans } from './check-sql.ts'
import { type Seeding, seedsOf } from './seeding.ts'
import { brokenFileOf } from './broken-file.ts'
import { linkTargets } from './links.ts'
import { warnOfUnread } from './site-schemas.ts'
import { checkGuidance, readersOf } from './readers.ts'
import { currentPrincipal } from '../oauth/acting.ts'
import { readLogo } from '../settings/company-logo.ts'
import { openRepository, wasPulled } from '#site/git.ts'
import { readSite } from '#site/reading.ts'
import { readSettings, settingFault, settingsFile } from '../settings/read-settings.ts'
import type { Built, IsBorne } from '#site/site.ts'
import type { Fault, SiteFiles } from '#site/site-files.ts'
import type { Audit } from '#audit/audit.ts'
import type { Clock } from '#leaf/clock.ts'
import type { Log } from '#leaf/log.ts'
import type { Principal } from '../core/principal.ts'
import type { Store } from '#state/store.ts'
import type { Calls } from '../tools/gate/calls.ts'
import type { Catalogue } from '../tools/gate/catalogue.ts'
import { createCatalogue } from '../tools/gate/create-catalogue.ts'
import { builtInTools } from '../tools/index.ts'
import { optionalTools } from '../tools/gate/optional-tools.ts'
import { type OwnTools, withOwnTools } from '../tools/own/own-tools.ts'
import { type OwnDefinitions, readOwnTools } from '../tools/own/read-own-tools.ts'
import { withoutDoubles } from '../tools/own/upstream-tools.ts'
import { readToolSettings, toolNames, type ToolSettings, warnOfUnoffered } from '../tools/gate/read-tools.ts'
import type { Tool } from '../tools/tool.ts'
import type { People } from '../users/people.ts'
import { readPeople } from '../users/read-people.ts'

/** The result of one reading of the site, immutable. */
export interface Snapshot extends Omit<SiteReading<Channels>, 'files' | 'own'> {
  readonly documents: Documents
  readonly catalogue: Catalogue
  readonly digest: string
  /** Returns the same with the library that this principal sees: a request of theirs works with it to its end. */
  for(principal: Principal): ServedSnapshot
}

/** A snapshot as requests of one principal use it. */
export interface ServedSnapshot extends Pick<Snapshot, 'settings' | 'catalogue' | 'digest'> {
  readonly library: Library
}

/** The checked contents of a site, before they are bound to a state. */
export interface SiteReading<Library> {
  readonly files: SiteFiles
  readonly settings: Settings
  /** The company's logo, if it has one. */
  readonly logo: Uint8Array | undefined
  readonly people: People
  readonly platform: Platform
  /** The seeds of the site while the state is new; none later, as nobody needs them any more. */
  readonly seeds: readonly PlacedSeed[]
  readonly tools: readonly Tool[]
  readonly own: OwnDefinitions
  readonly toolSettings: ToolSettings
  readonly library: Library
}

/** Reads the library: with the state's memory of earlier readings, or without any. */
export type ReadLibrary<Library> = (
  files: SiteFiles,
  faults: Fault[],
  warnings: Fault[],
  source: Surroundings,
) => Library | Promise<Library>

/** Reads every part of the site, and lets requests in between. With faults, the reading must not be used. */
export async function readParts<Library>(
  files: SiteFiles,
  builtIns: SiteFiles,
  tools: readonly Tool[],
  readLibrary: ReadLibrary<Library>,
  { runSql, folders, ownTools, seeding }: Means & Seeding & { readonly ownTools: OwnTools },
): Promise<{ reading: SiteReading<Library>; faults: Fault[]; warnings: Fault[] }> {
  const faults: Fault[] = [...files.faults]
  const warnings: Fault[] = []
  const settings = readSettings(files, faults, warnings)
  const logo = readLogo(files, settings, faults)
  const people = readPeople(files, faults)
  const settingsSource = files.documents.get(settingsFile)
  const given = { path: [], value: settings }
  if (settingsSource) checkReferences(settingsSource, settingsSchema, { role: people.roles }, faults, given)
  warnOfUnread(files, warnings)
  const platform = readPlatform(files, faults, people, warnings)
  await setImmediate()
  const seeds = seedsOf(files, { faults, warnings }, platform, { seeding })
  const builtIn = tools.map(({ name }) => name)
  ownTools.nameSecrets(secretsIn(settings, folders))
  const own = await readOwnTools(files, { faults, warnings }, people, builtIn, (file) =>
    ownTools.module(files.folder, file, settings.tools.module_memory_mb),
  )
  const names = [...builtIn, ...own.names]
  const toolSettings = readToolSettings(files, faults, { names, people, warnings })
  warnOfUnoffered(own.places, toolSettings, warnings)
  const clients = files.documents.get(clientsFile)
  if (clients) checkReferences(clients, clientsSchema, { tool: toolNames(names) }, faults)
  const known = {
    toolNames: new Set([...names, ...optionalTools]),
    doctypeNames: new Set([...platform.doctypes.keys(), doctypeOfDoctypes]),
  }
  const readers = readersOf({ people, platform, own, toolSettings, tools })
  checkGuidance(files, warnings, known, readers)
  await setImmediate()
  const library = await readLibrary(files, faults, warnings, {
    people,
    ...(settings.library.built_ins && { builtIns }),
    ...known,
    readers,
    channels: settings.library.channels,
    packageVersion: version,
  })
  checkMaskedFields(files, { platform, own }, warnings)
  if (runSql !== noSql) {
    await checkReportSql(files, platform, runSql, { faults, warnings })
    await ownTools.checkStatements(own, faults, warnings)
    await ownTools.tables.check({ files, platform, sources: own.sources }, faults, warnings)
  }
  const reading = { files, settings, logo, people, platform, seeds, tools, own, toolSettings, library }
  const withheld = own.modules.flatMap(({ trouble }) => trouble ?? [])
  const broken = { files, faults: [...faults, ...withheld], platform }
  const isGivenIn = (noun: string, name: string) => brokenFileOf(noun, name, broken)
  return { reading, faults: causesFirst(faults, isGivenIn), warnings }
}

/** Reads the package's own prompts and skills. */
export function readBuiltIns(): Promise<SiteFiles> {
  return readSite(packageFolder, { folders: ['prompts', 'skills'] })
}

/** Reads a site as the daemon would, without a state: for checks and previews. */
export async function readWholeSite(
  site: string,
  files?: SiteFiles,
  means: Means & Seeding = noMeans,
): Promise<{ reading: SiteReading<LibraryReading>; faults: Fault[]; warnings: Fault[] }> {
  // Given files are of another commit, whose channels nobody serves.
  const read = files ? readTested : readLibraryWithChannels
  const own = files ?? (await readSite(site))
  const builtIns = own.folder === packageFolder ? own : await readBuiltIns()
  return withOwnTools((ownTools) => readParts(own, builtIns, builtInTools, read, { ...means, ownTools }))
}

/** Returns the faults of a site that is not in use yet, as the daemon would find them. */
export async function faultsOf(
  files: SiteFiles,
  { builtIns, tools, ...means }: Means & Seeding & Pick<SnapshotParts, 'builtIns' | 'tools'>,
): Promise<readonly Fault[]> {
  const { faults } = await withOwnTools((ownTools) =>
    readParts(files, builtIns, tools, readLibraryWithChannels, { ...means, ownTools }),
  )
  return faults
}

async function readLibraryWithChannels(
  files: SiteFiles,
  faults: Fault[],
  warnings: Fault[],
  source: Surroundings,
): Promise<LibraryReading> {
  const reading = await readTested(files, faults, warnings, source)
  if (Object.keys(source.channels).length > 0)
    await readChannels(files, faults, source, await openRepository(files.folder), () => ({
      files: new Map(),
    }))
  return reading
}

/** The parts that a snapshot is bound to. */
export interface SnapshotParts extends Means, Seeding {
  readonly store: Store
  readonly audit: Audit
  readonly clock: Clock
  readonly log: Log
  readonly calls: Calls
  readonly librarian: Librarian
  readonly memory: DocumentMemory
  readonly ownTools: OwnTools
  readonly builtIns: SiteFiles
  readonly tools: readonly Tool[]
  readonly tracing?: Tracer | undefined
}

/** Returns a principal as it would be made now; undefined once the user may not use the service. */
export type Refresher = (principal: Principal) => Principal | undefined

/** Returns a function that makes principals anew from the snapshot then in use. */
export function refresherOf(current: () => Snapshot): Refresher {
  const people = (): People => current().people
  const clientLimits = (id: string): ReturnType<typeof clientLimitOf> => clientLimitOf(current().platform, id)
  return (principal) => currentPrincipal({ people, clientLimits }, principal)
}

/** Tools offered only where the site wants them: clients that show resources do not need them. */
const skillTools = new Set(['list_skills', 'read_skill'])

const noLongerPulled =
  'this site was pulled from a repository, whose own settings name none: nothing is pulled any more'

/** Makes a snapshot of the site's files: the `build` of a live site. `current` is the newest; `isBorne` tells bearable faults. */
export async function buildSnapshot(
  files: SiteFiles,
  parts: SnapshotParts,
  current: () => Snapshot,
  isBorne: IsBorne,
): Promise<Built<Snapshot>> {
  const { reading, faults, warnings } = await readParts<ReadLines>(
    files,
    parts.builtIns,
    parts.tools,
    (...source) => parts.librarian.read(...source),
    parts,
  )
  if (!faults.every(isBorne)) {
    parts.ownTools.discard()
    return { faults, warnings }
  }
  const { settings, logo, people, platform, seeds, toolSettings } = reading
  if (settings.site.git.url === null && (await wasPulled(files.folder)))
    warnings.push(settingFault(files, ['site', 'git', 'url'], noLongerPulled))
  const tables = await parts.ownTools.tables.open({ files, platform, sources: reading.own.sources })
  const tools = withoutDoubles([...reading.tools, ...(await parts.ownTools.open(reading.own))])
  const { store, audit, clock, memory, runSql } = parts
  const quota = settings.documents
  const documents = { platform, store, audit, clock, memory, runSql, tables, quota, currency: quota.currency }
  parts.ownTools.tables.settleBy(settling(documents))
  const catalogue = createCatalogue({
    tools: settings.mcp.skill_tools ? tools : tools.filter(({ name }) => !skillTools.has(name)),
    settings: toolSettings,
    limits: settings.tools,
    maxResultBytes: settings.audit.max_result_bytes,
    documents,
    audit: parts.audit,
    clock: parts.clock,
    log: parts.log,
    calls: parts.calls,
    tracing: parts.tracing,
    current: refresherOf(current),
    newest: () => current().catalogue,
  })
  const library = await parts.librarian.open(reading.library, linkTargets(documents), (principal) =>
    catalogue.lacks(principal),
  )
  const snapshot: Snapshot = {
    settings,
    logo,
    people,
    platform,
    seeds,
    documents,
    library,
    catalogue,
    tools,
    toolSettings,
    digest: files.digest,
    for: (principal) => ({ settings, catalogue, digest: files.digest, library: library.for(principal) }),
  }
  return { snapshot, faults, warnings }
}
