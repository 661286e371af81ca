/** Who reads the seeds of a site, and what becomes of them: large ones take seconds, and they are used once. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '#leaf/clock.ts'
import { createLog, type Log } from '#leaf/log.ts'
import { openEmbeddedStore } from '#state/operations.ts'
import { createDocumentMemory } from '../documents/memory.ts'
import type { Settings } from '../core/settings.ts'
import type { Documents } from '../documents/documents.ts'
import type { Platform } from '../documents/platform/platform.ts'
import { type PlacedSeed, readSeeds, seedFiles, unloadedSeeds } from '../documents/platform/read-seeds.ts'
import { adoptSeedFiles, loadSeeds, type SeedMark, seedMark } from '../documents/platform/seeds.ts'
import type { Store } from '#state/store.ts'
import type { Fault, SiteFiles } from '#site/site-files.ts'
import { noSql } from '../documents/reports/run-sql.ts'

/** Whether the seeds are read: they are where they are checked or loaded. */
export interface Seeding {
  /** Returns the mark of a state that has loaded its seeds, which tells of those that it will not load. */
  readonly seeding?: () => 'read' | SeedMark
}

/** The seeding of whoever checks a site whole. */
export const checksSeeds: Required<Seeding> = { seeding: () => 'read' }

/** Reads the seeds where they are wanted; else they are none, and those that a state will not load are told. */
export function seedsOf(
  files: SiteFiles,
  told: { readonly faults: Fault[]; readonly warnings: Fault[] },
  platform: Platform,
  { seeding }: Seeding,
): readonly PlacedSeed[] {
  const wanted = seeding?.()
  if (wanted === 'read') return readSeeds(files, told.faults, platform)
  if (wanted) told.warnings.push(...unloadedSeeds(files, wanted))
  return []
}

/** The seeding of a state: its seeds are read and loaded while it is new. */
export class StateSeeding implements Seeding {
  readonly #store: Store
  #mark: SeedMark | undefined

  private constructor(store: Store, mark: SeedMark | undefined) {
    this.#store = store
    this.#mark = mark
  }

  static async open(store: Store): Promise<StateSeeding> {
    return new StateSeeding(store, await seedMark(store))
  }

  readonly seeding = (): 'read' | SeedMark => this.#mark ?? 'read'

  /** Looks at the files before the site is read. */
  async look(files: SiteFiles): Promise<void> {
    if (this.#mark && !this.#mark.files) this.#mark = await adoptSeedFiles(this.#store, seedFiles(files))
  }

  /** Loads the seeds, unless the state has or had documents. */
  async load(documents: Documents, seeds: readonly PlacedSeed[], log: Log): Promise<void> {
    const made = await loadSeeds(documents, seeds, () => log.info('the first documents are being made'))
    if (made === 0 && seeds.length > 0) log.warn('the seeds are not loaded: the state has documents already')
    this.#mark = await seedMark(this.#store)
  }
}

/** Tries the seeds in a state that is thrown away. AppError `invalid` with `data.faults` for the first that cannot be made. */
export async function trySeeds({
  platform,
  seeds,
  settings,
}: {
  readonly platform: Platform
  readonly seeds: readonly PlacedSeed[]
  readonly settings: Settings
}): Promise<void> {
  if (seeds.length === 0) return
  const folder = await mkdtemp(join(tmpdir(), 'assistant-core-seeds-'))
  try {
    const log = createLog('silent', process.stderr)
    const store = await openEmbeddedStore({ folder: join(folder, 'state'), clock: systemClock, log })
    try {
      // Nothing that happens here is a deed of anybody.
      const audit = { record: async () => {}, recordIn: async () => {}, requireWritable: () => undefined }
      const memory = createDocumentMemory()
      const quota = settings.documents
      await loadSeeds({ platform, store, audit, clock: systemClock, memory, runSql: noSql, quota }, seeds)
    } finally {
      await store.close()
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
