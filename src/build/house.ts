import { auditSettingsOf } from '../audit/settings.ts'
import type { Principal } from '../core/principal.ts'
import { version } from '../core/version.ts'
import { createDocumentMemory } from '../documents/memory.ts'
import { leaveReports } from '../documents/report-runs.ts'
import { noSql } from '../documents/run-sql.ts'
import { loadSeeds } from '../documents/seeds.ts'
import { followRefs } from '../library/follow-refs.ts'
import { Librarian } from '../library/librarian.ts'
import { Previews } from '../library/previews.ts'
import { promptMethods, type PromptMethods } from '../library/prompt-methods.ts'
import { PromptWriter } from '../library/writing.ts'
import type { ReloadResult, Site } from '../site/kept-site.ts'
import { openSite } from '../site/site.ts'
import { faultText } from '../site/site-files.ts'
import { analysisTools } from '../tools/analysis-tools.ts'
import { createCalls } from '../tools/calls.ts'
import { builtInTools } from '../tools/index.ts'
import { OwnTools } from '../tools/own/own-tools.ts'
import { searchAuditTool } from '../tools/search-audit.ts'
import { reportSql } from '../tools/report-sql.ts'
import type { Foundation, ServicesOptions, Undo } from './foundation.ts'
import { Pulling } from './pulling.ts'
import {
  buildSnapshot,
  faultsOf,
  readBuiltIns,
  refresherOf,
  type Snapshot,
  type SnapshotParts,
} from './snapshot.ts'

/** The live site over the state. */
export interface House {
  readonly site: Site<Snapshot>
  /** Where the site comes from, when it is pulled. */
  readonly pulling: Pulling
  /** Pulls the site, where it is pulled, and reads it again. */
  readonly reload: (reason: string) => Promise<ReloadResult>
  /** What the site says at the moment of asking. */
  readonly settings: () => Snapshot['settings']
  readonly people: () => Snapshot['people']
  readonly librarian: Librarian
  /** The prompt template methods of specification §4.7, by name. */
  readonly promptMethods: PromptMethods
  /** What writes templates and what renders unknown ones, for the methods and for pages. */
  readonly promptWriter: PromptWriter
  readonly previews: Previews
  /** A principal as it would be made now; undefined once the user may not use the service. */
  readonly refreshed: (principal: Principal) => Principal | undefined
  /** Whom to tell that people may see something else from now on. */
  readonly onChange: (listener: () => void) => void
}

/** Reads the site and keeps it current; a new state gets its first documents. AppError `invalid` with `data.faults` for a bad site. */
export async function openHouse(
  foundation: Foundation,
  options: ServicesOptions,
  undo: Undo,
): Promise<House> {
  const { clock, log, folders, audit } = foundation
  const listeners: (() => void)[] = []
  const changed = (): void => listeners.forEach((listener) => listener())
  const librarian = new Librarian(foundation)
  undo.push(() => librarian.close())
  const parts = await partsOf(foundation, librarian, undo)
  const site = await openSite<Snapshot>({
    folder: folders.site,
    build: (files, current) => buildSnapshot(files, parts, current),
    clock,
    log,
    watch: options.daemon ?? false,
    onSwap: (snapshot, result) => {
      obey(snapshot)
      changed()
      return tellReload(foundation, result)
    },
    onRejected: (result) => tellReload(foundation, result),
  })
  undo.push(() => site.close())
  const obey = ({ settings }: Snapshot): void => {
    if (!options.logLevel) log.setLevel(settings.log.level)
    audit.configure(auditSettingsOf(settings.audit))
  }
  obey(site.current())
  if (options.daemon) await followBranches(foundation, { site, librarian, changed }, undo)
  const pulling = new Pulling({
    folder: folders.site,
    clock,
    log,
    audit,
    settings: () => site.current().settings.site.git,
    check: (files) => faultsOf(files, parts),
    reload: (reason) => site.reload(reason),
  })
  undo.push(() => pulling.close())
  if (options.daemon) pulling.start()
  const { documents, seeds } = site.current()
  await loadSeeds(documents, seeds, () => foundation.log.info('the first documents are being made'))
  return {
    site,
    pulling,
    reload: async (reason) => {
      await pulling.pull()
      return await site.reload(reason)
    },
    settings: () => site.current().settings,
    people: () => site.current().people,
    librarian,
    ...promptDoors(foundation, { site, librarian, changed }, undo),
    refreshed: refresherOf(() => site.current()),
    onChange: (listener) => void listeners.push(listener),
  }
}

/** What every snapshot is bound to. */
async function partsOf(
  { clock, log, store, audit, tracing, analysis }: Foundation,
  librarian: Librarian,
  undo: Undo,
): Promise<SnapshotParts> {
  const ownTools = new OwnTools(log, version)
  undo.push(() => ownTools.close())
  const memory = createDocumentMemory()
  undo.push(() => leaveReports({ store, clock, memory }))
  return {
    store,
    audit,
    clock,
    log,
    calls: createCalls(),
    librarian,
    memory,
    runSql: analysis ? reportSql(analysis.sql) : noSql,
    ownTools,
    builtIns: await readBuiltIns(),
    tools: [
      ...builtInTools,
      searchAuditTool(audit, clock),
      ...(analysis ? analysisTools(analysis, clock) : []),
    ],
    tracing,
  }
}

function promptDoors(
  { folders, audit }: Foundation,
  live: LiveLibrary,
  undo: Undo,
): Pick<House, 'promptMethods' | 'promptWriter' | 'previews'> {
  const { site, librarian, changed } = live
  const previews = new Previews()
  undo.push(() => previews.close())
  const library = (): Snapshot['library'] => site.current().library
  const promptWriter = new PromptWriter({
    folder: folders.site,
    library,
    audit,
    commits: () => site.current().settings.git.commit,
    isPulled: () => site.current().settings.site.git.url !== null,
    reload: async () => {
      await site.reload('a prompt was written')
      if ((await librarian.refresh(library())).changed) changed()
    },
  })
  const { usage } = librarian
  const promptMethodsNow = promptMethods({ library, usage, writer: promptWriter, previews })
  return { promptMethods: promptMethodsNow, promptWriter, previews }
}

/** The library that is in use, and whom to tell that it changed. */
interface LiveLibrary {
  readonly site: Site<Snapshot>
  readonly librarian: Librarian
  readonly changed: () => void
}

async function followBranches({ folders, log }: Foundation, live: LiveLibrary, undo: Undo): Promise<void> {
  const { site, librarian } = live
  const following = await followRefs(folders.site, librarian, {
    library: () => site.current().library,
    channels: () => site.current().settings.library.channels,
    onRefreshed: ({ changed, faults }) => {
      for (const fault of faults)
        log.error('a channel of the library cannot follow its branch', { fault: faultText(fault) })
      if (changed) live.changed()
    },
    onError: (error) => log.error('the branches of the library could not be looked at', { error }),
  })
  undo.push(() => following.close())
}

async function tellReload({ metrics, audit }: Foundation, result: ReloadResult): Promise<void> {
  const { outcome, reason, digest } = result
  metrics.reloaded(result)
  const event = { type: 'site.reload', user: 'system' }
  if (outcome === 'swapped') {
    await audit.record({ ...event, status: 'ok', target: digest.slice(0, 12), data: { reason } })
    return
  }
  const faults = result.faults.slice(0, 50).map(faultText)
  await audit.record({ ...event, status: 'error', data: { reason, faults } })
}
