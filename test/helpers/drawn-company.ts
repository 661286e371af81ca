/**
 * A company that is drawn: some fifty tables and about a million rows, as a PostgreSQL or a MariaDB makes them of a few
 * statements. Keys are numbers, texts, uuids or composed; columns are of every kind, some of them null now and then, some
 * generated, some with names that nobody should give them.
 */

export type Kind = keyof typeof kinds
export type Database = 'postgres' | 'mariadb'

export interface DrawnColumn {
  readonly name: string
  readonly kind: Kind
  /** Its value of row `n`, in SQL. */
  readonly value: (words: Words) => string
  readonly nullable?: boolean
  readonly generated?: boolean
  readonly comment?: string
  /** The table that it refers to by the key of it. */
  readonly to?: DrawnTable
}

export interface DrawnTable {
  readonly name: string
  readonly rows: number
  readonly key: readonly DrawnColumn[]
  readonly columns: readonly DrawnColumn[]
  /** The table whose rows these belong to, and go with. */
  readonly parent?: DrawnTable
  readonly comment?: string
  /** What has an index besides the key and references. */
  readonly indexed?: readonly string[]
  /** Which rows a person sees, in a rule of ours and in SQL. */
  readonly rule?: { readonly when: string; readonly sql: string }
}

/** What the databases say in different words. */
export interface Words {
  readonly database: Database
  readonly name: (name: string) => string
  readonly rows: (count: number) => string
  readonly day: (days: string) => string
  readonly moment: (minutes: string, zone: '' | '+00') => string
}

const quotedBy = (mark: string) => (name: string) => `${mark}${name.replaceAll(mark, mark + mark)}${mark}`
const text = (value: string): string => `'${value.replaceAll("'", "''")}'`

export const wordsOf: Readonly<Record<Database, Words>> = {
  postgres: {
    database: 'postgres',
    name: quotedBy('"'),
    rows: (count) => `generate_series(1::bigint, ${count}) AS s(n)`,
    day: (days) => `'2020-01-01'::date + (${days})::int`,
    moment: (minutes, zone) =>
      `'2020-01-01${zone}'::timestamp${zone && 'tz'} + (${minutes}) * interval '1 minute 1 microsecond'`,
  },
  mariadb: {
    database: 'mariadb',
    name: quotedBy('`'),
    rows: (count) => `(SELECT CAST(seq AS SIGNED) AS n FROM seq_1_to_${count}) AS s`,
    day: (days) => `'2020-01-01' + INTERVAL (${days}) DAY`,
    moment: (minutes) => `'2020-01-01' + INTERVAL (${minutes}) * 60000001 MICROSECOND`,
  },
}

const labels = ['open', 'on hold', "it's late", 'Ärger'] as const
const oneOf = (values: readonly string[], n: string): string =>
  `CASE ${n} ${values.map((value, at) => `WHEN ${at} THEN ${text(value)}`).join(' ')} END`

/** The kinds of columns: their types, and a value of a number. */
const kinds = {
  id: { types: ['int', 'int'], of: (n: string) => n },
  big: { types: ['bigint', 'bigint'], of: (n: string) => n },
  code: { types: ['varchar(40)', 'varchar(40)'], of: (n: string) => n },
  uuid: { types: ['uuid', 'char(36)'], of: (n: string) => n },
  label: { types: ['text', 'varchar(200)'], of: (n: string) => n },
  mail: { types: ['varchar(80)', 'varchar(80)'], of: (n: string) => `CONCAT('p', ${n} % 5, '@example.com')` },
  choice: { types: ['', ''], of: (n: string) => oneOf(labels, `${n} % 4`) },
  checked: { types: ['varchar(20)', 'varchar(20)'], of: (n: string) => oneOf(labels, `${n} % 4`) },
  money: {
    types: ['numeric(12,2)', 'decimal(12,2)'],
    of: (n: string) => `(${n} * 37 % 100000 - 5000) * 0.25`,
  },
  exact: { types: ['numeric(24,8)', 'decimal(24,8)'], of: (n: string) => `${n} * 1234567890.12345678` },
  ratio: { types: ['float8', 'double'], of: (n: string) => `(${n} % 1000) / 8.0` },
  score: { types: ['int', 'int'], of: (n: string) => `${n} * 13 % 1000` },
  flag: { types: ['boolean', 'tinyint(1)'], of: (n: string) => `${n} % 3 = 0` },
  day: { types: ['date', 'date'], of: (n: string, words: Words) => words.day(`${n} * 11 % 2000`) },
  moment: {
    types: ['timestamptz', 'timestamp(6) NULL'],
    of: (n: string, words: Words) => words.moment(`${n} * 17 % 2000000`, '+00'),
  },
  local: {
    types: ['timestamp', 'datetime(6)'],
    of: (n: string, words: Words) => words.moment(`${n} * 19 % 2000000`, ''),
  },
  json: {
    types: ['jsonb', 'json'],
    of: (n: string, { database }: Words) =>
      `CONCAT('{"a": [', ${n} % 7, ', null], "b": "x"}')${database === 'postgres' ? '::jsonb' : ''}`,
  },
  bytes: {
    types: ['bytea', 'blob'],
    of: (_: string, { database }: Words) => (database === 'postgres' ? `'\\x00'::bytea` : `x'00'`),
  },
} as const

/** Name, rows, key, then the tables that a row refers to; rows `of` another table belong to it. */
const plan = `
region 8 code
currency 12 code
warehouse 40 code region
department 25 id
employee 600 id department region
supplier 1500 uuid currency
customer 20000 id region employee currency
customer_address 30000 of:customer region
product_group 60 code
product 8000 code product_group supplier
product_price 24000 pair currency
stock_level 40000 pair product warehouse
stock_movement 180000 big product warehouse employee
sales_order 30000 code customer employee
sales_order_line 90000 of:sales_order product
invoice 50000 code customer currency
invoice_line 150000 of:invoice product
payment 40000 uuid invoice
reminder 9000 id invoice
ledger_account 300 code
ledger_entry 120000 big ledger_account
cost_center 90 code department
2024_budget 1000 period cost_center
purchase_order 9000 code supplier
purchase_order_line 27000 of:purchase_order product
goods_receipt 7000 id purchase_order
quotation 6000 code customer
lead 5000 uuid employee
campaign 60 id
visit 8000 id customer employee
contract 900 code customer
subscription 1200 id contract product
ticket 15000 id customer employee
asset 2000 code department
maintenance 3000 id asset employee
vehicle 80 code employee
trip 12000 big vehicle
leave_request 2500 id employee
timesheet 30000 period employee
project 300 code customer
task 4000 id project employee
milestone 700 id project
order 500 id customer
Überweisung 1000 uuid
it's_odd 300 id
camelCaseThing 400 period
with_space. 200 id
SELECT 50 code
tax_rate 20 period
exchange_rate 5000 pair currency
holiday 100 id region
event_log 90000 big
mail_queue 3000 uuid
price_list 40 code currency
`

const oddNames = [
  'from',
  'Größe',
  'with space',
  'camelCase',
  'SELECT',
  'owner',
  'a.b',
  '100%',
  'key',
  'in',
  '"q"',
  'it`s',
]
const titles = ['name', 'title', 'subject', 'description', 'label']

/** Draws a company; the same of the same seed. */
export function drawCompany(seed = 1): readonly DrawnTable[] {
  let state = seed
  const below = (most: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0
    return (state >>> 8) % most
  }
  const tables = new Map<string, DrawnTable>()
  for (const line of plan.trim().split('\n')) {
    const [word, rows, how, ...refers] = line.split(' ') as [string, string, string, ...string[]]
    const name = word.replace('with_space.', 'with space.x')
    const parent = tables.get(how.replace('of:', ''))
    const key = parent ? keyOfRow(parent) : keyColumns(how as keyof typeof keys, name)
    const columns = refers.map((to, at) => reference(tables.get(to)!, at, below(7919) + 1))
    columns.push(...drawnColumns(below, name, columns.length))
    const rule = ruleOf(columns.at(-1)!)
    const table: DrawnTable = {
      name,
      rows: Number(rows),
      key,
      columns,
      rule,
      indexed: [columns.at(-1)!.name],
      ...(parent && { parent }),
      ...(below(2) === 0 && { comment: `What is kept of "${name}": 'all' # of it\nand more.` }),
    }
    tables.set(word, table)
  }
  return [...tables.values()]
}

/** Keys by their columns, with what they are of row `n`. */
const keys = {
  id: [['id', 'id', (n: string) => n]],
  big: [['nr', 'big', (n: string) => n]],
  code: [
    [
      'code',
      'code',
      (n: string, of: string) =>
        `CONCAT(${text(of.slice(0, 3).toUpperCase())}, '-', LPAD(CONCAT(${n}), 6, '0'))`,
    ],
  ],
  uuid: [['id', 'uuid', (n: string) => `CONCAT('00000000-0000-4000-8000-', LPAD(CONCAT(${n}), 12, '0'))`]],
  pair: [
    ['part', 'id', (n: string) => `${n} DIV 7`],
    ['line', 'id', (n: string) => `${n} % 7`],
  ],
  period: [
    ['period', 'code', (n: string) => `CONCAT('P/', ${n} % 36)`],
    ['nr', 'big', (n: string) => `${n} DIV 36`],
  ],
} as const satisfies Record<string, readonly (readonly [string, Kind, (n: string, of: string) => string])[]>

function keyColumns(how: keyof typeof keys, name: string): DrawnColumn[] {
  return keys[how].map(([column, kind, of]) => keyed(column, kind, of('n', name)))
}

function keyed(name: string, kind: Kind, value: string, to?: DrawnTable): DrawnColumn {
  const typed = ({ database }: Words): string =>
    kind === 'uuid' && database === 'postgres' ? `(${value})::uuid` : value
  return { name, kind, value: typed, ...(to && { to }) }
}

/** The key of table `of` at another number. */
function keyAt(of: DrawnTable, number: string): (words: Words) => string {
  return (words) => of.key[0]!.value(words).replaceAll(/\bn\b/g, `(${number})`)
}

/** Three rows of each, by the key of what they belong to. */
function keyOfRow(parent: DrawnTable): DrawnColumn[] {
  const [{ kind }] = parent.key as [DrawnColumn]
  const value = keyAt(parent, `1 + (n - 1) DIV 3 % ${parent.rows}`)
  return [
    { name: `${parent.name}_${kind}`, kind, value, to: parent },
    {
      name: 'line',
      kind: 'id',
      value: () => `1 + (n - 1) % 3 + 3 * ((n - 1) DIV ${parent.rows * 3})`,
    },
  ]
}

function reference(to: DrawnTable, at: number, step: number): DrawnColumn {
  const [{ kind }] = to.key as [DrawnColumn]
  const value = keyAt(to, `1 + n * ${step} % ${to.rows}`)
  const nullable = at > 0
  return {
    name: `${to.name}_${kind}`,
    kind,
    value: nullable ? (words) => orNull(value(words), 17) : value,
    nullable,
    to,
  }
}

function orNull(value: string, each: number): string {
  return `CASE WHEN n % ${each} = 0 THEN NULL ELSE ${value} END`
}

/** What a column's values go on by from row to row: they come to all that there are of its kind. */
const steps = [1, 7, 11, 13, 17, 19, 23, 29, 31]

/** Columns of their own: often a title, money, some of any kind, and one that a rule asks for, which comes last. */
function drawnColumns(below: (most: number) => number, table: string, references: number): DrawnColumn[] {
  const of = (name: string, kind: Kind, nullable = false): DrawnColumn => {
    const n = `(n * ${steps[below(steps.length)]!} + ${below(1000)})`
    const value = (words: Words): string => kinds[kind].of(n, words)
    return { name, kind, nullable, value: nullable ? (words) => orNull(value(words), 5 + below(9)) : value }
  }
  const columns: DrawnColumn[] = []
  if (below(5) > 0 || references === 0)
    columns.push({
      name: titles[below(titles.length)]!,
      kind: 'label',
      value: () => `CONCAT(${text(table)}, ' w', n)`,
      comment: `How people call it: "${table}"\n# or not`,
    })
  const amount = of('amount', 'money', below(2) === 0)
  columns.push(amount)
  if (below(3) === 0)
    columns.push({ ...amount, name: 'gross', nullable: true, generated: true, value: () => 'amount * 2' })
  if (below(2) === 0) columns.push(of('created_at', 'moment'))
  if (below(3) === 0) columns.push(of('updated_at', 'local', true))
  const drawn = [
    'choice',
    'checked',
    'exact',
    'ratio',
    'score',
    'flag',
    'day',
    'moment',
    'local',
    'json',
    'bytes',
  ] as const
  const odd = below(oddNames.length)
  for (let at = 2 + below(3); at > 0; at--) {
    const kind = drawn[below(drawn.length)]!
    columns.push(of(at === 2 ? oddNames[odd]! : `${kind}_${at}`, kind, below(2) === 0 || kind === 'bytes'))
  }
  const [name, kind] = (
    [
      ['rep', 'mail'],
      ['hidden', 'flag'],
      ['stage', 'choice'],
      ['level', 'score'],
    ] as const
  )[below(4)]!
  columns.push(of(name, kind))
  return columns
}

function ruleOf({ name, kind }: DrawnColumn): NonNullable<DrawnTable['rule']> {
  if (kind === 'mail') return { when: `doc.${name} = user.id`, sql: `${name} = 'p3@example.com'` }
  if (kind === 'flag') return { when: `not doc.${name}`, sql: `NOT ${name}` }
  if (kind === 'choice') return { when: `doc.${name} != 'on hold'`, sql: `${name} <> 'on hold'` }
  return { when: `doc.${name} < 400`, sql: `${name} < 400` }
}

/** The statements that make a table and its rows. */
export function statementsOf(table: DrawnTable, database: Database): readonly string[] {
  const words = wordsOf[database]
  const { name } = words
  const isPostgres = database === 'postgres'
  const all = [...table.key, ...table.columns]
  const made: string[] = []
  const typeOf = ({ name: column, kind }: DrawnColumn): string => {
    if (kind !== 'choice') return kinds[kind].types[isPostgres ? 0 : 1]
    const values = labels.map(text).join(', ')
    if (!isPostgres) return `enum(${values})`
    const type = name(`${table.name}_${column}`)
    made.push(`CREATE TYPE ${type} AS ENUM (${values})`)
    return type
  }
  const lines = all.map((column) => {
    const { name: own, kind, nullable = false, generated = false, comment } = column
    const type = typeOf(column)
    return [
      name(own),
      type,
      ...(generated ? [`GENERATED ALWAYS AS (${column.value(words)}) STORED`] : nullable ? [] : ['NOT NULL']),
      ...(kind === 'checked' ? [`CHECK (${name(own)} IN (${labels.map(text).join(', ')}))`] : []),
      ...(!isPostgres && comment !== undefined ? [`COMMENT ${text(comment)}`] : []),
    ]
      .join(' ')
      .replace('NULL NOT NULL', 'NOT NULL DEFAULT CURRENT_TIMESTAMP(6)')
  })
  lines.push(`PRIMARY KEY (${table.key.map((one) => name(one.name)).join(', ')})`)
  for (const { name: own, to } of all)
    if (to)
      lines.push(
        `FOREIGN KEY (${name(own)}) REFERENCES ${name(to.name)} (${name(to.key[0]!.name)})${to === table.parent ? ' ON DELETE CASCADE' : ''}`,
      )
  const told = !isPostgres && table.comment !== undefined ? ` COMMENT ${text(table.comment)}` : ''
  made.push(`CREATE TABLE ${name(table.name)} (${lines.join(', ')})${told}`)
  const filled = all.filter(({ generated }) => !generated)
  // An enumeration takes no text that was computed.
  const valueOf = (column: DrawnColumn): string => {
    const value = column.value(words)
    if (!isPostgres) return value
    const typed = column.kind === 'choice' ? `(${value})::${name(`${table.name}_${column.name}`)}` : value
    return typed.replaceAll(' DIV ', ' / ')
  }
  made.push(
    `INSERT INTO ${name(table.name)} (${filled.map((one) => name(one.name)).join(', ')})
     SELECT ${filled.map(valueOf).join(', ')} FROM ${words.rows(table.rows)}`,
  )
  const searched = [
    ...(table.indexed ?? []),
    ...(isPostgres ? table.columns.filter(({ to }) => to).map((one) => one.name) : []),
  ]
  for (const one of searched)
    made.push(`CREATE INDEX ${isPostgres ? '' : name(`of_${one}`)} ON ${name(table.name)} (${name(one)})`)
  if (isPostgres) {
    if (table.comment !== undefined)
      made.push(`COMMENT ON TABLE ${name(table.name)} IS ${text(table.comment)}`)
    for (const { name: own, comment } of all)
      if (comment !== undefined)
        made.push(`COMMENT ON COLUMN ${name(table.name)}.${name(own)} IS ${text(comment)}`)
  }
  return made
}

/** The statements that make a company: its tables, a view, a table without a key, and what the database knows of them. */
export function companyStatements(tables: readonly DrawnTable[], database: Database): readonly string[] {
  const { name } = wordsOf[database]
  const isPostgres = database === 'postgres'
  const begin = isPostgres
    ? // References hold as they are drawn; looking each up would take as long as the rest.
      ["SET session_replication_role = 'replica'", "SET TIME ZONE 'UTC'", 'SET synchronous_commit = off']
    : [
        "SET SESSION foreign_key_checks = 0, unique_checks = 0, time_zone = '+00:00', sql_mode = 'STRICT_ALL_TABLES'",
      ]
  const end = isPostgres
    ? ['GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader', 'ANALYZE']
    : [`ANALYZE TABLE ${tables.map((table) => name(table.name)).join(', ')}`]
  return [
    ...begin,
    ...tables.flatMap((table) => statementsOf(table, database)),
    `CREATE VIEW customer_balance AS SELECT c.id, c.region_code AS region, COUNT(*) AS invoices, SUM(i.amount) AS total
     FROM customer c JOIN invoice i ON i.customer_id = c.id GROUP BY c.id, c.region_code`,
    'CREATE TABLE jotting (said text)',
    ...end,
  ]
}
