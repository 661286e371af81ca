/**
 * Documents for a new state, made by the recipes in `config/seeds/*.yaml`: the same ones every time,
 * through the same checks as any document.
 */
import { unknownName } from '../core/names.ts'
import { isoTime } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import { type Principal, roleKeyOf, systemManager } from '../core/principal.ts'
import { compileSchema } from '../core/schema.ts'
import { checkDocument } from '../site/check-document.ts'
import { documentsIn, type Fault, type SiteFiles } from '../site/site-files.ts'
import type { Transaction } from '../store/store.ts'
import { changeOf } from './change.ts'
import { insertDocument } from './creating.ts'
import { roundTo } from '../core/expression-values.ts'
import { collectionFor, type Documents } from './documents.ts'
import { accessTo } from './permission.ts'
import type { Doctype, Platform } from './platform.ts'
import { makerSchema, type Seed, type SeedMaker, seedsSchema } from './seed-schema.ts'
import type { StoredDocument } from './stored.ts'

const checkSeeds = compileSchema(seedsSchema)
const checkMaker = compileSchema(makerSchema)

/** The recipes of the site, files in the order of their names. */
export function readSeeds(files: SiteFiles, faults: Fault[], platform: Platform): readonly Seed[] {
  const seeds: Seed[] = []
  const inOrder = [...documentsIn(files, 'config/seeds/')].sort((a, b) => (a.file < b.file ? -1 : 1))
  for (const document of inOrder) {
    const read = checkDocument<{ readonly seeds: readonly Seed[] }>(document, checkSeeds, faults)
    for (const [index, seed] of read?.seeds.entries() ?? []) {
      const doctype = platform.doctypes.get(seed.doctype)
      if (!doctype || doctype.child)
        faults.push(
          document.fault(
            ['seeds', index, 'doctype'],
            unknownName('doctype', seed.doctype, platform.doctypes.keys()),
          ),
        )
      for (const part of ['fields', 'submitted'] as const)
        for (const [name, maker] of Object.entries(seed[part] ?? {})) {
          const at = ['seeds', index, part, name]
          if (doctype && name !== 'name' && !doctype.fields.has(name))
            faults.push(document.fault(at, unknownName('field', name, doctype.fields.keys())))
          if (isMaker(maker))
            faults.push(
              ...checkMaker(maker).map((problem) =>
                document.fault([...at, ...problem.path], problem.message),
              ),
            )
        }
      seeds.push(seed)
    }
  }
  return seeds
}

interface SeedMark {
  readonly id: string
  readonly time: string
  readonly documents: number
}

/** Makes the documents, once, in a state that has none, after telling that it begins; answers how many were made. */
export async function loadSeeds(
  documents: Documents,
  seeds: readonly Seed[],
  begins: () => void = () => undefined,
): Promise<number> {
  const marks = documents.store.collection<SeedMark>({ name: 'platform.seed' })
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
    await tx.in(marks).put({ id: 'seeds', time: isoTime(documents.clock.now()), documents: made })
    return made
  })
}

/** The principal that the program itself acts as. */
export function systemPrincipal(requestId: string): Principal {
  const roles = new Set([systemManager])
  return { user: 'system', fullName: 'System', roles, roleKey: roleKeyOf(roles), scopes: [], requestId }
}

async function everyDoctypeEmpty(documents: Documents, tx: Transaction): Promise<boolean> {
  for (const doctype of documents.platform.doctypes.values())
    if (!doctype.child && (await collectionFor(documents, doctype, tx).count()) > 0) return false
  return true
}

async function plant(
  documents: Documents,
  tx: Transaction,
  seed: Seed,
  random: () => number,
  names: Map<string, string[]>,
): Promise<number> {
  const doctype = documents.platform.doctypes.get(seed.doctype)!
  const collection = collectionFor(documents, doctype, tx)
  const total = seed.records?.length ?? seed.count ?? 0
  const created: string[] = []
  const [from = '2026-01-01', to = '2026-06-30'] = seed.created ?? []
  for (let n = 0; n < total; n++) created.push(dateBetween(from, to, random))
  // In order, so that the numbers of a series follow the dates.
  created.sort()
  for (let n = 0; n < total; n++) {
    const submitted = doctype.submittable && random() < (seed.submit ?? 0)
    const made: Record<string, unknown> = { ...seed.records?.[n] }
    const bed: Bed = { documents, tx, random, names, n }
    for (const [name, maker] of Object.entries({ ...seed.fields, ...(submitted && seed.submitted) }))
      if (!(name in made)) made[name] = await make(bed, maker, made, doctype, name)
    const principal = systemPrincipal('seeds')
    const access = accessTo(principal, doctype, documents.clock.now())
    // Only the program may choose a state that a workflow would lead to.
    const { workflow_state: state, ...data } = made
    const status = documents.platform.workflows.get(seed.doctype)?.states.get(String(state))?.docstatus
    const change = changeOf({ documents, principal, tx, dry: false }, access, 'create')
    let document: StoredDocument
    try {
      document = await insertDocument(change, data, status === undefined ? {} : { workflow_state: state })
    } catch (error) {
      if (error instanceof AppError)
        throw new AppError('invalid', `seeds of ${seed.doctype}, number ${n + 1}: ${error.message}`, {
          cause: error,
        })
      throw error
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

/** Where a value grows: the state, chance, and the number of the document. */
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

function isMaker(value: unknown): value is SeedMaker {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
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

/** Numbers from 0 to 1 that are the same on every machine: plausible data needs no secrets (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}
