/** What an error of a database says, whatever its kind. */
import type { DatabaseError } from 'pg'
import { isMysqlError, mysqlFault, type SourceFault } from './mysql-faults.ts'

/** The columns that a constraint or a unique index is about. */
const constraintColumns = `
  SELECT a.attname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
  WHERE n.nspname = $1 AND c.relname = $2 AND a.attnum = ANY (COALESCE(
    (SELECT conkey FROM pg_constraint WHERE conrelid = c.oid AND conname = $3),
    (SELECT indkey::int2[] FROM pg_index JOIN pg_class i ON i.oid = indexrelid WHERE indrelid = c.oid AND i.relname = $3)))`

/** Reads an error; undefined for one that is not the database's. */
export function faultOf(thrown: unknown): SourceFault | undefined {
  if (isMysqlError(thrown)) return mysqlFault(thrown)
  if (!(thrown instanceof Error) || !('severity' in thrown)) return undefined
  const { code = '', column, schema, table, constraint } = thrown as DatabaseError
  return {
    code,
    table,
    told: column !== undefined,
    columns: async (ask) =>
      column === undefined
        ? (await ask(constraintColumns, [schema, table, constraint])).map(([name]) => String(name))
        : [column],
  }
}
