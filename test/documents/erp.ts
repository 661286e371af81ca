/** A company's own database, and a site whose doctypes lie in it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Client } from 'pg'
import { createLog } from '#leaf/log.ts'
import type { Documents } from '../../src/documents/documents.ts'
import { SiteTables } from '../../src/documents/sources/site-tables.ts'
import { type Fault, faultText } from '#site/site-files.ts'
import { readSources } from '../../src/settings/sources.ts'
import { blocksOf } from '../helpers/readme.ts'
import type { TestMariadb } from '../helpers/mariadb.ts'
import type { TestPostgres } from '../helpers/postgres.ts'
import { type Company, openCompany, root, siteOf } from './trading-company.ts'

/** The tables: customers of sales representatives, with addresses; invoices of customers. */
export const erp = `
  CREATE SCHEMA erp;
  CREATE TYPE erp.kind AS ENUM ('company', 'person');
  CREATE TABLE erp.staff (id int PRIMARY KEY, email text NOT NULL);
  CREATE TABLE erp.customer (id serial PRIMARY KEY, name text NOT NULL, kind erp.kind NOT NULL, country char(2),
    rep int REFERENCES erp.staff, credit numeric(12,2), secret text, created_at timestamptz NOT NULL DEFAULT now());
  COMMENT ON TABLE erp.customer IS 'Whom we sell to.'; COMMENT ON COLUMN erp.customer.credit IS 'What they may owe.';
  CREATE TABLE erp.address (customer_id int NOT NULL REFERENCES erp.customer ON DELETE CASCADE, line int NOT NULL,
    city text, PRIMARY KEY (customer_id, line));
  CREATE TABLE erp.invoice (number text PRIMARY KEY, customer_id int NOT NULL REFERENCES erp.customer, due date,
    total numeric(12,2), paid boolean NOT NULL DEFAULT false, state text CHECK (state IN ('open', 'closed')));
  CREATE TABLE erp.jotting (said text);
  INSERT INTO erp.staff VALUES (1, 'ann@example.com'), (2, 'bob@example.com');
  INSERT INTO erp.customer (name, kind, country, rep, credit, secret, created_at)
    SELECT 'Customer ' || n, (ARRAY['company', 'person'])[1 + n % 2]::erp.kind, (ARRAY['DE', 'FR'])[1 + n % 2], 1 + n % 2,
      n * 10.25, 'word' || n, '2026-01-01'::timestamptz + n * interval '1 hour 1 microsecond' FROM generate_series(1, 40) n;
  INSERT INTO erp.address SELECT n, 1, 'City ' || n FROM generate_series(1, 40) n;
  INSERT INTO erp.address VALUES (2, 2, 'Paris');
  INSERT INTO erp.invoice SELECT 'I-' || n, 1 + n % 40, '2026-02-01'::date + n, n * 1.10, n % 3 = 0, 'open' FROM generate_series(1, 100) n;
  CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA erp TO reader; GRANT SELECT ON ALL TABLES IN SCHEMA erp TO reader`

/** The same in MariaDB. */
export const mariaErp = `
  CREATE TABLE staff (id int PRIMARY KEY, email varchar(100) NOT NULL);
  CREATE TABLE customer (id int AUTO_INCREMENT PRIMARY KEY, name varchar(100) NOT NULL,
    kind enum('company', 'person') NOT NULL, country char(2), rep int, credit decimal(12,2), secret text,
    created_at timestamp(6) NULL);
  CREATE TABLE address (customer_id int NOT NULL, line int NOT NULL, city text, PRIMARY KEY (customer_id, line));
  CREATE TABLE invoice (number varchar(40) PRIMARY KEY, customer_id int NOT NULL, due date, total decimal(12,2),
    paid tinyint(1) NOT NULL DEFAULT 0);
  INSERT INTO staff VALUES (1, 'ann@example.com'), (2, 'bob@example.com');
  INSERT INTO customer (name, kind, country, rep, credit, secret, created_at)
    SELECT CONCAT('Customer ', seq), ELT(1 + seq % 2, 'company', 'person'), ELT(1 + seq % 2, 'DE', 'FR'), 1 + seq % 2,
      seq * 10.25, CONCAT('word', seq), '2026-01-01' + INTERVAL seq HOUR + INTERVAL 1 MICROSECOND FROM seq_1_to_40;
  INSERT INTO address SELECT seq, 1, CONCAT('City ', seq) FROM seq_1_to_40;
  INSERT INTO address VALUES (2, 2, 'Paris');
  INSERT INTO invoice SELECT CONCAT('I-', seq), 1 + seq % 40, '2026-02-01' + INTERVAL seq DAY, seq * 1.10, seq % 3 = 0
    FROM seq_1_to_100`

/** The example of the manual. */
export const customer = blocksOf(readFileSync(join(root, 'docs/your-own-database.md'), 'utf8'))[0]!.text
export const address = 'doctype: Address\nchild: true\nfields: [{ fieldname: city, type: text }]'
export const invoice = `
doctype: Invoice
from: { source: erp, table: erp.invoice, key: [number], search: [name] }
fields:
  - { fieldname: customer, type: link, doctype: Customer, column: customer_id }
  - { fieldname: due, type: date }
  - { fieldname: total, type: currency }
  - { fieldname: paid, type: check }
permissions:
  - { role: Clerk, actions: [read], when: "not doc.paid" }
  - { role: Boss, actions: [read, report] }
`
/** A doctype of our own whose documents link to theirs. */
export const visit = `
doctype: Visit
naming: { rule: series, series: "V-#" }
fields: [{ fieldname: customer, type: link, doctype: Customer, required: true }]
permissions: [{ role: Clerk, actions: [read, create, delete] }]
`

export interface Office extends Company {
  readonly documents: Documents
  readonly tables: SiteTables
  /** What `check` says: faults, then warnings. */
  readonly faults: readonly string[]
  readonly warnings: readonly string[]
  readonly logged: string[]
  readonly url: URL
  /** Asks the database as its owner. */
  readonly sql: (text: string) => Promise<void>
  readonly ask: (text: string) => Promise<readonly Record<string, unknown>[]>
  /** Does something in a transaction of the owner's, which stays open until the result is called. */
  readonly holding: (text: string) => Promise<() => Promise<void>>
}

/** Returns the files of a site over a database. */
export function siteOver(
  url: URL,
  { user, more = '', files = {} }: { user: string; more?: string; files?: Record<string, string> },
): ReturnType<typeof siteOf> {
  return siteOf({
    'config/doctypes/customer.yaml': customer,
    'config/doctypes/address.yaml': address,
    'config/doctypes/invoice.yaml': invoice,
    'config/doctypes/visit.yaml': visit,
    'config/sources.yaml': `sources: { erp: { type: ${url.protocol === 'mariadb:' ? 'mariadb' : 'postgres'}, host: 127.0.0.1, port: ${url.port}, database: ${url.pathname.slice(1)}, user: ${user}${more} } }`,
    ...files,
  })
}

/** Makes the database, and opens a site over it; a `serving` one is in use whatever does not fit. */
export async function openOffice(
  t: TestContext,
  server: TestPostgres | TestMariadb,
  {
    files = {},
    user = 'reader',
    serves = true,
    before,
    more = '',
  }: {
    files?: Record<string, string>
    user?: string
    serves?: boolean
    before?: string
    more?: string
  } = {},
): Promise<Office> {
  const { url, ask, holding } = await ('connect' in server ? inMariadb(server) : inPostgres(server))
  const sql = async (text: string): Promise<void> => void (await ask(text))
  if (before !== undefined) await sql(before)
  const site = siteOver(url, { user, more, files })
  return { ...(await overTables(t, site, serves)), url, sql, ask, holding }
}

type Database = Pick<Office, 'url' | 'ask' | 'holding'>

async function inPostgres(server: TestPostgres): Promise<Database> {
  const url = new URL(await server.newDatabase())
  const opened = async (): Promise<Client> => {
    const client = new Client({ connectionString: url.href })
    await client.connect()
    return client
  }
  const ask: Database['ask'] = async (text) => {
    const client = await opened()
    try {
      return (await client.query<Record<string, unknown>>(text)).rows
    } finally {
      await client.end()
    }
  }
  const hasReader = await server.admin.query("SELECT 1 FROM pg_roles WHERE rolname = 'reader'")
  await ask(hasReader.rowCount ? erp.replace('CREATE ROLE reader LOGIN;', '') : erp)
  return {
    url,
    ask,
    holding: async (text) => {
      const client = await opened()
      await client.query(`BEGIN; ${text}`)
      return () => client.end()
    },
  }
}

/** The database is called as the schema of the other. */
async function inMariadb(server: TestMariadb): Promise<Database> {
  const session = `USE erp; SET time_zone = '+00:00', sql_mode = 'ANSI_QUOTES'`
  const ask: Database['ask'] = async (text) => {
    const [rows] = await server.admin.query(text)
    return rows as unknown as readonly Record<string, unknown>[]
  }
  await ask(`DROP DATABASE IF EXISTS erp; CREATE DATABASE erp CHARACTER SET utf8mb4; ${session}; ${mariaErp};
    GRANT SELECT ON erp.* TO reader@'127.0.0.1'`)
  return {
    url: new URL(`mariadb://127.0.0.1:${server.port}/erp`),
    ask,
    holding: async (text) => {
      const client = await server.connect()
      await client.query(`${session}; BEGIN; ${text}`)
      return () => client.end()
    },
  }
}

/** Opens a site whose doctypes lie in tables. */
export async function overTables(
  t: TestContext,
  site: ReturnType<typeof siteOf>,
  serves: boolean,
): Promise<Omit<Office, 'url' | 'sql' | 'ask' | 'holding'>> {
  const company = await openCompany(t, { files: site, seeds: false })
  const logged: string[] = []
  const log = createLog('warn', { write: (text: string) => logged.push(text) })
  const clock = { now: () => Date.now() }
  const tables = new SiteTables({ log, clock, serves, secretOf: () => Promise.resolve('') })
  t.after(() => tables.close())
  const definitions = { files: site, platform: company.platform, sources: readSources(site, []) }
  const [faults, warnings]: [Fault[], Fault[]] = [[], []]
  await tables.check(definitions, faults, warnings)
  const documents = { ...company.documents, tables: await tables.open(definitions) }
  return {
    ...company,
    documents,
    tables,
    logged,
    faults: faults.map(faultText),
    warnings: warnings.map(faultText),
  }
}
