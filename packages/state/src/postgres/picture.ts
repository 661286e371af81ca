/** Reads the whole state in PostgreSQL as of one snapshot. */
import type { Queryable } from './servers/connection.ts'
import { tableOf } from './indexes.ts'
import { quoted } from './language.ts'
import { beginPicture, readCollections, type StateHead, readStateHead } from './tables.ts'
import { deepFreeze } from '../plain-json.ts'
import type { Portions } from '../embedded/snapshot.ts'
import { State } from '../embedded/state.ts'
import type { Stored } from '../store.ts'

const readAtOnce = 1000

/** The documents of one snapshot, which is held until `end`. */
export interface Picture extends Portions {
  readonly head: StateHead
  end(): Promise<void>
}

/** Begins a snapshot of everything. */
export async function picture(on: Queryable): Promise<Picture> {
  await on.rows({ text: beginPicture, values: [] })
  // The reader of a backup may be slow.
  await on.rows({ text: "SET LOCAL idle_in_transaction_session_timeout = '10min'", values: [] })
  const end = async (): Promise<void> => void (await on.rows({ text: 'COMMIT', values: [] }))
  return { head: await readStateHead(on), ...documentsOf(on), end }
}

/** Returns all documents by collection and id, as the connection's transaction sees them. */
export function documentsOf(on: Queryable): Portions {
  let place: readonly [unknown, unknown] = ['', Buffer.alloc(0)]
  return {
    next: async (count) => {
      const rows = await on.rows({
        text: `SELECT collection, id, body FROM assistant_core.document
          WHERE (collection, id) > ($1, $2) ORDER BY collection, id LIMIT $3`,
        values: [...place, count],
      })
      const last = rows.at(-1)
      if (last) place = [last[0], last[1]]
      return rows.map(([collection, , body]) => [
        collection as string,
        deepFreeze(JSON.parse(body as string) as Stored),
      ])
    },
  }
}

/** Reads everything into memory, as the connection's transaction sees it. */
export async function wholeState(on: Queryable, schema: number): Promise<State> {
  const state = new State(schema)
  const documents = documentsOf(on)
  for (;;) {
    const portion = await documents.next(readAtOnce)
    if (portion.length === 0) return state
    for (const [collection, document] of portion) state.table(collection).set(document.id, document)
  }
}

/** The share of documents that have a word in a field, by `field=word`, for frequent words only. */
export type CommonWords = ReadonlyMap<string, number>

/** The sizes of the state: counted now and then, and updated at once by this daemon's own writes. */
export class Sizes {
  #documents = new Map<string, number>()
  #bytes = 0
  #common: ReadonlyMap<string, CommonWords> = new Map()

  get bytes(): number {
    return this.#bytes
  }

  common(name: string): CommonWords {
    return this.#common.get(tableOf(name)) ?? new Map()
  }

  of(name: string): number {
    return this.#documents.get(name) ?? 0
  }

  /** Returns the number of documents by collection; the named collections are included even if empty. */
  documents(names: readonly string[]): Readonly<Record<string, number>> {
    const all = [...new Set([...this.#documents.keys(), ...names])].sort()
    return Object.fromEntries(all.map((name) => [name, this.of(name)]))
  }

  grow(growth: ReadonlyMap<string, number>): void {
    for (const [name, by] of growth) this.#documents.set(name, this.of(name) + by)
  }

  async count(on: Queryable): Promise<void> {
    const { documents, bytes } = await sizes(on)
    this.#documents = documents
    this.#bytes = bytes
    this.#common = await commonWords(on)
  }
}

/** The share of documents from which a word counts as frequent. */
const worthKnowing = 0.01

/** Reads the frequent words by table, from the database's own statistics. */
async function commonWords(on: Queryable): Promise<ReadonlyMap<string, CommonWords>> {
  const text = `SELECT tablename, word, part FROM pg_stats, unnest(most_common_elems::text::text[], most_common_elem_freqs) AS known (word, part)
    WHERE schemaname = 'assistant_core' AND attname = 'words' AND part > $1 AND word IS NOT NULL`
  const common = new Map<string, Map<string, number>>()
  for (const [table, word, part] of (await on.rows({ text, values: [worthKnowing] })) as [
    string,
    string,
    number,
  ][])
    common.set(table, (common.get(table) ?? new Map<string, number>()).set(word, part))
  return common
}

/** Counts everything, a collection at a time: together they might be more tables and indexes than the server has locks for. */
export async function sizes(
  on: Queryable,
): Promise<{ readonly documents: Map<string, number>; readonly bytes: number }> {
  const documents = new Map<string, number>()
  for (const name of await readCollections(on)) {
    const text = `SELECT count(*) FROM assistant_core.document WHERE collection = ${quoted(name)}`
    const count = Number((await on.rows({ text, values: [] }))[0]![0])
    if (count > 0) documents.set(name, count)
  }
  // The audit log's size is reported separately.
  const text = `SELECT sum(pg_total_relation_size(oid)) FROM pg_class
    WHERE relnamespace = 'assistant_core'::regnamespace AND relkind = 'r' AND relname NOT LIKE 'ledger%'`
  return { documents, bytes: Number((await on.rows({ text, values: [] }))[0]![0]) }
}
