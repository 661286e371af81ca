import type { Clock } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import type { Collection, Store, Stored } from '#state/store.ts'
import type { PromptStatus, PromptTemplate } from '../words.ts'
import type { ReadTemplate } from '../prompts/template-file.ts'
import { legacySource } from '../prompts/template-text.ts'

/** One version of a template (specification §9.5, §9.6). */
export interface PromptVersion {
  readonly prompt: string
  readonly number: number
  readonly author: string
  /** Milliseconds since the epoch: the time of the commit, or of the reading that first saw the version. */
  readonly time: number
  readonly commit?: string
  /** The author's description of it. */
  readonly subject?: string
  /** The path of the template's file at that time. */
  readonly file: string
  readonly source: string
}

/** The versions of the templates of one line: the site, or a channel's branch. */
export interface VersionLine {
  /** Returns the versions of a template, newest first. */
  history(prompt: string, limit: number): Promise<readonly PromptVersion[]>
  /** Returns the versions with every change in between that began no version. */
  changes(prompt: string, limit: number): Promise<readonly PromptVersion[]>
  /** Returns one version; AppError `not_found`. */
  version(prompt: string, number: number): Promise<PromptVersion>
}

interface StoredVersion extends PromptVersion, Stored {
  readonly fingerprint: string
}

interface StoredPrompt extends Stored {
  readonly latest: number
  readonly fingerprint: string
  readonly status: PromptStatus
}

/** The record of earlier releases: the state of each line. */
interface FormerPrompt {
  readonly lines?: Readonly<Record<string, { readonly fingerprint: string; readonly status: PromptStatus }>>
}

/** A change of status that the documented order (§3.3) does not allow. */
export interface StatusStep {
  readonly id: string
  readonly from: PromptStatus
  readonly to: PromptStatus
}

/** The result of settling the versions of a reading. */
export interface Settled {
  /** The number of each template that git does not number. */
  readonly numbers: ReadonlyMap<string, number>
  readonly steps: readonly StatusStep[]
}

/** Versions of templates that are not in git, kept in the state: those of built-in templates, and of sites outside git. */
export class Versions implements VersionLine {
  readonly #store: Store
  readonly #clock: Clock
  readonly #prompts: Collection<StoredPrompt>
  readonly #stored: Collection<StoredVersion>
  /** A cache of the stored records, only with an embedded store: daemons on one database do not hear of each other's changes. */
  #known: Map<string, StoredPrompt> | undefined

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
    this.#prompts = store.collection<StoredPrompt>({ name: 'library.prompt' })
    this.#stored = store.collection<StoredVersion>({ name: 'library.version', indexes: ['prompt'] })
  }

  /**
   * Numbers templates: each keeps its version, or gets the next when content, engine or arguments changed
   * (specification §9.5). Of templates that git numbers, as `byGit` tells, only the status is checked.
   */
  async settle(
    templates: ReadonlyMap<string, ReadTemplate>,
    byGit: (read: ReadTemplate) => boolean,
    authorOf: (read: ReadTemplate) => string,
  ): Promise<Settled> {
    const known =
      this.#known ?? new Map((await this.#prompts.find()).map((prompt) => [prompt.id, current(prompt)]))
    if (this.#store.stats().kind === 'embedded') this.#known = known
    const isOutdated = (before: StoredPrompt | undefined, read: ReadTemplate): boolean =>
      !before ||
      before.status !== read.template.status ||
      (!byGit(read) && (before.latest === 0 || before.fingerprint !== read.fingerprint))
    const outdated = [...templates].filter(([id, read]) => isOutdated(known.get(id), read))
    let steps: StatusStep[] = []
    let settled: StoredPrompt[] = []
    if (outdated.length > 0) {
      await this.#store.transaction(async (transaction) => {
        steps = []
        settled = []
        const [prompts, versions] = [transaction.in(this.#prompts), transaction.in(this.#stored)]
        for (const [id, read] of outdated) {
          const stored = await prompts.get(id)
          const before = stored && current(stored)
          const { fingerprint, document, template } = read
          const held = before?.latest ?? 0
          const isNew = !byGit(read) && (held === 0 || before?.fingerprint !== fingerprint)
          const latest = held + (isNew ? 1 : 0)
          settled.push(await prompts.put({ id, latest, fingerprint, status: template.status }))
          if (before && !isStatusStep(before.status, template.status))
            steps.push({ id, from: before.status, to: template.status })
          if (!isNew) continue
          await versions.put({
            id: idOf(id, latest),
            prompt: id,
            number: latest,
            author: authorOf(read),
            time: this.#clock.now(),
            file: template.file,
            source: new TextDecoder().decode(document.bytes),
            fingerprint,
          })
        }
      })
    }
    for (const prompt of settled) known.set(prompt.id, prompt)
    const unheld = [...templates].filter(([, read]) => !byGit(read))
    return { numbers: new Map(unheld.map(([id]) => [id, known.get(id)!.latest])), steps }
  }

  async history(prompt: string, limit: number): Promise<readonly PromptVersion[]> {
    const found = await this.#stored.find({
      where: { prompt },
      order: [{ field: 'number', descending: true }],
      limit,
    })
    return found.map(withSource)
  }

  changes(prompt: string, limit: number): Promise<readonly PromptVersion[]> {
    return this.history(prompt, limit)
  }

  async version(prompt: string, number: number): Promise<PromptVersion> {
    const version = await this.#stored.get(idOf(prompt, number))
    if (!version) throw noVersion(prompt, number)
    return withSource(version)
  }
}

/** The author of what is not committed. */
export const notCommitted = 'not committed'

/** Returns the error for a version that does not exist. */
export function noVersion(prompt: string, number: number): AppError {
  return new AppError('not_found', `prompt "${prompt}" has no version ${number}`)
}

const nextStatus: Readonly<Record<PromptStatus, PromptStatus>> = {
  Draft: 'Published',
  Published: 'Deprecated',
  Deprecated: 'Archived',
  Archived: 'Draft',
}

/** True for the steps Draft → Published → Deprecated → Archived, and back to Draft from anywhere. */
export function isStatusStep(from: PromptStatus, to: string): boolean {
  return from === to || to === 'Draft' || nextStatus[from] === to
}

function idOf(prompt: string, number: number): string {
  return `${prompt}#${number}`
}

/** Returns the record in its present form, whichever release wrote it. */
function current(stored: StoredPrompt & FormerPrompt): StoredPrompt {
  return stored.lines === undefined ? stored : { ...stored, ...stored.lines['site'] }
}

function withSource(version: StoredVersion): PromptVersion {
  // Releases before 3 stored the parts of a version instead of its file.
  const former = version as StoredVersion & Pick<PromptTemplate, 'title' | 'engine' | 'arguments' | 'content'>
  return version.source === undefined
    ? { ...version, file: 'former.md', source: legacySource(former) }
    : version
}
