/** The whole state in PostgreSQL as it is at one moment. */
import type { Queryable } from './postgres-connection.ts'
import { beginPicture, type StateHead, readStateHead } from './postgres-tables.ts'
import { deepFreeze } from './plain-json.ts'
import type { Portions } from './snapshot.ts'
import { State } from './state.ts'
import type { Stored } from './store.ts'

const readAtOnce = 1000

/** Everything as it was at one moment, until it is ended. */
export interface Picture extends Portions {
  readonly head: StateHead
  end(): Promise<void>
}

/** Begins a look at everything. */
export async function picture(on: Queryable): Promise<Picture> {
  await on.rows({ text: beginPicture, values: [] })
  // Whoever reads a backup may be slow.
  await on.rows({ text: "SET LOCAL idle_in_transaction_session_timeout = '10min'", values: [] })
  const end = async (): Promise<void> => void (await on.rows({ text: 'COMMIT', values: [] }))
  return { head: await readStateHead(on), ...documentsOf(on), end }
}

/** Every document by collection and id, as the connection's transaction sees them. */
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

/** Everything in memory, as the connection's transaction sees it. */
export async function wholeState(on: Queryable, schema: number): Promise<State> {
  const state = new State(schema)
  const documents = documentsOf(on)
  for (;;) {
    const portion = await documents.next(readAtOnce)
    if (portion.length === 0) return state
    for (const [collection, document] of portion) state.table(collection).set(document.id, document)
  }
}

/** In what part of the documents a word stands in a field, by `field=word`, where that is many of them. */
export type CommonWords = ReadonlyMap<string, number>

/** How much there is: counted now and then, and known of one's own writes at once. */
export class Sizes {
  #documents = new Map<string, number>()
  #bytes = 0
  #common: CommonWords = new Map()

  get bytes(): number {
    return this.#bytes
  }

  get common(): CommonWords {
    return this.#common
  }

  of(name: string): number {
    return this.#documents.get(name) ?? 0
  }

  /** By collection; those that are named are there, if empty. */
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

/** Of words in fewer of the documents nothing is kept. */
const worthKnowing = 0.01

/** As the database has counted them by itself. */
async function commonWords(on: Queryable): Promise<CommonWords> {
  const text = `SELECT word, part FROM pg_stats, unnest(most_common_elems::text::text[], most_common_elem_freqs) AS known (word, part)
    WHERE schemaname = 'assistant_core' AND tablename = 'document' AND attname = 'words' AND part > $1 AND word IS NOT NULL`
  return new Map((await on.rows({ text, values: [worthKnowing] })) as [string, number][])
}

/** How much there is. */
export async function sizes(
  on: Queryable,
): Promise<{ readonly documents: Map<string, number>; readonly bytes: number }> {
  const counts = 'SELECT collection, count(*) FROM assistant_core.document GROUP BY collection'
  const bytes = `SELECT pg_total_relation_size('assistant_core.document')
    + pg_total_relation_size('assistant_core.entry')`
  const [documents, [row]] = await Promise.all([
    on.rows({ text: counts, values: [] }),
    on.rows({ text: bytes, values: [] }),
  ])
  return {
    documents: new Map(documents.map(([name, count]) => [name as string, Number(count)])),
    bytes: Number(row![0]),
  }
}
