import type { Clock } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import type { Collection, Store, Stored, Transaction } from '../store/store.ts'
import type { PromptArgument, PromptStatus, PromptTemplate, RenderingEngine } from './words.ts'
import type { CurrentVersion } from './library.ts'
import { digestOf, type ReadTemplate } from './template-file.ts'

/** Who wrote a template's file as it is. */
export interface Authorship {
  readonly author: string
  /** Milliseconds since the epoch; absent where only the time of reading is known. */
  readonly time?: number
  /** Absent where no commit is behind it, as with what the package brings. */
  readonly commit?: string
}

/** How a template came to be what it is, since a commit that is known already. */
export interface Ancestry {
  /** What it was in between, oldest first. */
  readonly older: readonly { readonly read: ReadTemplate; readonly authorship: Authorship }[]
  /** Who wrote it as it is now; absent while nobody has committed that. */
  readonly current?: Authorship
}

/** Asks how templates came to be, each since the commit that `known` says; those that git does not hold are absent. */
export type AskGit = (
  templates: readonly ReadTemplate[],
  known: (id: string) => string | undefined,
) => Promise<ReadonlyMap<string, Ancestry>>

/** One version of a template as it is kept in the state (specification §9.5, §9.6). */
export interface PromptVersion {
  readonly prompt: string
  readonly number: number
  readonly title: string
  readonly engine: RenderingEngine
  readonly content: string
  readonly arguments: readonly PromptArgument[]
  /** `working tree` while the file is not committed. */
  readonly author: string
  /** Milliseconds since the epoch: of the commit, or of the reading that first saw it. */
  readonly time: number
  readonly commit?: string
  readonly fingerprint: string
}

interface StoredVersion extends PromptVersion, Stored {}

/** Where a line of development (the site's working tree, or a channel's branch) stands with a template. */
interface Position {
  readonly version: number
  readonly fingerprint: string
  readonly status: PromptStatus
  /** Digest of the template when the commit was asked for. */
  readonly digest: string
  /** The commit that the file stands at. */
  readonly commit?: string
  /** The last commit of the file that was looked at, also when the file was changed since. */
  readonly seen?: string
}

interface StoredPrompt extends Stored {
  readonly latest: number
  readonly lines: Readonly<Record<string, Position>>
}

/** A step between statuses that §3.3's order (as documented) does not have. */
export interface StatusStep {
  readonly id: string
  readonly from: PromptStatus
  readonly to: PromptStatus
}

/** What settling the versions of a reading found. */
export interface Settled {
  readonly templates: ReadonlyMap<string, PromptTemplate>
  readonly versions: ReadonlyMap<string, CurrentVersion>
  /** Templates whose version is new since the last reading. */
  readonly changed: readonly string[]
  readonly steps: readonly StatusStep[]
}

/** The versions of every template, kept in the state. */
export class Versions {
  private readonly store: Store
  private readonly clock: Clock
  private readonly prompts: Collection<StoredPrompt>
  private readonly stored: Collection<StoredVersion>
  /** Templates with their number, so that a reload makes only the changed ones anew. */
  private readonly numbered = new WeakMap<ReadTemplate, PromptTemplate>()

  constructor(store: Store, clock: Clock) {
    this.store = store
    this.clock = clock
    this.prompts = store.collection<StoredPrompt>({ name: 'library.prompt' })
    this.stored = store.collection<StoredVersion>({ name: 'library.version', indexes: ['prompt'] })
  }

  /**
   * Gives every template of a reading its version number: the one it had, or the next when its content,
   * engine or arguments changed (specification §9.5). `line` tells readings apart that exist side by
   * side, such as those of two channels.
   */
  async settle(templates: ReadonlyMap<string, ReadTemplate>, line: string, askGit: AskGit): Promise<Settled> {
    const known = new Map((await this.prompts.find()).map((prompt) => [prompt.id, prompt]))
    const positionOf = (id: string): Position | undefined => known.get(id)?.lines[line]
    const moved = [...templates.values()].filter(({ template: { id, digest } }) => {
      const position = positionOf(id)
      return position?.digest !== digest || position.commit === undefined
    })
    const ancestries: ReadonlyMap<string, Ancestry> =
      moved.length > 0 ? await askGit(moved, (id) => positionOf(id)?.seen) : new Map()
    const outdated = moved.filter(({ template: { id, digest } }) => {
      const position = positionOf(id)
      const ancestry = ancestries.get(id)
      const commit = ancestry?.current?.commit ?? ancestry?.older.at(-1)?.authorship.commit
      return position?.digest !== digest || (commit !== undefined && commit !== position.seen)
    })
    const changed: string[] = []
    const steps: StatusStep[] = []
    if (outdated.length > 0) {
      await this.store.transaction(async (transaction) => {
        for (const read of outdated) {
          const before = await transaction.in(this.prompts).get(read.template.id)
          const after = await this.move(transaction, read, line, ancestries.get(read.template.id))
          known.set(after.id, after)
          const old = before?.lines[line]
          if (old?.version !== after.lines[line]?.version) changed.push(after.id)
          if (old && !isStatusStep(old.status, read.template.status)) {
            steps.push({ id: after.id, from: old.status, to: read.template.status })
          }
        }
      })
    }
    const numbered = new Map<string, PromptTemplate>()
    const versions = new Map<string, CurrentVersion>()
    for (const [id, read] of templates) {
      const position = known.get(id)!.lines[line]!
      numbered.set(id, this.withNumber(read, position.version))
      versions.set(id, {
        number: position.version,
        ...(position.commit !== undefined && { commit: position.commit }),
      })
    }
    return { templates: numbered, versions, changed, steps }
  }

  /** The versions of a template, newest first. */
  async history(prompt: string, limit: number): Promise<readonly PromptVersion[]> {
    return this.stored.find({ where: { prompt }, order: [{ field: 'number', descending: true }], limit })
  }

  /** One version; AppError `not_found`. */
  async version(prompt: string, number: number): Promise<PromptVersion> {
    const version = await this.stored.get(idOf(prompt, number))
    if (!version) throw new AppError('not_found', `prompt "${prompt}" has no version ${number}`)
    return version
  }

  /** Puts a template's line at the version of what was read, adding the versions on the way that are new. */
  private async move(
    transaction: Transaction,
    read: ReadTemplate,
    line: string,
    ancestry: Ancestry | undefined,
  ): Promise<StoredPrompt> {
    const { id, status, digest } = read.template
    const prompts = transaction.in(this.prompts)
    const before = await prompts.get(id)
    const position = before?.lines[line]
    let latest = before?.latest ?? 0
    let number = position?.version ?? 0
    let fingerprint = position?.fingerprint
    // Git writes the files first and moves HEAD then: what was read before its commit was there is not new
    // again, and neither is what lies behind it.
    const older = position?.fingerprint === read.fingerprint ? [] : (ancestry?.older ?? [])
    for (const state of [...older, { read, authorship: ancestry?.current }]) {
      if (state.read.fingerprint !== fingerprint) {
        fingerprint = state.read.fingerprint
        number = (await this.laterVersion(transaction, id, fingerprint, number)) ?? latest + 1
        latest = Math.max(latest, number)
      }
      await this.keep(transaction, state.read, number, state.authorship)
    }
    const commit = ancestry?.current?.commit
    const seen = commit ?? ancestry?.older.at(-1)?.authorship.commit ?? position?.seen
    return prompts.put({
      id,
      latest,
      lines: {
        ...before?.lines,
        [line]: {
          version: number,
          fingerprint: read.fingerprint,
          status,
          digest,
          ...(commit !== undefined && { commit }),
          ...(seen !== undefined && { seen }),
        },
      },
    })
  }

  /** What another line called a new version is not new when it arrives here, as a merged branch does. */
  private async laterVersion(
    transaction: Transaction,
    prompt: string,
    fingerprint: string,
    after: number,
  ): Promise<number | undefined> {
    const versions = await transaction.in(this.stored).find({ where: { prompt } })
    const numbers = versions
      .filter((v) => v.fingerprint === fingerprint && v.number > after)
      .map((v) => v.number)
    return numbers.length > 0 ? Math.min(...numbers) : undefined
  }

  private async keep(
    transaction: Transaction,
    { template, fingerprint }: ReadTemplate,
    number: number,
    authorship: Authorship | undefined,
  ): Promise<void> {
    const versions = transaction.in(this.stored)
    const id = idOf(template.id, number)
    const before = await versions.get(id)
    // A version keeps the author of the commit that brought it; later commits only touched the rest of the file.
    if (before && (before.commit !== undefined || !authorship)) return
    await versions.put({
      id,
      prompt: template.id,
      number,
      title: template.title,
      engine: template.engine,
      content: template.content,
      arguments: template.arguments,
      author: authorship?.author ?? workingTree,
      time: authorship?.time ?? before?.time ?? this.clock.now(),
      ...(authorship?.commit !== undefined && { commit: authorship.commit }),
      fingerprint,
    })
  }

  private withNumber(read: ReadTemplate, number: number): PromptTemplate {
    const known = this.numbered.get(read)
    if (known?.version === number) return known
    const { digest: _digest, ...template } = read.template
    const described = { ...template, version: number }
    const numbered = Object.freeze({ ...described, digest: digestOf(described) })
    this.numbered.set(read, numbered)
    return numbered
  }
}

/** The author of what is not committed. */
export const workingTree = 'working tree'

const nextStatus: Readonly<Record<PromptStatus, PromptStatus>> = {
  Draft: 'Published',
  Published: 'Deprecated',
  Deprecated: 'Archived',
  Archived: 'Draft',
}

/** Draft → Published → Deprecated → Archived, and back to Draft from anywhere. */
export function isStatusStep(from: PromptStatus, to: PromptStatus): boolean {
  return from === to || to === 'Draft' || nextStatus[from] === to
}

function idOf(prompt: string, number: number): string {
  return `${prompt}#${number}`
}
