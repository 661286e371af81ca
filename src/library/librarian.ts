import { setImmediate } from 'node:timers/promises'
import type { Audit } from '#audit/audit.ts'
import { changedIn } from './changed.ts'
import type { Clock } from '#leaf/clock.ts'
import { openRepository, type Repository } from '#site/git.ts'
import { isNotIn } from '#site/site.ts'
import { settingFault } from '../settings/read-settings.ts'
import { readSiteAt } from '#site/reading.ts'
import type { Fault, SiteFiles } from '#site/site-files.ts'
import type { Store } from '#state/store.ts'
import { AskedOffers } from './asked-offers.ts'
import { migrateBuiltIns } from './built-ins.ts'
import { Channels, siteLine } from './versions/channels.ts'
import type { LibraryReading, Surroundings, TemplateCache } from './check-library.ts'
import { promptNumbers, thingOf, versionLine, type GitLine } from './versions/git-versions.ts'
import { checkTests } from './prompts/prompt-tests.ts'
import {
  commitOfChannel,
  faultAt,
  readChannel,
  readChannels,
  type ReadLine,
} from './versions/read-channels.ts'
import { examineFile, readLibrary, readTested } from './read-library.ts'
import { Library, type Lacks, type Lineage, type LinkTargets } from './library.ts'
import { digestOf, type ReadTemplate } from './prompts/template-file.ts'
import type { PromptTemplate } from './words.ts'
import { LibraryUsage } from './usage.ts'
import { Versions, type StatusStep } from './versions/versions.ts'

/** Every line of a site's library, read and checked, before anything is stored. */
export interface ReadLines {
  readonly lines: readonly ReadLine[]
  readonly around: Surroundings
  readonly repository: Repository | undefined
  readonly warnings: Fault[]
}

/** The lines that were opened, with the business data of the same reading of the site. */
interface Opened extends ReadLines {
  readonly links: LinkTargets
  readonly lacks: Lacks
}

/** The result of a refresh. */
export interface Refreshed {
  /** True when anybody sees another library now. */
  readonly changed: boolean
  /** The reasons why a channel could not follow its branch; it stays where it was. */
  readonly faults: readonly Fault[]
}

/** Opens the libraries of a site, and keeps what outlives them: versions, counters, the list of built-ins. */
export class Librarian {
  readonly usage: LibraryUsage
  readonly asked: AskedOffers
  readonly #versions: Versions
  readonly #numbering = promptNumbers()
  /** Version numbers that do not come from git, of the site's last reading. */
  readonly #numbers = new Map<string, number>()
  /** Templates with their version number, by line, as last read. */
  readonly #numbered = new Map<string, Numbered>()
  readonly #parts: { readonly store: Store; readonly audit: Audit }
  readonly #caches = new Map<string, TemplateCache>()
  readonly #reads = new WeakMap<Channels, Opened>()
  #refreshing: Promise<unknown> = Promise.resolve()

  constructor(parts: { store: Store; audit: Audit; clock: Clock }) {
    this.#parts = parts
    this.usage = new LibraryUsage(parts.store, parts.clock)
    this.asked = new AskedOffers(parts.store, parts.clock)
    this.#versions = new Versions(parts.store, parts.clock)
  }

  /** Reads and checks the site's library and those of its channels; reports every fault and changes nothing. */
  async read(files: SiteFiles, faults: Fault[], warnings: Fault[], around: Surroundings): Promise<ReadLines> {
    const repository = await openRepository(files.folder)
    const cached = { ...around, cache: this.#cacheOf(siteLine) }
    const reading = await readTested(files, faults, warnings, cached)
    const lines = await readChannels(files, faults, around, repository, (role) => this.#cacheOf(role))
    lines.push({ line: siteLine, ref: 'HEAD', commit: await repository?.head(), files, reading })
    return { lines, around, repository, warnings }
  }

  /**
   * Makes a library for use: numbers its versions and takes over what a new package brought. To be
   * called only for a site that has no faults, because it changes the state.
   */
  async open(lines: ReadLines, links: LinkTargets, lacks: Lacks): Promise<Channels> {
    const read: Opened = { ...lines, links, lacks }
    // The working tree comes first, so that versions ahead of it get the higher numbers.
    const site = read.lines.at(-1)!
    const siteLibrary = await this.#openLine(site, read)
    const libraries = new Map<string, Library>()
    for (const line of read.lines) {
      libraries.set(line.line, line === site ? siteLibrary : await this.#openLine(line, read))
    }
    if (read.around.builtIns) {
      await migrateBuiltIns(site.reading.builtIns, read.around.packageVersion, this.#parts)
    }
    const library = new Channels(libraries)
    this.#reads.set(library, read)
    return library
  }

  /**
   * Follows what moved without any file of the site changing: the branches of channels, and commits
   * that tell who wrote a version. A branch with faults leaves its channel as it was.
   */
  refresh(library: Channels): Promise<Refreshed> {
    const turn = this.#refreshing.then(() => this.#refreshNow(library))
    this.#refreshing = turn.catch(() => undefined)
    return turn
  }

  async #refreshNow(library: Channels): Promise<Refreshed> {
    const before = this.#reads.get(library)
    if (!before?.repository) return { changed: false, faults: [] }
    const faults: Fault[] = []
    const moved = new Map<string, Library>()
    const lines: ReadLine[] = []
    for (const line of before.lines) {
      const isSite = line.line === siteLine
      const commit = await (isSite
        ? before.repository.resolve(line.ref)
        : commitOfChannel(before.repository, line.ref))
      const next = commit === line.commit ? line : await this.#follow(line, commit, before, faults)
      lines.push(next)
      if (next !== line) moved.set(next.line, await this.#openLine(next, before))
    }
    if (moved.size === 0) return { changed: false, faults }
    for (const line of lines) {
      const from = before.lines.find((old) => old.line === line.line)!
      if (line === from || line.line === siteLine) continue
      await this.#parts.audit.record({
        type: 'library.channel',
        status: 'ok',
        user: 'system',
        target: line.line,
        data: { ref: line.ref, from: from.commit, to: line.commit },
      })
    }
    library.replace(moved)
    this.#reads.set(library, { ...before, lines })
    return { changed: true, faults }
  }

  /**
   * Reads the site's library at a branch, tag or commit, in the same context as the library in use.
   * AppError `not_found` without the revision, `unavailable` without a repository.
   */
  async readAt(
    library: Channels,
    ref: string,
  ): Promise<{ reading: LibraryReading; faults: readonly Fault[] }> {
    const read = this.#reads.get(library)!
    const files = await readSiteAt(read.lines.at(-1)!.files.folder, ref)
    const faults: Fault[] = files.faults.filter(({ file }) => /^(prompts|skills)\//.test(file))
    return { reading: readLibrary(files, faults, [], read.around), faults }
  }

  /** Writes the counts that are still in memory. */
  close(): Promise<void> {
    return this.usage.flush()
  }

  async #follow(
    line: ReadLine,
    commit: string | undefined,
    { around, repository, lines }: ReadLines,
    faults: Fault[],
  ): Promise<ReadLine> {
    if (line.line === siteLine) return { ...line, commit }
    const found: Fault[] = []
    const files = lines.at(-1)!.files
    const setting = (message: string): Fault =>
      settingFault(files, ['library', 'channels', line.line], message)
    const cached = { ...around, cache: this.#cacheOf(line.line) }
    const next = await readChannel(files.folder, line.line, line.ref, repository, cached, found, setting)
    const borne: Fault[] = []
    await checkTests(line.reading.templates.values(), { faults: borne, warnings: [] }, Infinity)
    const news = found.filter(isNotIn(borne.map((fault) => faultAt(line.ref, fault))))
    faults.push(...news)
    return next && news.length === 0 ? next : line
  }

  async #openLine(line: ReadLine, opened: Opened): Promise<Library> {
    const { around, repository, warnings, links, lacks } = opened
    const { templates } = line.reading
    // Reading and checking a large library took long, and the next pass is long too: requests get their turn between.
    await setImmediate()
    const ofPackage = around.builtIns !== undefined && around.builtIns.folder !== line.files.folder
    const byGit = ({ template }: ReadTemplate): boolean =>
      repository !== undefined && !(ofPackage && template.isSystem)
    const ref = line.line === siteLine ? 'HEAD' : (line.commit ?? line.ref)
    const own = repository ? [...templates.values()].filter(byGit) : []
    const held =
      repository && own.length > 0 ? await this.#numbering.of(repository, ref, own.map(thingOf)) : none
    const authorOf = ({ template }: ReadTemplate): string =>
      template.isSystem ? `assistant-core ${around.packageVersion}` : workingTree
    const before = this.#numbered.get(line.line)
    const isGit = repository !== undefined
    const changed = before?.isGit === isGit ? changedIn(before.reads, templates) : undefined
    const news = changed ? new Map(changed.map((id) => [id, templates.get(id)!])) : templates
    // Only the site's status changes are remembered; those on a branch are the business of its own authors.
    if (line.line === siteLine) {
      const { numbers, steps } = await this.#versions.settle(news, byGit, authorOf)
      for (const [id, number] of numbers) this.#numbers.set(id, number)
      warnings.push(...steps.map((step) => stepWarning(step, line.reading)))
    }
    const numbered = new Map(changed && before?.templates)
    for (const [id, read] of isGit ? templates : news) {
      const number = byGit(read) ? held.get(id)!.number : (this.#numbers.get(id) ?? null)
      const known = before?.reads.get(id) === read ? before.templates.get(id) : undefined
      numbered.set(id, known?.version === number ? known : withNumber(read, number))
    }
    this.#numbered.set(line.line, { reads: templates, templates: numbered, isGit })
    await setImmediate()
    const branch = line.line === siteLine ? undefined : await writtenBranch(repository, line.ref)
    const cached = { ...around, cache: this.#cacheOf(line.line) }
    const lineage: Lineage = {
      line: versionLine(held, repository, this.#versions),
      commitOf: (id) => held.get(id)?.commit,
      ...(branch !== undefined && { branch }),
      examine: (file, bytes) => examineFile(line.files, cached, file, bytes),
    }
    return new Library(line.reading, numbered, lineage, { usage: this.usage, links, lacks })
  }

  #cacheOf(line: string): TemplateCache {
    const cache = this.#caches.get(line) ?? { files: new Map() }
    this.#caches.set(line, cache)
    return cache
  }
}

/** The templates of a line with their numbers, and the inputs that they were made from. */
interface Numbered {
  readonly reads: ReadonlyMap<string, ReadTemplate>
  readonly templates: ReadonlyMap<string, PromptTemplate>
  readonly isGit: boolean
}

function withNumber(read: ReadTemplate, number: number | null): PromptTemplate {
  const { digest: _digest, ...template } = read.template
  const described = { ...template, version: number }
  return Object.freeze({ ...described, digest: digestOf(described) })
}

/** Returns the branch that a channel stands on; undefined when it is checked out, since writing the site writes to it then. */
async function writtenBranch(repository: Repository | undefined, ref: string): Promise<string | undefined> {
  if (!repository || (await repository.branch()) === ref) return undefined
  return (await repository.resolve(`refs/heads/${ref}`)) === undefined ? undefined : ref
}

const none: GitLine = new Map()

/** The author of versions of a site that is not in git. */
const workingTree = 'working tree'

function stepWarning({ id, from, to }: StatusStep, reading: LibraryReading): Fault {
  return reading.templates
    .get(id)!
    .document.fault(
      ['status'],
      `went from ${from} to ${to}; the order is Draft, Published, Deprecated, Archived, or back to Draft`,
    )
}
