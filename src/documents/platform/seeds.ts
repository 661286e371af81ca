/**
 * Documents for a new state, made by the recipes in `config/seeds/*.yaml`: the same ones every time,
 * through the same checks as any document.
 */
import { isoTime } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import { systemPrincipal } from '../../core/principal.ts'
import { type Fault, faultText } from '#site/site-files.ts'
import type { Store, Transaction } from '#state/store.ts'
import { changeOf } from '../writing/change.ts'
import { insertDocument } from '../writing/creating.ts'
import { roundTo } from '#state/questions.ts'
import { collectionFor, type Documents, reachOf } from '../documents.ts'
import type { Doctype } from './platform.ts'
import { isMaker, type PlacedSeed } from './read-seeds.ts'
import type { SeedMaker } from './seed-schema.ts'
import type { StoredDocument } from '../writing/stored.ts'

/** What a state keeps of the seeds that it was given, or was not given because it had documents. */
export interface SeedMark {
  readonly id: string
  readonly time: string
  readonly documents: number
  /** The SHA-256 of the files whose seeds it has; absent in states from before 2.14. */
  readonly files?: Readonly<Record<string, string>>
}

/** Returns the mark of a state whose seeds are loaded, or never will be; undefined for a new one. */
export async function seedMark(store: Store): Promise<SeedMark | undefined> {
  return await marksOf(store).get('seeds')
}

/** Takes the files as they are for those that were loaded, in a state that does not know which these were. */
export async function adoptSeedFiles(store: Store, files: SeedMark['files'] & {}): Promise<SeedMark> {
  const adopted = ({ documents }: SeedMark): SeedMark['files'] & {} => (documents > 0 ? files : {})
  const kept = await marksOf(store).update('seeds', (mark) =>
    mark.files ? undefined : { ...mark, files: adopted(mark) },
  )
  return kept!
}

function marksOf(store: Store) {
  return store.collection<SeedMark>({ name: 'platform.seed' })
}

/**
 * Makes the documents, once, in a state that has none, after announcing the start; returns their number. AppError
 * `invalid` with `data.faults` names the line of one that cannot be made; then none is.
 */
export async function loadSeeds(
  documents: Documents,
  seeds: readonly PlacedSeed[],
  begins: () => void = () => undefined,
): Promise<number> {
  const marks = marksOf(documents.store)
  if (seeds.length === 0 || (await marks.get('seeds'))) return 0
  return await documents.store.transaction(async (tx) => {
    let made = 0
    const empty = await everyDoctypeEmpty(documents, tx)
    if (empty) {
      begins()
      const random = randomNumbers(20260101)
      const names = new Map<string, string[]>()
      for (const seed of seeds) made += await plant(documents, tx, seed, random, names)
      await documents.audit.recordIn(tx, {
        type: 'document.seed',
        status: 'ok',
        user: 'system',
        data: { documents: made },
      })
    }
    // Marked even when nothing was made: a state that its owner emptied is not filled again.
    const time = isoTime(documents.clock.now())
    const files = empty ? Object.fromEntries(seeds.map(({ file, digest }) => [file, digest])) : {}
    await tx.in(marks).put({ id: 'seeds', time, documents: made, files })
    return made
  })
}

async function everyDoctypeEmpty(documents: Documents, tx: Transaction): Promise<boolean> {
  for (const doctype of documents.platform.doctypes.values())
    if (!doctype.child && !doctype.origin && (await collectionFor(documents, doctype, tx).count()) > 0)
      return false
  return true
}

async function plant(
  documents: Documents,
  tx: Transaction,
  placed: PlacedSeed,
  random: () => number,
  names: Map<string, string[]>,
): Promise<number> {
  const { seed } = placed
  const doctype = documents.platform.doctypes.get(seed.doctype)!
  const collection = collectionFor(documents, doctype, tx)
  const total = seed.records?.length ?? seed.count ?? 0
  const created: string[] = []
  const [from = '2026-01-01', to = '2026-06-30'] = seed.created ?? []
  for (let n = 0; n < total; n++) created.push(dateBetween(from, to, random))
  // Sorted, so that the numbers of a series follow the dates.
  created.sort()
  for (let n = 0; n < total; n++) {
    const submitted = doctype.submittable && random() < (seed.submit ?? 0)
    const made: Record<string, unknown> = { ...seed.records?.[n] }
    const bed: Bed = { documents, tx, random, names, n }
    for (const [name, maker] of Object.entries({ ...seed.fields, ...(submitted && seed.submitted) }))
      if (!(name in made)) made[name] = await make(bed, maker, made, doctype, name)
    const principal = systemPrincipal('seeds')
    const access = reachOf(documents, principal, doctype)
    // Only the program may choose a state that a workflow would lead to.
    const { workflow_state: state, ...data } = made
    const status = documents.platform.workflows.get(seed.doctype)?.states.get(String(state))?.docstatus
    const change = changeOf({ documents, principal, access, tx, dry: false, isPlanted: true }, 'create')
    let document: StoredDocument
    try {
      document = await insertDocument(change, data, status === undefined ? {} : { workflow_state: state })
    } catch (error) {
      throw error instanceof AppError ? refusal(error, placed, n) : error
    }
    const owner = seed.owners ? seed.owners[Math.floor(random() * seed.owners.length)]! : 'system'
    const time = `${created[n]!}T${String(8 + Math.floor(random() * 9)).padStart(2, '0')}:${String(n % 60).padStart(2, '0')}:00.000Z`
    // Later seeds may link to it.
    names.get(seed.doctype)?.push(document.id)
    await collection.put({
      ...document,
      owner,
      creation: time,
      modified: time,
      modified_by: owner,
      docstatus: status ?? (submitted ? 1 : 0),
    })
  }
  return total
}

/** Returns why a document cannot be made, at the line of the recipe or of the written record that says so. */
function refusal(error: AppError, { seed, fault }: PlacedSeed, n: number): AppError {
  const { problems = [error.message] } = (error.data ?? {}) as { readonly problems?: readonly string[] }
  const faults = problems.map((problem): Fault => {
    const field = /^\w+/.exec(problem)?.[0] ?? ''
    const record = seed.records?.[n]
    const place = record
      ? ['records', n, ...(Object.hasOwn(record, field) ? [field] : [])]
      : Object.hasOwn(seed.fields ?? {}, field)
        ? ['fields', field]
        : ['doctype']
    return fault(place, `${seed.doctype}, number ${n + 1}: ${problem}`)
  })
  const text = `seeds cannot be loaded:\n${faults.map((one) => `  ${faultText(one)}`).join('\n')}`
  return new AppError('invalid', text, { data: { faults }, cause: error })
}

/** The context for making a value: the state, the random numbers, and the number of the document. */
interface Bed {
  readonly documents: Documents
  readonly tx: Transaction
  readonly random: () => number
  /** The names of documents by doctype, looked up once. */
  readonly names: Map<string, string[]>
  readonly n: number
}

async function make(
  bed: Bed,
  maker: unknown,
  made: Readonly<Record<string, unknown>>,
  doctype: Doctype,
  name: string,
): Promise<unknown> {
  if (!isMaker(maker)) return maker
  const { random, n } = bed
  if (maker.chance !== undefined && random() >= maker.chance) return null
  if (maker.pick) return maker.pick[Math.floor(random() * maker.pick.length)]
  if (maker.cycle) return maker.cycle[n % maker.cycle.length]
  if (maker.product) return combination(maker.product, n)
  if (maker.text !== undefined)
    return maker.text.replace(/\{(\w+)\}/g, (_, key: string) =>
      key === 'n' ? String(n + 1) : typeof made[key] === 'string' ? made[key] : '',
    )
  if (maker.number) return numberBetween(maker.number, maker.step ?? 1, random)
  if (maker.date) return dateBetween(maker.date[0]!, maker.date[1]!, random)
  if (maker.after !== undefined) {
    const start = made[maker.after]
    if (typeof start !== 'string') return null
    return addDays(start, numberBetween(maker.days ?? [0, 0], 1, random))
  }
  if (maker.link !== undefined) return await someDocument(bed, maker.link)
  if (maker.from !== undefined) return await fetched(bed, maker, made, doctype)
  if (maker.rows) {
    const columns = bed.documents.platform.doctypes.get(doctype.fields.get(name)!.doctype!)!
    const rows: Record<string, unknown>[] = []
    for (let count = numberBetween(maker.rows, 1, random); count > 0; count--) {
      const row: Record<string, unknown> = {}
      for (const [column, inner] of Object.entries(maker.fields ?? {}))
        row[column] = await make(bed, inner, row, columns, column)
      rows.push(row)
    }
    return rows
  }
  return null
}

async function someDocument({ documents, tx, random, names }: Bed, name: string): Promise<string | null> {
  let all = names.get(name)
  if (!all) {
    const doctype = documents.platform.doctypes.get(name)
    all = doctype ? (await collectionFor(documents, doctype, tx).find()).map(({ id }) => id) : []
    names.set(name, all)
  }
  return all.length === 0 ? null : all[Math.floor(random() * all.length)]!
}

async function fetched(
  { documents, tx, random }: Bed,
  maker: SeedMaker,
  made: Readonly<Record<string, unknown>>,
  doctype: Doctype,
): Promise<unknown> {
  const target = documents.platform.doctypes.get(doctype.fields.get(maker.from!)?.doctype ?? '')
  const document = target && (await collectionFor(documents, target, tx).get(String(made[maker.from!])))
  const value = document?.[maker.field!] ?? null
  if (typeof value !== 'number' || !maker.factor) return value
  const [least = 1, most = 1] = maker.factor
  return roundTo(value * (least + random() * (most - least)), 2)
}

function combination(lists: readonly (readonly string[])[], n: number): string {
  let rest = n
  return lists
    .map((list) => {
      const word = list[rest % list.length]!
      rest = Math.floor(rest / list.length)
      return word
    })
    .join(' ')
}

function numberBetween([from = 0, to = 0]: readonly number[], step: number, random: () => number): number {
  return roundTo(from + Math.floor(random() * (Math.floor((to - from) / step) + 1)) * step, 6)
}

function dateBetween(from: string, to: string, random: () => number): string {
  const days = Math.round((Date.parse(to) - Date.parse(from)) / 86_400_000)
  return addDays(from, Math.floor(random() * (days + 1)))
}

function addDays(date: string, days: number): string {
  return isoTime(Date.parse(`${date}T00:00:00Z`) + days * 86_400_000).slice(0, 10)
}

/** Returns random numbers from 0 to 1 that are the same on every machine: plausible data needs no secrets (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}
