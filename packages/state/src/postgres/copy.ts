/** Reads and writes the whole state in PostgreSQL at once, while no daemon uses it. */
import { setTimeout } from 'node:timers/promises'
import { AppError } from '#leaf/errors.ts'
import { type CollectionDigest, digestsOf, sizeOfState, type Moved, requireSame } from '../copy.ts'
import { requireKnownSchema } from '../migrate.ts'
import { applicationName, type Queryable } from './servers/connection.ts'
import { Database } from './servers/database.ts'
import { idBytes } from './language.ts'
import { wholeState } from './picture.ts'
import { lockAll } from './running/locks.ts'
import { hasTables, makeTable, openTables, readStateHead, writeSchema } from './tables.ts'
import type { State } from '../embedded/state.ts'

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

/** Throws AppError `conflict` for a database that holds a state or is used by a daemon. */
export async function requireEmptyPostgres(url: string): Promise<void> {
  await alone(url, async (on) => {
    if (await hasTables(on)) await requireEmpty(on)
  })
}

/** Writes a state into a database that holds none, all or nothing. AppError `conflict` when it holds one or a daemon uses it. */
export async function writePostgres(
  state: State,
  url: string,
  moved: Moved = () => undefined,
): Promise<readonly CollectionDigest[]> {
  const all = sizeOfState(state)
  let done = 0
  return await alone(url, async (on) => {
    await openTables(on, state.schema)
    await requireEmpty(on)
    for (const table of state.tables.values()) {
      await makeTable(on, { name: table.name })
      const documents = [...table.entries()].map(([, document]) => document)
      for (let from = 0; from < documents.length; from += atOnce) {
        const some = documents.slice(from, from + atOnce)
        await on.rows({
          text: `INSERT INTO assistant_core.document (collection, id, body)
            SELECT $1, d.* FROM unnest($2::bytea[], $3::text[]) AS d`,
          values: [table.name, some.map(({ id }) => idBytes(id)), some.map((one) => JSON.stringify(one))],
        })
        moved((done += some.length), all)
      }
    }
    await writeSchema(on, state.schema)
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
      // The server lists a closed connection for a moment longer.
      for (let left = looks; ; left--) {
        const others = await connectionsOf(on)
        if (others === 0) break
        const used = `the database is in use by a daemon (${others} connections); stop it first`
        if (left === 1) throw new AppError('conflict', used)
        await setTimeout(betweenLooks)
      }
      // A daemon whose connections had just broken comes back, and its writes wait for this lock.
      if (await hasTables(on)) await lockAll(on)
      return await work(on)
    }),
  )
}

/** Counts our other connections as of now, whatever this transaction saw before. */
async function connectionsOf(on: Queryable): Promise<number> {
  await on.rows({ text: 'SELECT pg_stat_clear_snapshot()', values: [] })
  const [row] = await on.rows({
    text: `SELECT count(*) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name LIKE $1 AND pid <> pg_backend_pid()`,
    values: [`${applicationName}%`],
  })
  return Number(row![0])
}
