import type { RefusalOf } from '../core/effects.ts'
import type { Principal } from '../core/principal.ts'
import { belonging } from '../documents/belongings.ts'
import { historyEntries } from '../documents/history.ts'
import { createDocumentMemory } from '../documents/memory.ts'
import { leaveReports } from '../documents/reports/report-runs.ts'
import { noSql } from '../documents/reports/run-sql.ts'
import { followRefs } from '../library/follow-refs.ts'
import { Librarian } from '../library/librarian.ts'
import { Previews } from '../library/prompts/previews.ts'
import { promptMethods, type PromptMethods } from '../library/prompt-methods.ts'
import { PromptWriter } from '../library/writing/writing.ts'
import { RateLimits } from '../oauth/rate-limits.ts'
import { isNotIn, openSite, type ReloadResult, type Site } from '#site/site.ts'
import { faultText } from '#site/site-files.ts'
import { analysisTools, withDrawing } from '../tools/analysing/analysis-tools.ts'
import { createCalls } from '../tools/gate/calls.ts'
import { builtInTools } from '../tools/index.ts'
import { OwnTools } from '../tools/own/own-tools.ts'
import { searchAuditTool } from '../tools/reading/search-audit.ts'
import { reportSql } from '../tools/analysing/report-sql.ts'
import { StateSeeding } from './seeding.ts'
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
  /** Pulls the site, when it comes from elsewhere. */
  readonly pulling: Pulling
  /** Pulls the site, if it is pulled, and reads it again. */
  readonly reload: (reason: string) => Promise<ReloadResult>
  readonly people: () => Snapshot['people']
  readonly librarian: Librarian
  /** The prompt template methods of specification §4.7, by name. */
  readonly promptMethods: PromptMethods
  /** The writer of templates, and below it the renderer of unknown ones, for the methods and for pages. */
  readonly promptWriter: PromptWriter
  /** Tells why a principal may not do something that is no tool. */
  readonly refusalOf: RefusalOf
  readonly previews: Previews
  readonly limits: RateLimits
  /** The troubles of the site's own tools. */
  readonly ownTools: Pick<OwnTools, 'troubles' | 'remarks' | 'vouchBy'>
  /** Returns a principal as it would be made now; undefined once the user may not use the service. */
  readonly refreshed: (principal: Principal) => Principal | undefined
  /** Adds a listener for changes of what people may see. */
  readonly onChange: (listener: () => void) => void
}

/** Reads and follows the site; a new state gets its first documents. AppError `invalid` with `data.faults` for a bad site. */
export async function openHouse(
  foundation: Foundation,
  options: ServicesOptions,
  undo: Undo,
): Promise<House> {
  const { clock, log, folders, obey } = foundation
  const listeners: (() => void)[] = []
  const changed = (): void => listeners.forEach((listener) => listener())
  const librarian = new Librarian(foundation)
  undo.push(() => librarian.close())
  const state = await StateSeeding.open(foundation.store)
  const parts = { ...(await partsOf(foundation, librarian, options, undo)), seeding: state.seeding }
  const { ownTools } = parts
  const site = await openSite<Snapshot>({
    folder: folders.site,
    build: async (files, current, isBorne) => {
      await state.look(files)
      return await buildSnapshot(files, parts, current, isBorne)
    },
    clock,
    log,
    watch: options.daemon ?? false,
    onSwap: (snapshot, result) => {
      obey(snapshot.settings)
      changed()
      return tellReload(foundation, result)
    },
    onRejected: (result) => tellReload(foundation, result),
  })
  undo.push(() => site.close())
  obey(site.current().settings)
  if (options.daemon) await followBranches(foundation, { site, librarian, changed }, undo)
  const pulling = pullingOf(foundation, site, parts)
  undo.push(() => pulling.close())
  if (options.daemon) {
    pulling.start()
    ownTools.follow(() => void site.reload('tools of the site went or came back', true))
  }
  const { documents, seeds } = site.current()
  await state.load(documents, seeds, log)
  return {
    site,
    pulling,
    reload: async (reason) => {
      await pulling.pull()
      return await site.reload(reason, await ownTools.retry())
    },
    ownTools,
    people: () => site.current().people,
    librarian,
    ...promptDoors(foundation, { site, librarian, changed }, undo),
    refreshed: refresherOf(() => site.current()),
    onChange: (listener) => void listeners.push(listener),
  }
}

function pullingOf(
  { folders, clock, log, audit, secretPath, settings }: Foundation,
  site: Site<Snapshot>,
  parts: SnapshotParts,
): Pulling {
  return new Pulling({
    folder: folders.site,
    clock,
    log,
    audit,
    settings: () => settings().site.git,
    secretPath,
    check: async (files) => (await faultsOf(files, parts)).filter(isNotIn(site.state().faults)),
    reload: (reason) => site.reload(reason),
  })
}

/** Returns the parts that every snapshot is bound to. */
async function partsOf(
  { clock, log, store, audit, tracing, analysis, folders }: Foundation,
  librarian: Librarian,
  { daemon: serves = false }: ServicesOptions,
  undo: Undo,
): Promise<SnapshotParts> {
  const ownTools = new OwnTools({ log, clock, serves })
  undo.push(() => ownTools.close())
  const memory = createDocumentMemory()
  // Indexing a million of these takes a second: done at the start, so that the first caller does not wait.
  historyEntries(store)
  for (const kind of ['comment', 'assignment', 'attachment'] as const) belonging(store, kind)
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
    folders,
    ownTools,
    builtIns: await readBuiltIns(),
    tools: [
      ...(analysis ? withDrawing(builtInTools, analysis) : builtInTools),
      searchAuditTool(audit, clock),
      ...(analysis ? analysisTools(analysis, clock) : []),
    ],
    tracing,
  }
}

function promptDoors(
  { folders, audit, store, settings }: Foundation,
  live: LiveLibrary,
  undo: Undo,
): Pick<House, 'promptMethods' | 'promptWriter' | 'previews' | 'limits' | 'refusalOf'> {
  const { site, librarian, changed } = live
  const limits = new RateLimits({ settings, store })
  const previews = new Previews()
  undo.push(() => previews.close())
  const library = (): Snapshot['library'] => site.current().library
  const refusalOf: RefusalOf = (principal, name) => {
    const { refusal, reason } = site.current().catalogue.effect(principal, name)
    return refusal && reason
  }
  const promptWriter = new PromptWriter({
    folder: folders.site,
    library,
    audit,
    refusalOf,
    commits: () => settings().git.commit,
    isPulled: () => settings().site.git.url !== null,
    secondsToWait: ({ address = '', user }) => limits.secondsToWait('write', { address, key: user }),
    bounds: () => settings().library,
    reload: async () => {
      await site.reload('a prompt was written')
      if ((await librarian.refresh(library())).changed) changed()
    },
  })
  const { usage } = librarian
  const promptMethodsNow = promptMethods({ library, usage, writer: promptWriter, previews, refusalOf })
  return { promptMethods: promptMethodsNow, promptWriter, previews, limits, refusalOf }
}

/** The library in use, and the call that reports a change of it. */
interface LiveLibrary {
  readonly site: Site<Snapshot>
  readonly librarian: Librarian
  readonly changed: () => void
}

async function followBranches(
  { folders, log, settings }: Foundation,
  live: LiveLibrary,
  undo: Undo,
): Promise<void> {
  const { site, librarian } = live
  const following = await followRefs(folders.site, librarian, {
    library: () => site.current().library,
    channels: () => settings().library.channels,
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
