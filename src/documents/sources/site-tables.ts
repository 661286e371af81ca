/** The doctypes of the site whose documents lie in tables of others: kept across snapshots, watched, and opened for askers. */
import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '#leaf/clock.ts'
import { messageOf } from '#leaf/errors.ts'
import type { Log } from '#leaf/log.ts'
import { SiteFault } from '#site/checking.ts'
import { type Fault, fileFault, type SiteFiles } from '#site/site-files.ts'
import type { Source } from '#sources/source.ts'
import type { Sources } from '../../settings/sources.ts'
import { briefly, type Dependency, type Entry, type Trouble, WatchedEntries } from '#site/site.ts'
import type { Tables } from '../tables-of-others.ts'
import type { Doctype, Platform } from '../platform/platform.ts'
import type { Problem } from './rule-problems.ts'
import { type Door, openDoor, type SecretOf } from '#sources/sources.ts'
import type { TableSource } from './table-source.ts'

interface TablesParts {
  readonly log: Log
  readonly clock: Clock
  readonly secretOf: SecretOf
  /** True if calls are served: what does not fit then withholds the doctype, and does not keep the site from use. */
  readonly serves: boolean
}

interface TableEntry extends Dependency {
  readonly doctype: Doctype
  readonly table: TableSource
  /** The files that places are told in, as of the newest reading. */
  files: Places
  /** True if the last look found only that the login may not write all. */
  isLacking?: boolean
}

/** The files that a reading is of. */
type Places = Pick<SiteFiles, 'folder' | 'documents'>

/** What a reading of the site says of tables. */
interface Definitions {
  readonly files: Places
  readonly platform: Pick<Platform, 'doctypes'>
  readonly sources: Sources
}

/** Milliseconds between two looks that callers cause. */
const betweenLooks = 2000

/** Opens the tables of a site. */
export class SiteTables {
  readonly #parts: TablesParts
  readonly #doors = new Map<string, Promise<Door>>()
  readonly #entries: WatchedEntries<TableEntry>
  #settle: ((doctype: Doctype) => Promise<void>) | undefined

  constructor(parts: TablesParts) {
    this.#parts = parts
    this.#entries = new WatchedEntries({
      ...parts,
      what: 'doctypes',
      neededBy: ({ doctype, isLacking }) => [`${isLacking ? 'writing of ' : ''}doctype ${doctype.name}`],
    })
  }

  /** Returns the connections to a source, which SQL tools use as well. */
  door(source: Source, folder: string): Promise<Door> {
    const key = JSON.stringify([source, folder])
    let door = this.#doors.get(key)
    if (!door) {
      // Few sites ask databases, and most starts need no driver.
      const { log, secretOf } = this.#parts
      door = openDoor(source, secretOf, (error) => log.warn('a connection to a source broke', { error }))
      this.#doors.set(key, door)
    }
    return door
  }

  /** Compares the doctypes of a reading with their tables; in a site that is in use, what does not fit is a warning. */
  async check(definitions: Definitions, faults: Fault[], warnings: Fault[]): Promise<void> {
    const broken = new Set(faults.map(({ file }) => file))
    for (const entry of await this.#entriesOf(definitions)) {
      const { doctype, table, files } = entry.of
      if (broken.has(doctype.origin!.file)) continue
      // What is wrong with a source is told once, however many doctypes it has.
      const isNews = (fault: Fault): boolean =>
        ![...faults, ...warnings].some((one) => isDeepStrictEqual(one, fault))
      await this.#entries.judge(entry, faults, warnings, (fault, error) =>
        problemsOf(files, error, fault).filter(isNews),
      )
      if (!entry.watched.trouble) warnings.push(...table.remarks.map((problem) => placed(files, problem)))
    }
  }

  /** Takes a reading into use, and returns what opens its documents. */
  async open(definitions: Definitions): Promise<Tables> {
    const entries = await this.#entriesOf(definitions)
    this.#entries.use(entries.map(({ key }) => key))
    const byDoctype = new Map(entries.map(({ of }) => [of.doctype.name, of.table]))
    const tableOf = ({ name }: Doctype): TableSource => byDoctype.get(name)!
    const tables: Tables = {
      collection: (doctype, of) => tableOf(doctype).collection(of),
      change: (doctype, of, how, work) =>
        tableOf(doctype).change(of, how, (on, writing) => {
          // What the same source is asked meanwhile is asked in its transaction, which holds a connection already.
          const opened = new Map<string, ReturnType<Tables['collection']>>()
          const collection: Tables['collection'] = (other, of) => {
            const table = tableOf(other)
            if (table.door !== tableOf(doctype).door) return tables.collection(other, of)
            const { name } = other
            const found = opened.get(name) ?? table.within(on, name === doctype.name ? writing : undefined)
            opened.set(name, found)
            return found
          }
          return work({ ...tables, collection })
        }),
      keysOf: (doctype) => tableOf(doctype).door.writeKeys?.table,
      outcome: (doctype, of) => tableOf(doctype).door.outcome(of),
    }
    return tables
  }

  /** Sets what settles changes that were begun there; it is called for each doctype whenever its table was found well. */
  settleBy(settle: (doctype: Doctype) => Promise<void>): void {
    this.#settle = settle
    if (this.#parts.serves) for (const { of } of this.#entries.all) void this.#settled(of)
  }

  async #settled({ doctype }: TableEntry): Promise<void> {
    if (Object.keys(doctype.origin!.write).length === 0) return
    await this.#settle?.(doctype).catch((error: unknown) => {
      this.#parts.log.warn('what became of a change in a source is not known yet', {
        doctype: doctype.name,
        error,
      })
    })
  }

  /** Closes what the reading in use does not have, also of a reading that was rejected. */
  async discard(folder: string, sources: Sources): Promise<void> {
    this.#entries.discard()
    const used = new Set(Object.values(sources).map((source) => JSON.stringify([source, folder])))
    for (const [key, door] of this.#doors)
      if (!used.has(key)) {
        this.#doors.delete(key)
        // Waits for the statements of the previous snapshot.
        const warn = (error: unknown): void => this.#parts.log.warn('a pool was not closed', { error })
        ;(await door).close().catch(warn)
      }
  }

  /** Everything that keeps doctypes from being read now. */
  get troubles(): readonly Trouble[] {
    return this.#entries.troubles
  }

  /** Looks at all tables now. */
  retry(): Promise<void> {
    return this.#entries.retry()
  }

  async close(): Promise<void> {
    this.#entries.close()
    await Promise.all([...this.#doors.values()].map(async (door) => (await door).close()))
    this.#doors.clear()
  }

  async #entriesOf({ files, platform, sources }: Definitions): Promise<readonly Entry<TableEntry>[]> {
    const found: Entry<TableEntry>[] = []
    for (const doctype of platform.doctypes.values()) {
      const source = doctype.origin && sources[doctype.origin.source]
      if (!source) continue
      const { name, origin, rules } = doctype
      const key = JSON.stringify([source, files.folder, name, origin, rules.map(ruleText)])
      const entry = this.#entries.get(key) ?? (await this.#make(key, doctype, source, files))
      entry.of.files = files
      found.push(entry)
    }
    return found
  }

  async #make(key: string, doctype: Doctype, source: Source, files: Places): Promise<Entry<TableEntry>> {
    const { TableSource, Drift, Lacking, unavailable } = await import('./table-source.ts')
    const door = await this.door(source, files.folder)
    const { clock, log } = this.#parts
    const origin = doctype.origin!
    let lookedAt = 0
    const ready = async (writes?: 'writes'): Promise<void> => {
      const { watched, tried } = entry
      await tried
      const isRead = (): boolean => !watched.trouble || causeOf(watched.error) instanceof Lacking
      if (writes ? !watched.trouble : isRead()) return
      if (clock.now() - lookedAt > betweenLooks) await briefly(watched.look())
      if (!isRead()) throw unavailable(doctype, causeOf(watched.error))
    }
    const doubted = (): Promise<void> => entry.watched.look()
    const entry: Entry<TableEntry> = this.#entries.entry(key, () => {
      const table = new TableSource({ ...doctype, origin }, { door, log, ready, doubted })
      const of: TableEntry = {
        doctype,
        table,
        files,
        attempt: async () => {
          lookedAt = clock.now()
          try {
            await table.look()
            void this.#settled(of)
          } catch (error) {
            of.isLacking = error instanceof Lacking
            if (!(error instanceof Drift)) throw error
            const [problem] = error.problems
            const { message } = of.isLacking ? error : problem!
            throw new SiteFault(placed(of.files, { ...problem!, message }), { cause: error })
          }
        },
        place: (text) => {
          const message = `the source "${origin.source}": ${text}`
          return placed(of.files, { file: origin.file, path: ['from', 'source'], message })
        },
      }
      return of
    })
    return entry
  }
}

function ruleText({ when, ifOwner }: Doctype['rules'][number]): unknown {
  return [when?.text, ifOwner]
}

function causeOf(error: unknown): unknown {
  return error instanceof SiteFault ? error.cause : error
}

/** Returns every place that does not fit; the watcher knows the first. */
function problemsOf(files: Places, error: unknown, fault: Fault): readonly Fault[] {
  const cause = causeOf(error) as { readonly problems?: readonly Problem[] } | undefined
  return cause?.problems?.map((problem) => placed(files, problem)) ?? [fault]
}

function placed({ documents }: Places, { file, path, message }: Problem): Fault {
  return documents.get(file)?.fault(path, message) ?? fileFault(file, messageOf(message))
}
