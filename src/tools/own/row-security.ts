/** Finds the cases in which PostgreSQL silently bypasses row-level security for the statements of tools. */
import type { PoolClient } from 'pg'

/**
 * Asks for the tables and views on which this transaction holds locks: an analysed statement has locked everything that
 * it reaches, through views too.
 */
const question = `
  SELECT format('%I.%I', n.nspname, c.relname) AS name, c.relkind = 'v' AS view,
    c.relrowsecurity AS secured, c.relrowsecurity AND NOT row_security_active(c.oid) AS passed,
    lower(coalesce(option_value, 'off')) IN ('on', 'true', 'yes', '1') AS invoker,
    r.rolname AS login, r.rolsuper OR r.rolbypassrls AS above,
    current_setting('server_version_num')::int >= 150000 AS can
  FROM pg_locks AS l JOIN pg_class AS c ON c.oid = l.relation JOIN pg_namespace AS n ON n.oid = c.relnamespace
    JOIN pg_roles AS r ON r.rolname = current_user
    LEFT JOIN LATERAL pg_options_to_table(c.reloptions) ON option_name = 'security_invoker'
  WHERE l.pid = pg_backend_pid() AND l.locktype = 'relation' AND c.relkind IN ('r', 'p', 'v')
    AND n.nspname NOT IN ('pg_catalog', 'information_schema')
  ORDER BY 1`

interface Reached {
  readonly name: string
  readonly view: boolean
  readonly secured: boolean
  readonly passed: boolean
  readonly invoker: boolean
  readonly login: string
  readonly above: boolean
  readonly can: boolean
}

/** Tells where row-level security does not hold for a statement analysed in this transaction: for its login, or in it. */
export async function passedOver(
  client: PoolClient,
): Promise<{ readonly ofLogin?: string; readonly ofStatement: readonly string[] }> {
  // Databases that only speak PostgreSQL's protocol may lack these catalogues.
  const { rows } = await client.query<Reached>(question).catch((): { rows: Reached[] } => ({ rows: [] }))
  const { login = '', above = false } = rows[0] ?? {}
  if (above)
    return {
      ofLogin: `"${login}" is a superuser or has BYPASSRLS: no row-level security binds it`,
      ofStatement: [],
    }
  const isSecured = rows.some(({ secured }) => secured)
  const ofStatement = rows.flatMap(({ name, view, passed, invoker, can }) => {
    if (passed) return [`"${login}" owns ${name}, whose row-level security binds its owner only by FORCE`]
    if (!view || invoker || !isSecured) return []
    const way = can ? 'security_invoker is not set' : 'security_invoker comes with PostgreSQL 15'
    return [`the view ${name} reads what its owner may read, not "${login}": ${way}`]
  })
  return { ofStatement }
}
