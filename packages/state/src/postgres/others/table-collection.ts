/** A collection over a table of somebody else's, which only reads, or is written to in a transaction there. */
import { AppError } from '#leaf/errors.ts'
import { testOf } from '../../embedded/select.ts'
import { compared } from '../../questions/conditions.ts'
import type { Collection, Stored } from '../../store.ts'
import { type CollectionReads, StoredCollection, type Writes } from '../../stored-collection.ts'
import type { Queryable } from '../servers/connection.ts'
import type { Known } from '../known.ts'
import { rowReads } from '../translating/search.ts'
import { TableLayout } from './table-layout.ts'
import type { TableShape } from './table-shape.ts'
import { TableWrites, type WriteStep } from './table-writes.ts'

/** What a collection over a table needs besides the table. */
export interface TableAccess {
  /** The name of what the documents are, for messages. */
  readonly name: string
  /** Runs work on the table, whose shape it is given as it is now. */
  readonly read: <R>(work: (on: Queryable, shape: TableShape) => Promise<R>) => Promise<R>
  /** Told of a document that the database found and that does not meet its question: it is not shown. */
  readonly differs: (id: string) => void
  /** Set in a transaction that writes: the document that it changes, and who is told of each step before it is done. */
  readonly writing?: {
    readonly id: string | undefined
    readonly first: (step: WriteStep) => Promise<void>
  }
  /** Returns why nothing is written, where that is not because documents are only read. */
  readonly refusal?: () => Error
}

const nothingCommon = new Map<string, number>()
const views = new WeakMap<TableShape, Known>()

function viewOf(name: string, shape: TableShape): Known {
  let view = views.get(shape)
  if (!view) {
    const layout = new TableLayout(shape)
    view = { name, layout, indexes: [], expiry: undefined, now: 0, small: false, common: nothingCommon }
    views.set(shape, view)
  }
  return view
}

/**
 * Opens a table as a collection. What the database found is tested once more by the evaluator, which defines what a
 * question means.
 */
export function tableCollection<T extends Stored>({
  name,
  read,
  differs,
  writing,
  refusal = () => new AppError('forbidden', `${name} documents are only read here`),
}: TableAccess): Collection<T> {
  let writes: TableWrites | undefined
  const write = <R>(work: (writes: TableWrites) => R | Promise<R>): Promise<R> =>
    read(async (on, shape) => {
      const { written } = shape
      if (!writing || !written) throw refusal()
      const layout = viewOf(name, shape).layout as TableLayout
      writes ??= new TableWrites(on, { name, layout, shape, written }, writing.first)
      return await work(writes)
    })
  const reads = tested(
    rowReads((work) => read((on, shape) => work(on, viewOf(name, shape)))),
    differs,
  )
  // Words of others are not collected: what is mistyped there is not found.
  const all = { ...reads, beginning: () => Promise.resolve([]) }
  const work = {
    reads: () => all,
    get: async (id: string) =>
      writing?.id === id
        ? await write((held) => held.hold(id))
        : (await reads.find({ holds: compared('id', '=', id), limit: 1 }))[0],
    change: <R>(work: (writes: Writes) => R | Promise<R>) =>
      write((to) =>
        work({
          insert: (_, document) => to.insert(document),
          put: (_, document) => to.put(document),
          delete: (_, id) => to.delete(id),
          update: () => Promise.reject(new Error('documents that lie elsewhere are put whole')),
        }),
      ),
  }
  return new StoredCollection<T>(
    { name, indexes: [], ordered: [], texts: [], unique: [], expires: undefined },
    work,
  )
}

function tested(reads: CollectionReads, differs: (id: string) => void): CollectionReads {
  const testing = ({ where, holds }: Parameters<typeof testOf>[0]): ((document: Stored) => boolean) => {
    const test = testOf({ ...(where && { where }), holds })
    return (document) => {
      if (test(document)) return true
      differs(document.id)
      return false
    }
  }
  return {
    ...reads,
    find: async (query) => (await reads.find(query)).filter(testing(query)),
    page: async (query, upTo) => {
      const page = await reads.page(query, upTo)
      const found = page.found.filter(testing(query))
      return { ...page, found, cut: page.cut || found.length < page.found.length }
    },
    search: async (words, query) => {
      const answer = await reads.search(words, query)
      const test = testing(query)
      return { ...answer, found: answer.found.filter((hit) => test(hit.document())) }
    },
  }
}
