// @ts-check
/**
 * Refuses statements that ask for the engine's settings instead of the tables: found in the engine's own parse of the
 * statement, where neither quotes, schemas nor comments hide a name, and of each statement that it computes.
 */

/** @typedef {import('@duckdb/node-api').DuckDBConnection} Connection */

const nobodysBusiness = "what the engine is set to is nobody's business here; only the tables are"
/** The refusal of a statement that the engine shows no parse of: a pragma, or a command. */
export const notShown = "a pragma or command tells of the engine; only the tables are anybody's business here"
/** Functions and views that tell of the engine. Of its catalogue, those that describe tables are allowed. */
const ofTheEngine =
  /^(duckdb_(?!(tables|columns|views|schemas|constraints|indexes|types|functions|keywords|sequences|dependencies)$)|pragma_(?!(table_info|show)$)|pg_(settings|prepared_statements)$|(current_setting|getvariable|getenv|which_secret|all_profiling_output|database_list|database_size|extension_versions|metadata_info|storage_info|platform|user_agent|checkpoint|force_checkpoint)$)/
/** Pragmas that ask for tables and have no parse of their own. */
const pragmaOfTables = /^\s*pragma\s+(table_info|show|show_tables|show_tables_expanded)\b/i
const maxDepth = 5

/**
 * Returns the refusal; undefined when the statement asks for tables only, or has a fault that the engine itself reports.
 * @param {Connection} connection @param {string} sql
 * @returns {Promise<string | undefined>}
 */
export async function askedOfEngine(connection, sql, depth = 0) {
  if (depth > maxDepth) return 'query() within query() goes deeper than anybody needs'
  const reader = await connection.runAndReadAll(`SELECT json_serialize_sql('${sql.replaceAll("'", "''")}')`)
  const parsed = JSON.parse(String(reader.getRows()[0]?.[0]))
  // The engine reports syntax errors in its own words; a statement that parses without being shown is no plain SELECT.
  if (parsed.error) return parsed.error_type === 'parser' || pragmaOfTables.test(sql) ? undefined : notShown
  /** @type {unknown[]} */
  const left = [parsed.statements]
  while (left.length > 0) {
    const node = /** @type {any} */ (left.pop())
    if (typeof node !== 'object' || node === null) continue
    left.push(...Object.values(node))
    const name = String(
      node.function_name ?? (node.type === 'BASE_TABLE' ? node.table_name : ''),
    ).toLowerCase()
    if (ofTheEngine.test(name)) return nobodysBusiness
    if (name === 'json_execute_serialized_sql') return 'a statement is written as it is, not as JSON'
    if (node.type === 'FUNCTION' && (name === 'query' || name === 'query_table')) {
      const texts = node.children.slice(0, 1).flatMap(textsOf)
      if (texts.includes(undefined))
        return `${name}() takes texts that stand in the statement, joined by || at most`
      for (const text of texts) {
        const refused = await askedOfEngine(
          connection,
          name === 'query' ? text : `FROM ${quoted(text)}`,
          depth + 1,
        )
        if (refused) return refused
      }
    }
  }
  return undefined
}

/** Returns an argument's constant texts; undefined where only the engine could compute. @param {any} node @returns {any[]} */
function textsOf(node) {
  if (node.class === 'CONSTANT') return typeof node.value.value === 'string' ? [node.value.value] : []
  if (node.function_name === 'list_value') return node.children.flatMap(textsOf)
  if (node.function_name !== '||') return [undefined]
  const [left, right] = node.children.map(textsOf)
  return left.length === 1 && right.length === 1 && left[0] !== undefined && right[0] !== undefined
    ? [left[0] + right[0]]
    : [undefined]
}

/** Quotes a name for a statement. @param {string} name */
export function quoted(name) {
  return `"${name.replaceAll('"', '""')}"`
}
