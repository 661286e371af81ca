/** What the errors of MySQL and MariaDB say, in the words of PostgreSQL, by which errors are told to callers. */
import { quotedName } from '#state/postgres.ts'
import { withNames } from './mysql-columns.ts'

/** Asks the catalogue of a database. */
export type Ask = (text: string, values: readonly unknown[]) => Promise<readonly (readonly unknown[])[]>

/** What an error of a database says. */
export interface SourceFault {
  /** The SQLSTATE that PostgreSQL has for it. */
  readonly code: string
  /** The table that it is about, where that is known. */
  readonly table?: string | undefined
  /** True if it names its column itself. */
  readonly told: boolean
  /** Returns the columns that it is about, of the table and the columns of it that documents show. */
  columns(
    ask: Ask,
    table: readonly [schema: string | null, table: string],
    known: readonly string[],
  ): Promise<readonly string[]>
}

/** The numbers of errors by the SQLSTATE that PostgreSQL has for the same; all others have their own. */
const states: ReadonlyMap<number, string> = new Map(
  Object.entries({
    '57014': [1317, 1969, 3024],
    '23502': [1048, 1263, 1364],
    '23505': [1062, 1169, 1586],
    '23503': [1216, 1217, 1451, 1452],
    '23514': [3819, 4025],
    '42501': [1044, 1142, 1143, 1227, 1370],
    '40001': [1020, 1205, 1213, 3572],
    '22000': [1264, 1265, 1292, 1366, 1406, 1690, 3140],
    P0001: [1644],
  }).flatMap(([state, numbers]) => numbers.map((number) => [number, state] as const)),
)

/** An error of the server, as the driver gives it. */
interface MysqlError extends Error {
  readonly errno: number
  readonly sqlState: string
}

/** Tells whether the server said so; what the driver found has no state. */
export function isMysqlError(error: unknown): error is MysqlError {
  const { errno, sqlState } = (error ?? {}) as { readonly errno?: unknown; readonly sqlState?: unknown }
  return typeof errno === 'number' && typeof sqlState === 'string'
}

/** Returns PostgreSQL's state for an error. */
export function mysqlState({ errno, sqlState }: MysqlError): string {
  return states.get(errno) ?? sqlState
}

/** Numbers that say that rows of others refer to the row. */
const referredTo = new Set([1217, 1451])

/** Reads what an error says of the table and its columns from its words, which sessions that write have in English. */
export function mysqlFault(error: MysqlError): SourceFault {
  const { message } = error
  const last = (pattern: RegExp): RegExpMatchArray | undefined => [...message.matchAll(pattern)].at(-1)
  const code = mysqlState(error)
  const named = (name: string | undefined): SourceFault => ({
    code,
    told: name !== undefined,
    columns: async () => (name === undefined ? [] : [name]),
  })
  switch (code) {
    case '23505': {
      const [, key] = last(/ for key '(?:[^']*\.)?([^'.]+)'/g) ?? []
      return {
        code,
        told: false,
        columns: async (ask, [schema, table]) =>
          (
            await ask(
              `SELECT column_name FROM information_schema.statistics
               WHERE table_schema = COALESCE($1, DATABASE()) AND table_name = $2 AND index_name = $3 ORDER BY seq_in_index`,
              [schema, table, key],
            )
          ).map(([name]) => String(name)),
      }
    }
    case '23503': {
      const [, table, list = ''] = last(/`([^`]+)`, CONSTRAINT `[^`]+` FOREIGN KEY \((`[^)]+`)\)/g) ?? []
      const columns = [...list.matchAll(/`([^`]+)`/g)].map(([, name]) => name!)
      const ofTable = referredTo.has(error.errno) ? { table: '' } : table === undefined ? {} : { table }
      return { code, told: false, ...ofTable, columns: async () => columns }
    }
    case '23514': {
      const [, check] = last(/onstraint [`'](?:[^`']*\.)?([^`'.]+)[`']/gi) ?? []
      return {
        code,
        told: false,
        columns: async (ask, [schema], known) => {
          const rows = await ask(
            `SELECT check_clause FROM information_schema.check_constraints
             WHERE constraint_schema = COALESCE($1, DATABASE()) AND constraint_name = $2`,
            [schema, check],
          )
          const clauses = rows.map(([clause]) => withNames(String(clause)))
          return known.filter((name) => clauses.some((clause) => clause.includes(quotedName(name))))
        },
      }
    }
    default: {
      // Its column stands behind the value, whose text may look like one.
      const [, quoted, name] = last(/(?:column|field) (?:'([^']+)'|(?:`[^`]*`\.)*`([^`]+)`)/gi) ?? []
      return named(quoted ?? name)
    }
  }
}
