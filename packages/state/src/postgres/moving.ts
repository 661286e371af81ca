/**
 * Brings the documents of tables up to format 2, which had all of them in one table, over into a table for each collection: in
 * batches, while daemons of before work on. What they change meanwhile is noted, and taken again at the end, when nobody writes.
 */
import type { Queryable } from './servers/connection.ts'
import { tableOf } from './indexes.ts'
import { quoted } from './language.ts'

/** Runs work in a transaction of its own, which no other that moves or makes tables runs beside. */
type Found = <R>(work: (on: Queryable) => Promise<R>) => Promise<R>

/** What the caller knows of the tables. */
export interface MovingTables {
  /** Statements that make the new table under a name. */
  readonly made: (name: string) => readonly string[]
  /** Makes the part of that table for a collection where it is missing. */
  readonly part: (on: Queryable, collection: string, whole: string) => Promise<void>
}

const copiedAtOnce = 5_000
/** The number of changes that may be left for the end. */
const fewChanges = 500
/** Milliseconds that a statement may take. */
const patience = 3_600_000

const noting = [
  'CREATE TABLE assistant_core.moved (collection text COLLATE "C" NOT NULL, id bytea NOT NULL)',
  `CREATE FUNCTION assistant_core.note_moved() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF TG_OP = 'DELETE' THEN INSERT INTO assistant_core.moved VALUES (OLD.collection, OLD.id);
      ELSE INSERT INTO assistant_core.moved VALUES (NEW.collection, NEW.id); END IF;
      RETURN NULL;
    END $$`,
  `CREATE TRIGGER note_moved AFTER INSERT OR UPDATE OR DELETE ON assistant_core.document
    FOR EACH ROW EXECUTE FUNCTION assistant_core.note_moved()`,
]

/** Copies all documents but those of the last changes; goes on where an earlier attempt ended. */
export async function moveAhead(found: Found, tables: MovingTables): Promise<void> {
  await found(async (on) => {
    const [row] = await run(on, "SELECT to_regclass('assistant_core.moving') IS NULL")
    if (row![0] === true) for (const text of [...tables.made('moving'), ...noting]) await run(on, text)
  })
  for (let name = ''; ;) {
    const next = `SELECT collection FROM assistant_core.document WHERE collection > $1 ORDER BY collection LIMIT 1`
    const [row] = await found((on) => run(on, next, [name]))
    if (!row) break
    name = row[0] as string
    await found((on) => tables.part(on, name, 'moving'))
    while ((await found((on) => copySome(on, name))) === copiedAtOnce);
  }
  while ((await found((on) => takeChanges(on, tables))) > fewChanges);
}

/** Takes the last changes and puts the new table in the place of the old one, in a transaction beside which nobody writes. */
export async function endMoving(on: Queryable, tables: MovingTables): Promise<void> {
  while ((await takeChanges(on, tables)) > 0);
  await run(
    on,
    'DROP TABLE assistant_core.entry, assistant_core.collection, assistant_core.document, assistant_core.moved',
  )
  await run(on, 'DROP FUNCTION assistant_core.note_moved')
  await run(on, 'ALTER TABLE assistant_core.moving RENAME TO document')
}

/** Copies the next documents of a collection, behind the last that is there; returns how many. */
async function copySome(on: Queryable, name: string): Promise<number> {
  const table = `assistant_core.${tableOf(name)}`
  const text = `WITH copied AS (
      INSERT INTO ${table} (collection, id, body) SELECT collection, id, body FROM assistant_core.document
      WHERE collection = ${quoted(name)} AND id > coalesce((SELECT id FROM ${table} ORDER BY id DESC LIMIT 1), '')
      ORDER BY id LIMIT ${copiedAtOnce} RETURNING 1
    ) SELECT count(*) FROM copied`
  const [row] = await run(on, text)
  return Number(row![0])
}

/** Takes documents again that were changed since they were copied, as they are now; returns how many changes there were. */
async function takeChanges(on: Queryable, tables: MovingTables): Promise<number> {
  const changes = await run(
    on,
    `DELETE FROM assistant_core.moved WHERE ctid = ANY (ARRAY(SELECT ctid FROM assistant_core.moved LIMIT ${copiedAtOnce}))
      RETURNING collection, id`,
  )
  for (const name of new Set(changes.map(([collection]) => collection as string))) {
    const ids = changes.filter(([collection]) => collection === name).map(([, id]) => id)
    await tables.part(on, name, 'moving')
    const table = `assistant_core.${tableOf(name)}`
    await run(
      on,
      `INSERT INTO ${table} (collection, id, body) SELECT collection, id, body FROM assistant_core.document
        WHERE collection = ${quoted(name)} AND id = ANY ($1::bytea[])
        ON CONFLICT (collection, id) DO UPDATE SET body = excluded.body`,
      [ids],
    )
    await run(
      on,
      `DELETE FROM ${table} t WHERE id = ANY ($1::bytea[]) AND NOT EXISTS (
        SELECT FROM assistant_core.document d WHERE d.collection = ${quoted(name)} AND d.id = t.id)`,
      [ids],
    )
  }
  return changes.length
}

async function run(
  on: Queryable,
  text: string,
  values: readonly unknown[] = [],
): Promise<readonly unknown[][]> {
  await on.rows({ text: 'SET LOCAL statement_timeout = 0', values: [] })
  return await on.rows({ text, values, patience })
}
