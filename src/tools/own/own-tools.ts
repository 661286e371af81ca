import { systemClock, type Clock } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import { createLog, type Log } from '#leaf/log.ts'
import type { SecretPath } from '#leaf/secret-files.ts'
import { type Fault, faultText, type SourceDocument } from '#site/site-files.ts'
import type { Tool } from '../tool.ts'
import type { Vouch } from './assertion.ts'
import { bundleModule } from '#modules/bundle.ts'
import type { EntryParts, Remark } from './entry-parts.ts'
import { httpParts } from './http-tool.ts'
import { moduleParts } from './module-tools.ts'
import type { SqlDefinition } from './own-schema.ts'
import type { OwnDefinitions, OwnModule } from './read-own-tools.ts'
import { SiteTables } from '../../documents/sources/site-tables.ts'
import { secretFrom } from './templates.ts'
import { upstreamParts } from './upstream-tools.ts'
import { type Entry, type Tell, type Trouble, WatchedEntries } from '#site/site.ts'

interface OwnParts {
  readonly log: Log
  readonly clock: Clock
  /** True if calls are served: tools that worked when taken into use and fail now must not keep the site from use. */
  readonly serves?: boolean
  /** Milliseconds between two pings of modules. */
  readonly tick?: number
}

/** Milliseconds in which several changes count as one. */
const restMilliseconds = 50

/** The site's own tools and their dependencies: kept across snapshots that do not change them, and watched. */
export class OwnTools {
  readonly #parts: OwnParts
  /** The tables of others that hold documents, and the connections to sources. */
  readonly tables: SiteTables
  readonly #entries: WatchedEntries<EntryParts>
  /** The entries of the snapshot in use. */
  #inUse: readonly Entry<EntryParts>[] = []
  #definitions: OwnDefinitions | undefined
  #offered = ''
  #onChange: (() => void) | undefined
  #rest: NodeJS.Timeout | undefined
  #secrets: SecretPath | undefined
  readonly #secretPath: SecretPath = (name) => this.#secrets?.(name) ?? name
  #signs: Vouch = () => Promise.reject(new AppError('unavailable', 'nobody signs here who asks'))
  readonly #vouch: Vouch = (principal, audience) => this.#signs(principal, audience)

  constructor(parts: OwnParts) {
    this.#parts = parts
    this.#entries = new WatchedEntries({
      ...parts,
      neededBy: ({ tools }) => tools().map(({ name }) => name),
      onChange: () => this.#changed(),
    })
    const secretOf = (name: string): Promise<string> => secretFrom(name, this.#secretPath)
    this.tables = new SiteTables({ ...parts, serves: parts.serves ?? false, secretOf })
  }

  /** Sets the places of secrets, as the first reading of the site names them. */
  nameSecrets(secretPath: SecretPath): void {
    this.#secrets ??= secretPath
  }

  /** Sets the signer of assertions for other services. */
  vouchBy(signs: Vouch): void {
    this.#signs = signs
  }

  /** Sets the function to call when the snapshot in use offers tools that are gone, or lacks tools that are there. */
  follow(onChange: () => void): void {
    this.#onChange = onChange
  }

  /** Starts a module, as it is on disk now, in a process of its own; or returns its faults. */
  async module(folder: string, file: string, memoryMegabytes: number): Promise<OwnModule | readonly Fault[]> {
    const bundle = await bundleModule(folder, file)
    if (!('text' in bundle)) return bundle
    const made = (tell: Tell): EntryParts => moduleParts(bundle, { ...this.#parts, memoryMegabytes, ...tell })
    const { key, of, watched, tried } = this.#entries.entry(
      keyOf([file, bundle.text, memoryMegabytes], folder),
      made,
    )
    await tried
    const { trouble } = watched
    const tools = of.tools()
    if (!trouble || tools.length > 0) return { key, tools }
    if (this.#entries.forgives(key)) return { key, tools, trouble: trouble.fault }
    this.#entries.drop(key)
    return [trouble.fault]
  }

  /**
   * Checks statements against their sources. In a site that is in use a failure only withholds the tool, since it is no
   * fault of an edit; the same holds when a service starts.
   */
  async checkStatements(definitions: OwnDefinitions, faults: Fault[], warnings: Fault[]): Promise<void> {
    const broken = new Set(faults.map(({ file }) => file))
    const sound = definitions.sql.filter((one) => !broken.has(definitions.documents.get(one)!.file))
    await Promise.all(
      sound.map(async (definition) =>
        this.#entries.judge(await this.#statement(definition, definitions), faults, warnings),
      ),
    )
  }

  /** Returns the tools of a reading of the site, which is in use from now on. Failing dependencies are watched. */
  async open(definitions: OwnDefinitions): Promise<readonly Tool[]> {
    const entries = await this.#entriesOf(definitions)
    const tools = entries.flatMap(({ of }) => of.tools())
    this.#entries.use(entries.map(({ key }) => key))
    this.#inUse = entries
    this.#definitions = definitions
    this.#offered = JSON.stringify(tools)
    this.discard()
    return tools
  }

  /** Closes everything that the snapshot in use does not have, also from a reading that was rejected. */
  discard(): void {
    this.#entries.discard()
    const { folder = '', sources = {} }: Partial<OwnDefinitions> = this.#definitions ?? {}
    void this.tables.discard(folder, sources)
  }

  /** Everything that keeps tools from working now. */
  get troubles(): readonly Trouble[] {
    return [...this.#entries.troubles, ...this.tables.troubles]
  }

  /** Warnings about tools that work. */
  get remarks(): readonly Remark[] {
    const all = this.#entries.all.flatMap(({ of }) => of.remarks?.() ?? [])
    return [...new Map(all.map((remark) => [faultText(remark), remark])).values()]
  }

  /** Tries everything now; returns true if other tools are to be offered than before. */
  async retry(): Promise<boolean> {
    await Promise.all([this.#entries.retry(), this.tables.retry()])
    clearTimeout(this.#rest)
    return this.#isOther()
  }

  async close(): Promise<void> {
    clearTimeout(this.#rest)
    this.#onChange = undefined
    this.#entries.close()
    await this.tables.close()
  }

  #isOther(): boolean {
    return JSON.stringify(this.#inUse.flatMap(({ of }) => of.tools())) !== this.#offered
  }

  #changed(): void {
    clearTimeout(this.#rest)
    const tell = (): void => {
      if (this.#definitions && this.#isOther()) this.#onChange?.()
    }
    this.#rest = setTimeout(tell, restMilliseconds).unref()
  }

  /** Returns the entries in the order in which their tools are listed, each tried when it is new. */
  async #entriesOf(definitions: OwnDefinitions): Promise<readonly Entry<EntryParts>[]> {
    const { folder, http, sql, upstreams, modules, documents } = definitions
    // Not awaited: such a tool is offered whether it works or not.
    const requests = http.map((definition) => {
      const document = documents.get(definition)!
      const made = (): EntryParts => httpParts(definition, document, this.#secretPath, this.#vouch)
      return this.#entries.entry(keyOf(textOf(document), folder), made)
    })
    const statements = await Promise.all(sql.map((definition) => this.#statement(definition, definitions)))
    const servers = upstreams.map((definition) => {
      const document = documents.get(definition)!
      const parts = { log: this.#parts.log, secretPath: this.#secretPath, vouch: this.#vouch, folder }
      const made = (tell: Tell): EntryParts => upstreamParts(definition, document, { ...parts, ...tell })
      return this.#entries.entry(keyOf(definition, folder), made)
    })
    await this.#entries.soon([...statements, ...servers].map(({ tried }) => tried))
    return [...requests, ...statements, ...modules.map(({ key }) => this.#entries.get(key)!), ...servers]
  }

  async #statement(
    definition: SqlDefinition,
    { folder, sources, documents, sourcesDocument }: OwnDefinitions,
  ): Promise<Entry<EntryParts>> {
    // Few sites ask databases, and most starts need no driver.
    const { sqlParts } = await import('./sql-tool.ts')
    const source = sources[definition.source]!
    const document = documents.get(definition)!
    const { pool } = await this.tables.door(source, folder)
    return this.#entries.entry(keyOf([textOf(document), source], folder), (tell) =>
      sqlParts(definition, document, { source, sourcesDocument: sourcesDocument!, pool: pool!, ...tell }),
    )
  }
}

/** Runs a check with own tools, and closes them after it. */
export async function withOwnTools<Result>(check: (ownTools: OwnTools) => Promise<Result>): Promise<Result> {
  const log = createLog('silent', { write: () => undefined })
  const ownTools = new OwnTools({ log, clock: systemClock })
  try {
    return await check(ownTools)
  } finally {
    await ownTools.close()
  }
}

function textOf({ file, bytes }: SourceDocument): string {
  return `${file}\n${Buffer.from(bytes).toString('utf8')}`
}

function keyOf(value: unknown, folder: string): string {
  return JSON.stringify([value, folder])
}
