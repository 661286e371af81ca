/** Verifies the state in PostgreSQL, without changing it; daemons may go on meanwhile. */
import { type Clock, isoTime } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import { type Migration, type MigrationReport, migrate } from '../migrate.ts'
import { noTrigrams, trigramsQuery } from './indexes.ts'
import type { Queryable } from './servers/connection.ts'
import { Database } from './servers/database.ts'
import { idBytes, idText } from './language.ts'
import { beginPicture, hasTables, readStateHead } from './tables.ts'
import { sizes, wholeState } from './picture.ts'
import type { ConnectionCounts, Stored } from '../store.ts'
import type { Verification } from '../verify.ts'

const atOnce = 500

/**
 * Reads every document and reports those that are damaged. AppError `not_found` when the database holds no state,
 * `unavailable` when it cannot be used.
 */
export async function verifyPostgres(url: string, clock: Clock): Promise<Verification> {
  return await looking(url, async (on) => {
    const { schema } = await readStateHead(on)
    const faults: string[] = []
    const documents: Record<string, number> = {}
    let place: readonly [unknown, unknown] = ['', Buffer.alloc(0)]
    for (;;) {
      const rows = await on.rows({
        text: `SELECT collection, id, body FROM assistant_core.document
          WHERE (collection, id) > ($1, $2) ORDER BY collection, id LIMIT $3`,
        values: [...place, atOnce],
      })
      for (const [name, id, body] of rows) {
        const collection = name as string
        documents[collection] = (documents[collection] ?? 0) + 1
        const fault = faultOf(id as Buffer, body as string)
        if (fault !== undefined)
          faults.push(`${collection} ${JSON.stringify(idText(id as Buffer))}: ${fault}`)
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

/** Returns the database's name if every role may connect. AppError `unavailable` when the folder's daemon would not use it. */
export async function openToEverybody(url: string, folder: string): Promise<string | undefined> {
  const text =
    "SELECT current_database() WHERE has_database_privilege('public', current_database(), 'CONNECT')"
  const [row] = await Database.during(url, (database) => database.alone({ text, values: [] }), folder)
  return row && String(row[0])
}

/** Counts the connections that the server gives, and the daemons that share them. AppError as of `openToEverybody`. */
export function connectionsOf(url: string, folder: string): Promise<ConnectionCounts> {
  return Database.during(url, (database) => database.count(), folder)
}

/** Reports what migrations would do to the state in a database, which stays as it is. */
export async function planPostgres(url: string, migrations: readonly Migration[]): Promise<MigrationReport> {
  return await looking(url, async (on) => {
    const { schema } = await readStateHead(on)
    if (schema === migrations.length) return { from: schema, to: schema, steps: [] }
    return migrate(await wholeState(on, schema), migrations)
  })
}

/** Returns the fault of a document; undefined when there is none. */
function faultOf(id: Buffer, body: string): string | undefined {
  // The database ensures that it is JSON.
  const document = JSON.parse(body) as Stored | null
  return typeof document?.id === 'string' && idBytes(document.id).equals(id)
    ? undefined
    : 'its id is another one'
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
