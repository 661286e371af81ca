/** Checking the state in PostgreSQL, without changing it; daemons may go on meanwhile. */
import { createHash } from 'node:crypto'
import { type Clock, isoTime } from '../core/clock.ts'
import { AppError, messageOf } from '../core/errors.ts'
import { type Migration, type MigrationReport, migrate } from './migrate.ts'
import { noTrigrams, trigramsQuery } from './postgres-indexes.ts'
import type { Queryable } from './postgres-connection.ts'
import { Database } from './postgres-database.ts'
import { endAt, entriesOf, type Entry, idBytes, idText } from './postgres-entries.ts'
import { beginPicture, hasTables, readStateHead, readSpecs } from './postgres-tables.ts'
import { sizes, wholeState } from './postgres-picture.ts'
import type { Stored } from './store.ts'
import type { TableSpec } from './table.ts'
import type { Verification } from './verify.ts'

const atOnce = 500

/**
 * Reads every document and all that it is found by, and tells what does not fit together. AppError `not_found`
 * when the database holds no state, `unavailable` when it cannot be used.
 */
export async function verifyPostgres(url: string, clock: Clock): Promise<Verification> {
  return await looking(url, async (on) => {
    const { schema } = await readStateHead(on)
    const specs = await readSpecs(on)
    const faults: string[] = []
    const documents: Record<string, number> = {}
    let place: readonly [unknown, unknown] = ['', Buffer.alloc(0)]
    for (;;) {
      const rows = await on.rows({
        text: `SELECT d.collection, d.id, d.body, d.ends, (
            SELECT array_agg(encode(sha256(convert_to(e.field, 'UTF8') || e.key), 'hex') || e.single)
            FROM assistant_core.entry e WHERE e.collection = d.collection AND e.id = d.id
          ) FROM assistant_core.document d
          WHERE (d.collection, d.id) > ($1, $2) ORDER BY d.collection, d.id LIMIT $3`,
        values: [...place, atOnce],
      })
      for (const [name, id, body, ends, entries] of rows) {
        const collection = name as string
        documents[collection] = (documents[collection] ?? 0) + 1
        const found = { id: id as Buffer, body: body as string, ends, entries: (entries ?? []) as string[] }
        const fault = faultOf(specs.get(collection), found)
        if (fault !== undefined) faults.push(`${collection} ${JSON.stringify(idText(found.id))}: ${fault}`)
      }
      const last = rows.at(-1)
      if (!last) break
      place = [last[0], last[1]]
    }
    const { bytes } = await sizes(on)
    const time = isoTime(clock.now())
    const notes = (await on.rows({ text: trigramsQuery, values: [] })).length > 0 ? [] : [noTrigrams]
    return { ok: faults.length === 0, schema, time, documents, last: 0, bytes, faults, notes }
  })
}

/** What migrations would do to the state in a database, which stays as it is. */
export async function planPostgres(url: string, migrations: readonly Migration[]): Promise<MigrationReport> {
  return await looking(url, async (on) => {
    const { schema } = await readStateHead(on)
    if (schema === migrations.length) return { from: schema, to: schema, steps: [] }
    return migrate(await wholeState(on, schema), migrations)
  })
}

/** What is wrong with a document and what it is found by; undefined when nothing is. */
function faultOf(
  spec: TableSpec | undefined,
  { id, body, ends, entries }: { id: Buffer; body: string; ends: unknown; entries: readonly string[] },
): string | undefined {
  let document: Stored
  try {
    document = JSON.parse(body) as Stored
  } catch (error) {
    return messageOf(error)
  }
  if (typeof document?.id !== 'string' || !idBytes(document.id).equals(id)) return 'its id is another one'
  // Of a collection that no daemon has declared yet nothing is known.
  if (!spec) return undefined
  if (endAt(spec, document) !== ends) return 'it ends at another time than is noted'
  const wanted = entriesOf(spec, document).map(digestOf)
  const same = wanted.length === entries.length && wanted.every((entry) => entries.includes(entry))
  return same ? undefined : 'it cannot be found by what it holds'
}

function digestOf({ field, key, single }: Entry): string {
  const digest = createHash('sha256').update(field).update(key).digest('hex')
  return digest + String(single)
}

async function looking<R>(url: string, work: (on: Queryable) => Promise<R>): Promise<R> {
  return await Database.during(url, (database) =>
    database.readOnOne(async (on) => {
      await on.rows({ text: beginPicture, values: [] })
      if (!(await hasTables(on))) throw new AppError('not_found', 'there is no state in the database')
      const result = await work(on)
      await on.rows({ text: 'COMMIT', values: [] })
      return result
    }),
  )
}
