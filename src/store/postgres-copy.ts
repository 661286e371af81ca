/** The whole state in PostgreSQL, read at once and written at once, while no daemon uses it. */
import { setTimeout } from 'node:timers/promises'
import { AppError } from '../core/errors.ts'
import { type CollectionDigest, digestsOf, requireSame } from './copy.ts'
import { requireKnownSchema } from './migrate.ts'
import { applicationName, type Queryable } from './postgres-connection.ts'
import { Database } from './postgres-database.ts'
import { idBytes } from './postgres-entries.ts'
import { wholeState } from './postgres-picture.ts'
import { hasTables, lockAll, openTables, readStateHead } from './postgres-tables.ts'
import type { State } from './state.ts'

const atOnce = 1000
const looks = 10
const betweenLooks = 100

/** Reads the state of a database. AppError `not_found` when there is none, `conflict` while a daemon uses it. */
export async function readPostgres(url: string, knownSchema: number): Promise<State> {
  return await alone(url, async (on) => {
    if (!(await hasTables(on))) throw new AppError('not_found', 'there is no state in the database')
    const { schema } = await readStateHead(on)
    requireKnownSchema(schema, knownSchema)
    return await wholeState(on, schema)
  })
}

/** Refuses a database that holds a state or is used by a daemon (AppError `conflict`). */
export async function requireEmptyPostgres(url: string): Promise<void> {
  await alone(url, async (on) => {
    if (await hasTables(on)) await requireEmpty(on)
  })
}

/** Writes a state into a database that holds none, all of it or nothing. AppError `conflict` when there is one, or a daemon uses it. */
export async function writePostgres(state: State, url: string): Promise<readonly CollectionDigest[]> {
  return await alone(url, async (on) => {
    await openTables(on, state.schema)
    await requireEmpty(on)
    for (const table of state.tables.values()) {
      const documents = [...table.entries()].map(([, document]) => document)
      for (let from = 0; from < documents.length; from += atOnce) {
        const some = documents.slice(from, from + atOnce)
        await on.rows({
          text: `INSERT INTO assistant_core.document (collection, id, body)
            SELECT $1, d.* FROM unnest($2::bytea[], $3::text[]) AS d`,
          values: [table.name, some.map(({ id }) => idBytes(id)), some.map((one) => JSON.stringify(one))],
        })
      }
    }
    // What documents are looked up by is made when a daemon declares it.
    await on.rows({ text: 'DELETE FROM assistant_core.collection', values: [] })
    await on.rows({
      text: 'UPDATE assistant_core.state SET schema = $1, generation = generation + 1',
      values: [state.schema],
    })
    const sent = digestsOf(state)
    requireSame(sent, digestsOf(await wholeState(on, state.schema)))
    return sent
  })
}

async function requireEmpty(on: Queryable): Promise<void> {
  const [row] = await on.rows({ text: 'SELECT EXISTS (SELECT FROM assistant_core.document)', values: [] })
  if (row![0] === true) {
    throw new AppError(
      'conflict',
      'the database holds a state already; name another, or drop its schema assistant_core first',
    )
  }
}

async function alone<R>(url: string, work: (on: Queryable) => Promise<R>): Promise<R> {
  return await Database.during(url, (database) =>
    database.found(async (on) => {
      // The server shows who has just gone for a moment longer.
      for (let left = looks; ; left--) {
        const others = await connectionsOf(on)
        if (others === 0) break
        const used = `the database is in use by a daemon (${others} connections); stop it first`
        if (left === 1) throw new AppError('conflict', used)
        await setTimeout(betweenLooks)
      }
      // One whose connections had just broken comes back, and waits here with what it writes.
      if (await hasTables(on)) await on.rows({ text: lockAll, values: [] })
      return await work(on)
    }),
  )
}

/** How many other connections of ours there are now, whatever this transaction saw before. */
async function connectionsOf(on: Queryable): Promise<number> {
  await on.rows({ text: 'SELECT pg_stat_clear_snapshot()', values: [] })
  const [row] = await on.rows({
    text: `SELECT count(*) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = $1 AND pid <> pg_backend_pid()`,
    values: [applicationName],
  })
  return Number(row![0])
}
