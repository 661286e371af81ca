/**
 * One reading of the site as the program uses it: every part read and checked together, so that all
 * faults are told at once, then bound to the state. A request keeps the snapshot it started with.
 */
import { setImmediate } from 'node:timers/promises'
import { linesOf, type Settings } from '../core/settings.ts'
import type { Tracer } from '../core/trace-context.ts'
import { packageFolder, version } from '../core/version.ts'
import type { Documents } from '../documents/documents.ts'
import { clientLimitOf } from '../documents/client-limits.ts'
import type { DocumentMemory } from '../documents/memory.ts'
import type { Platform } from '../documents/platform.ts'
import { brokenDoctypeFile } from '../documents/doctype-reading.ts'
import { readPlatform } from '../documents/read-platform.ts'
import { noSql, type RunSql } from '../documents/run-sql.ts'
import { readSeeds } from '../documents/seeds.ts'
import type { Seed } from '../documents/seed-schema.ts'
import type { LibraryReading, Surroundings } from '../library/check-library.ts'
import type { Librarian, ReadLines } from '../library/librarian.ts'
import { readChannels } from '../library/read-channels.ts'
import { doctypeOfDoctypes } from '../library/words.ts'
import { categoriesFile, readLibrary } from '../library/read-library.ts'
import { causesFirst } from '../site/causes.ts'
import type { Channels } from '../library/channels.ts'
import type { Library } from '../library/library.ts'
import { checkMaskedFields, checkReportSql, checkToolSql } from './check-sql.ts'
import { linkTargets } from './links.ts'
import { checkGuidance, readersOf } from './readers.ts'
import { currentPrincipal } from '../oauth/bearer.ts'
import { readLogo } from '../site/company-logo.ts'
import { openRepository } from '../site/git.ts'
import { readSite } from '../site/read-site.ts'
import { checkNames } from '../site/check-document.ts'
import { readSettings, settingsFile } from '../site/read-settings.ts'
import type { Built } from '../site/kept-site.ts'
import type { Fault, SiteFiles } from '../site/site-files.ts'
import type { Audit } from '../audit/audit.ts'
import type { Clock } from '../core/clock.ts'
import type { Log } from '../core/log.ts'
import type { Principal } from '../core/principal.ts'
import type { Store } from '../store/store.ts'
import type { Calls } from '../tools/calls.ts'
import type { Catalogue } from '../tools/catalogue.ts'
import { createCatalogue } from '../tools/create-catalogue.ts'
import { builtInTools } from '../tools/index.ts'
import { optionalTools } from '../tools/optional-tools.ts'
import type { OwnTools } from '../tools/own/own-tools.ts'
import { type OwnDefinitions, readOwnTools } from '../tools/own/read-own-tools.ts'
import { checkClientTools, readToolSettings, type ToolSettings } from '../tools/read-tools.ts'
import type { Tool } from '../tools/tool.ts'
import type { People } from '../users/people.ts'
import { readPeople, rolesFile } from '../users/read-people.ts'

/** Everything that one reading of the site gives, immutable. */
export interface Snapshot {
  readonly settings: Settings
  /** The company's logo, when it has one. */
  readonly logo: Uint8Array | undefined
  readonly people: People
  readonly platform: Platform
  readonly seeds: readonly Seed[]
  readonly documents: Documents
  readonly library: Channels
  readonly catalogue: Catalogue
  readonly tools: readonly Tool[]
  readonly toolSettings: ToolSettings
  readonly digest: string
  /** The same with the library that this principal sees: what a request of theirs works with to its end. */
  for(principal: Principal): ServedSnapshot
}

/** A snapshot as requests of one principal use it. */
export interface ServedSnapshot extends Pick<Snapshot, 'settings' | 'catalogue' | 'digest'> {
  readonly library: Library
}

/** What the site says, checked, before it is bound to any state. */
export interface SiteReading<Library> {
  readonly settings: Settings
  readonly logo: Uint8Array | undefined
  readonly people: People
  readonly platform: Platform
  readonly seeds: readonly Seed[]
  readonly tools: readonly Tool[]
  readonly own: OwnDefinitions
  readonly toolSettings: ToolSettings
  readonly library: Library
}

/** How the library is read: with the state's memory of earlier readings, or without any. */
export type ReadLibrary<Library> = (
  files: SiteFiles,
  faults: Fault[],
  warnings: Fault[],
  source: Surroundings,
) => Library | Promise<Library>

/** Reads every part of the site; requests are let in between. With faults, the reading must not be used. */
export async function readParts<Library>(
  files: SiteFiles,
  builtIns: SiteFiles,
  tools: readonly Tool[],
  readLibrary: ReadLibrary<Library>,
  runSql: RunSql,
): Promise<{ reading: SiteReading<Library>; faults: Fault[]; warnings: Fault[] }> {
  const faults: Fault[] = [...files.faults]
  const warnings: Fault[] = []
  const settings = readSettings(files, faults, warnings)
  const logo = readLogo(files, settings, faults)
  const people = readPeople(files, faults)
  const settingsSource = files.documents.get(settingsFile)
  const strict = linesOf(settings.login.second_factor_roles)
  if (settingsSource)
    checkNames(settingsSource, ['login', 'second_factor_roles'], 'role', strict, people.roles, faults)
  const platform = readPlatform(files, faults, people, warnings)
  await setImmediate()
  const seeds = readSeeds(files, faults, platform)
  const own = await readOwnTools(
    files,
    faults,
    people,
    tools.map(({ name }) => name),
  )
  const names = [...tools.map((tool) => tool.name), ...own.names]
  const toolSettings = readToolSettings(files, faults, { names, people })
  checkClientTools(files, faults, platform.clientLimits, names)
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
    await checkToolSql(files, own, { faults, warnings })
  }
  const reading = { settings, logo, people, platform, seeds, tools, own, toolSettings, library }
  return { reading, faults: causesFirst(faults, givenIn), warnings }

  /** The file where a name would stand, when that file is the one that is broken. */
  function givenIn(noun: string, name: string): string | undefined {
    if (noun === 'doctype') return brokenDoctypeFile(name, faults, files, platform.doctypes)
    // What a module would have given is not known before it runs.
    if (noun === 'tool') return faults.find((fault) => fault.file.startsWith('tools/'))?.file
    const file = placeOfNames[noun]
    return faults.some((fault) => fault.file === file && fault.path === '') ? file : undefined
  }
}

/** Where the names of a noun stand when they do not have a file each. */
const placeOfNames: Readonly<Record<string, string>> = {
  role: rolesFile,
  category: categoriesFile,
  source: 'config/sources.yaml',
}

/** The package's own prompts and skills. */
export function readBuiltIns(): Promise<SiteFiles> {
  return readSite(packageFolder, { folders: ['prompts', 'skills'] })
}

/** Reads a site as the daemon would, bound to no state: for checks and previews. Without `runSql` no statement is tried. */
export async function readWholeSite(
  site: string,
  files?: SiteFiles,
  runSql = noSql,
): Promise<{ reading: SiteReading<LibraryReading>; faults: Fault[]; warnings: Fault[] }> {
  // Files that are given are of another commit, whose channels nobody serves.
  const read = files ? readLibrary : readLibraryWithChannels
  const own = files ?? (await readSite(site))
  const builtIns = own.folder === packageFolder ? own : await readBuiltIns()
  return readParts(own, builtIns, builtInTools, read, runSql)
}

/** What is wrong with a site that is not in use yet, as the daemon would find it. */
export async function faultsOf(
  files: SiteFiles,
  { builtIns, tools, runSql }: Pick<SnapshotParts, 'builtIns' | 'tools' | 'runSql'>,
): Promise<readonly Fault[]> {
  return (await readParts(files, builtIns, tools, readLibraryWithChannels, runSql)).faults
}

async function readLibraryWithChannels(
  files: SiteFiles,
  faults: Fault[],
  warnings: Fault[],
  source: Surroundings,
): Promise<LibraryReading> {
  const reading = readLibrary(files, faults, warnings, source)
  if (Object.keys(source.channels).length > 0)
    await readChannels(files, faults, source, await openRepository(files.folder), () => ({
      files: new Map(),
    }))
  return reading
}

/** What a snapshot is bound to. */
export interface SnapshotParts {
  readonly store: Store
  readonly audit: Audit
  readonly clock: Clock
  readonly log: Log
  readonly calls: Calls
  readonly librarian: Librarian
  readonly memory: DocumentMemory
  readonly runSql: RunSql
  readonly ownTools: OwnTools
  readonly builtIns: SiteFiles
  readonly tools: readonly Tool[]
  readonly tracing?: Tracer | undefined
}

/** A principal as it would be made by now; undefined once the user may not use the service. */
export type Refresher = (principal: Principal) => Principal | undefined

/** Makes principals anew from whatever snapshot is in use when it is asked. */
export function refresherOf(current: () => Snapshot): Refresher {
  const people = (): People => current().people
  const clientLimits = (id: string): ReturnType<typeof clientLimitOf> => clientLimitOf(current().platform, id)
  return (principal) => currentPrincipal({ people, clientLimits }, principal)
}

/** Offered only where the site wants them: clients that show resources do not need them. */
const skillTools = new Set(['list_skills', 'read_skill'])

/** An upstream server cannot take the name of a tool that is there already. */
function withoutDoubles(tools: readonly Tool[]): readonly Tool[] {
  return [...new Map([...tools].reverse().map((tool) => [tool.name, tool])).values()].reverse()
}

/** Makes a snapshot of the site's files: the `build` of a live site; `current` tells the newest. */
export async function buildSnapshot(
  files: SiteFiles,
  parts: SnapshotParts,
  current: () => Snapshot,
): Promise<Built<Snapshot>> {
  const { reading, faults, warnings } = await readParts<ReadLines>(
    files,
    parts.builtIns,
    parts.tools,
    (...source) => parts.librarian.read(...source),
    parts.runSql,
  )
  if (faults.length > 0) return { faults, warnings }
  const { settings, logo, people, platform, seeds, toolSettings } = reading
  const tools = withoutDoubles([...reading.tools, ...(await parts.ownTools.open(reading.own))])
  const { store, audit, clock, memory, runSql } = parts
  const documents = { platform, store, audit, clock, memory, runSql }
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
  const { digest } = files
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
    digest,
    for: (principal) => ({ settings, catalogue, digest, library: library.for(principal) }),
  }
  return { snapshot, faults, warnings }
}
