/** The columns of MySQL and MariaDB in the words of PostgreSQL's catalogue. */
import { quotedName } from '#state/postgres.ts'
import type { CatalogueColumn } from './catalogue.ts'

/** The types by their names in the catalogue of PostgreSQL, by which they are compared. */
const types: Readonly<Record<string, string>> = {
  char: 'varchar',
  varchar: 'varchar',
  tinytext: 'text',
  text: 'text',
  mediumtext: 'text',
  longtext: 'text',
  enum: 'enum',
  set: 'name',
  uuid: 'name',
  inet4: 'inet',
  inet6: 'inet',
  time: 'time',
  tinyint: 'int2',
  smallint: 'int2',
  mediumint: 'int4',
  int: 'int4',
  bigint: 'int8',
  year: 'int2',
  decimal: 'numeric',
  float: 'float4',
  double: 'float8',
  date: 'date',
  datetime: 'timestamp',
  timestamp: 'timestamptz',
  json: 'jsonb',
}

/** Returns a check with its names as PostgreSQL quotes them; backquotes in its texts stay. */
export function withNames(clause: string): string {
  return clause.replace(/'(?:[^'\\]|''|\\.)*'|`((?:[^`]|``)*)`/gs, (all, name?: string) =>
    name === undefined ? all : quotedName(name.replaceAll('``', '`')),
  )
}

/** Returns a column of `information_schema`; `clauses` are the checks of its table. */
export function mysqlColumn(
  [
    ,
    ,
    name,
    type,
    written,
    nullable,
    extra,
    precision,
    scale,
    comment,
    initial,
    rights = '',
  ]: readonly unknown[],
  clauses: readonly string[],
): CatalogueColumn {
  const told = String(written)
  const isEnum = type === 'enum'
  const numbered = /auto_increment/i.test(String(extra))
  const isDecimal = type === 'decimal'
  // MariaDB has JSON as texts that a check holds to it.
  const isJson = clauses.some(
    (clause) => clause.toLowerCase() === `json_valid(${quotedName(String(name)).toLowerCase()})`,
  )
  const plain = told === 'bit(1)' ? 'bool' : isJson ? 'jsonb' : (types[String(type)] ?? String(type))
  return {
    name: String(name),
    type: plain,
    written: told,
    kind: isEnum ? 'e' : 'b',
    // MariaDB tells of a default that is no value.
    filled: numbered || (initial !== null && initial !== 'NULL'),
    drawable: true,
    numbered,
    insertable: /\binsert\b/i.test(String(rights)),
    updatable: /\bupdate\b/i.test(String(rights)),
    nullable: nullable === 'YES',
    generated: /\b(?:VIRTUAL|STORED|PERSISTENT) GENERATED\b/i.test(String(extra)),
    precision: isDecimal ? Number(precision) : null,
    scale: isDecimal ? Number(scale) : null,
    deterministic: true,
    labels: isEnum ? textsIn(told) : (clauses.map((one) => choicesIn(one, String(name))).find(Boolean) ?? []),
    comment: comment === '' ? null : String(comment),
  }
}

/** Returns the texts of a list in SQL. */
function textsIn(list: string): readonly string[] {
  return [...list.matchAll(/'((?:[^'\\]|''|\\.)*)'/g)].map(([, text]) =>
    text!.replaceAll("''", "'").replace(/\\(.)/g, '$1'),
  )
}

/** Returns the texts that a check lets a column have. */
function choicesIn(clause: string, column: string): readonly string[] | undefined {
  const [, name, list] = /^\(?("(?:[^"]|"")+") in \((.*?)\)\)?$/s.exec(clause.replaceAll("\\'", "'")) ?? []
  const texts = name === quotedName(column) ? textsIn(list!.replace(/_utf8mb[34]'/g, "'")) : []
  return texts.length > 0 ? texts : undefined
}
