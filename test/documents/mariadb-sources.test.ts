/** Doctypes over a MariaDB of others: what differs from PostgreSQL there, and shows no difference here. */
import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { Stop } from '#leaf/stop.ts'
import { aggregateDocuments } from '../../src/documents/asking/aggregating.ts'
import { getDocument, listDocuments } from '../../src/documents/asking/reading.ts'
import { searchDocuments, suggestLinks } from '../../src/documents/asking/searching.ts'
import { createDocument } from '../../src/documents/writing/creating.ts'
import { updateDocument } from '../../src/documents/writing/updating.ts'
import { mysqlColumn, withNames } from '../../src/documents/sources/mysql-columns.ts'
import { positional } from '../../src/documents/sources/mysql-door.ts'
import { countDocuments } from '../helpers/count-documents.ts'
import { noMariadb, startMariadb, type TestMariadb } from '../helpers/mariadb.ts'
import { address, customer, invoice, type Office, overTables } from './erp.ts'
import { siteOf, someone } from './trading-company.ts'

const shop = `
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

const ann = someone('ann@example.com', 'Clerk')
const bob = someone('bob@example.com', 'Clerk')
const boss = someone('carol@example.com', 'Boss')
const thing = (more: string, fields: string): string => `
doctype: Thing
from: { source: erp, table: thing, key: [id]${more} }
fields: [${fields}]
permissions: [{ role: Boss, actions: [read, report] }]`

describe('doctypes over a MariaDB of others', { skip: noMariadb }, () => {
  let server: TestMariadb
  const cleanups: (() => Promise<void>)[] = []
  before(async () => {
    server = await startMariadb({ after: (step) => void cleanups.push(step as () => Promise<void>) })
  })
  after(async () => {
    for (const step of cleanups) await step()
  })

  async function openShop(
    t: TestContext,
    { files = {}, more = '', user = 'reader', source = '' } = {},
  ): Promise<
    Omit<Office, 'sql' | 'ask' | 'url' | 'holding'> & {
      sql: (text: string) => Promise<void>
      database: string
    }
  > {
    const database = await server.newDatabase()
    const sql = async (text: string): Promise<void> => {
      await server.admin.query(`USE ${database}; SET time_zone = '+00:00', sql_mode = ''; ${text}`)
    }
    await sql(`${shop}; ${more}`)
    const site = siteOf({
      'config/doctypes/customer.yaml': customer.replaceAll('erp.', ''),
      'config/doctypes/address.yaml': address,
      'config/doctypes/invoice.yaml': invoice.replaceAll('erp.', ''),
      'config/sources.yaml': `sources: { erp: { type: mariadb, host: 127.0.0.1, port: ${server.port}, database: ${database}, user: ${user}${source} } }`,
      ...files,
    })
    return { ...(await overTables(t, site, true)), sql, database }
  }

  it('are listed, counted, added up, read with their rows, searched and suggested under their rules', async (t) => {
    const { documents, faults, warnings } = await openShop(t)
    assert.deepEqual([faults, warnings], [[], []])
    const filters = { country: 'DE', customer_name: ['like', '%1%'] }
    assert.equal(await countDocuments(documents, ann, 'Customer', filters), 5)
    assert.equal(await countDocuments(documents, bob, 'Customer', filters), 0)
    await assert.rejects(countDocuments(documents, ann, 'Customer', { secret: 'word2' }), /masked for you/)
    const { data } = await listDocuments(documents, ann, { doctype: 'Customer', limit: 2 })
    assert.deepEqual(
      data.map(({ name, creation }) => [name, creation]),
      [
        ['40', '2026-01-02T16:00:00.000Z'],
        ['38', '2026-01-02T14:00:00.000Z'],
      ],
    )
    const sum = { doctype: 'Customer', metrics: [{ function: 'sum' as const, field: 'credit' }] }
    const { rows } = await aggregateDocuments(documents, boss, { ...sum, groupBy: ['kind'] })
    assert.deepEqual(JSON.parse(JSON.stringify(rows)), [
      { kind: 'company', sum_credit: '4305.00' },
      { kind: 'person', sum_credit: '4100.00' },
    ])
    const view = await getDocument(documents, ann, 'Customer', '2')
    assert.deepEqual(view['addresses'], [
      { name: '2/1', idx: 1, city: 'City 2' },
      { name: '2/2', idx: 2, city: 'Paris' },
    ])
    for (const name of ['1', '2.0', '02', '2 ', "2' OR true --", '2\\', '', '99999999999999999999'])
      await assert.rejects(
        getDocument(documents, ann, 'Customer', name),
        /there is no Customer .* that you may read/,
      )
    const found = await searchDocuments(documents, ann, { words: 'customer 12', limit: 5 })
    assert.deepEqual(
      found.results.map(({ doctype, name }) => [doctype, name]),
      [['Customer', '12']],
    )
    const asked = { doctype: 'Customer', typed: 'customer 2', limit: 9 }
    const { suggestions } = await suggestLinks(documents, ann, asked)
    assert.deepEqual(suggestions.map(({ value }) => value).sort(), ['2', '20', '22', '24', '26', '28'])
    await assert.rejects(createDocument(documents, boss, 'Invoice', { total: 1 }), /only read|may not/)
  })

  it('tell texts apart that the collation takes for the same, also as names', async (t) => {
    const { documents, faults } = await openShop(t, {
      files: { 'config/doctypes/thing.yaml': thing('', '{ fieldname: said, type: text }') },
      more: `CREATE TABLE thing (id varchar(20) PRIMARY KEY, said varchar(20)) COLLATE utf8mb4_general_ci;
        INSERT INTO thing VALUES ('Ab', 'Straße'), ('c', 'STRASSE'), ('d', 'strasse '), ('e', 'ÄRGER')`,
    })
    assert.deepEqual(faults, [])
    const names = async (filters: unknown): Promise<unknown[]> =>
      (await listDocuments(documents, boss, { doctype: 'Thing', filters, orderBy: 'name asc' })).data.map(
        ({ name }) => name,
      )
    assert.deepEqual(await names({ said: 'STRASSE' }), ['c'])
    assert.deepEqual(await names({ said: 'strasse' }), [])
    assert.deepEqual(await names({ said: ['like', '%ärg%'] }), ['e'])
    assert.deepEqual(await names({ said: ['like', '%asse%'] }), ['c', 'd'])
    await assert.rejects(names({ name: 'ab' }), /there is no Thing "ab"/)
    await assert.rejects(getDocument(documents, boss, 'Thing', 'AB'), /there is no Thing/)
    assert.equal((await getDocument(documents, boss, 'Thing', 'Ab'))['said'], 'Straße')
  })

  it('show days without year, month or day as none, and read times in the time zone of the doctype', async (t) => {
    const fields = '{ fieldname: day, type: date }, { fieldname: at, type: datetime }'
    const files = {
      'config/doctypes/thing.yaml': thing(', time_zone: Europe/Berlin', fields),
    }
    const more = `CREATE TABLE thing (id int PRIMARY KEY, day date NOT NULL, at datetime);
      INSERT INTO thing VALUES (1, '0000-00-00', '2026-07-01 12:00:00'), (2, '2026-00-10', NULL), (3, '2026-05-05', '1950-01-01')`
    const without = await openShop(t, { files, more })
    assert.deepEqual(without.warnings, [
      'config/doctypes/thing.yaml:4:42 fields[1].column: the column "at" has times of Europe/Berlin, and its database knows no time zones: load them with mysql_tzinfo_to_sql',
    ])
    await server.admin
      .query(`USE mysql; INSERT INTO time_zone (Time_zone_id, Use_leap_seconds) VALUES (1, 'N');
      INSERT INTO time_zone_name VALUES ('Europe/Berlin', 1);
      INSERT INTO time_zone_transition_type VALUES (1, 0, 3600, 0, 'CET'), (1, 1, 7200, 1, 'CEST');
      INSERT INTO time_zone_transition VALUES (1, -2147483648, 0), (1, 1774746000, 1), (1, 1792890000, 0)`)
    const { documents, faults } = await openShop(t, { files, more })
    assert.deepEqual(faults, [])
    const asked = { doctype: 'Thing', fields: ['name', 'day', 'at'], orderBy: 'name asc' }
    assert.deepEqual(
      (await listDocuments(documents, boss, asked)).data.map(({ day, at }) => [day, at]),
      [
        [null, '2026-07-01T10:00:00.000Z'],
        [null, null],
        ['2026-05-05', null],
      ],
    )
    assert.equal(await countDocuments(documents, boss, 'Thing', { day: ['is', 'not set'] }), 2)
    assert.equal(await countDocuments(documents, boss, 'Thing', { day: ['<', '2027-01-01'] }), 1)
    assert.equal(await countDocuments(documents, boss, 'Thing', { at: ['>', '2026-07-01T09:59:59.000Z'] }), 1)
  })

  it('show the rows of a table that belong to documents of their kind, and no others', async (t) => {
    const rows =
      'rows: { table: line, parent: [parent], key: [name], order: [idx], only: { parenttype: Thing } }'
    const { documents, faults } = await openShop(t, {
      files: {
        'config/doctypes/thing.yaml': thing(
          '',
          `{ fieldname: lines, type: table, doctype: Address, ${rows} }`,
        ),
      },
      more: `CREATE TABLE thing (id varchar(20) PRIMARY KEY); INSERT INTO thing VALUES ('a');
        CREATE TABLE line (name varchar(20) PRIMARY KEY, parent varchar(20), parenttype varchar(20), idx int, city text);
        INSERT INTO line VALUES ('3', 'a', 'Thing', 2, 'Rome'), ('2', 'a', 'thing', 3, 'Ulm'), ('1', 'a', 'Thing', 1, 'Oslo')`,
    })
    assert.deepEqual(faults, [])
    const { lines } = await getDocument(documents, boss, 'Thing', 'a')
    assert.deepEqual(
      (lines as { name: string; city: string }[]).map(({ name, city }) => [name, city]),
      [
        ['1', 'Oslo'],
        ['3', 'Rome'],
      ],
    )
  })

  it('add up no number that no decimal holds, rather than to add it up wrongly', async (t) => {
    const { documents, sql } = await openShop(t, {
      files: { 'config/doctypes/thing.yaml': thing('', '{ fieldname: size, type: number }') },
      more: `CREATE TABLE thing (id int PRIMARY KEY, size double); INSERT INTO thing VALUES (1, 0.1), (2, 0.2)`,
    })
    const sum = { doctype: 'Thing', metrics: [{ function: 'sum' as const, field: 'size' }] }
    const { rows } = await aggregateDocuments(documents, boss, sum)
    assert.deepEqual(rows, [{ sum_size: 0.3 }])
    await sql('INSERT INTO thing VALUES (3, 1e40)')
    await assert.rejects(aggregateDocuments(documents, boss, sum), /the source "erp" refused a value/)
  })

  it('are refused where the login is an administrator, and told where it may write', async (t) => {
    await server.admin.query(`CREATE USER chief@'127.0.0.1'; GRANT ALL PRIVILEGES ON *.* TO chief@'127.0.0.1';
      CREATE USER writer@'127.0.0.1'; GRANT SELECT, UPDATE, DELETE ON *.* TO writer@'127.0.0.1'`)
    const { warnings: refused } = await openShop(t, { user: 'chief' })
    assert.match(
      refused[0]!,
      /has a login, chief@127\.0\.0\.1, that has ALL PRIVILEGES everywhere: take one that may only SELECT/,
    )
    const { faults: none, warnings, documents, sql } = await openShop(t, { user: 'writer' })
    assert.deepEqual(none, [])
    assert.match(warnings[0]!, /the login writer@127\.0\.0\.1 may UPDATE, DELETE: nothing here does/)
    // Its sessions only read, whatever it may: a view that calls what writes fails.
    await sql(`CREATE TABLE seen (n int); INSERT INTO seen VALUES (0);
      CREATE FUNCTION noting() RETURNS int MODIFIES SQL DATA BEGIN UPDATE seen SET n = n + 1; RETURN 1; END;
      GRANT EXECUTE ON *.* TO writer@'127.0.0.1'; ALTER TABLE invoice RENAME TO bills;
      CREATE VIEW invoice AS SELECT number, customer_id, due, total, noting() AS paid FROM bills`)
    await assert.rejects(
      listDocuments(documents, boss, { doctype: 'Invoice' }),
      /the source "erp" failed; its operator has been told/,
    )
    const [rows] = await server.admin.query('SELECT n FROM seen')
    assert.deepEqual(rows, [{ n: 0 }])
    await assert.rejects(updateDocument(documents, boss, 'Invoice', 'I-1', { total: 1 }), (error: Error) =>
      /may not|only read|failed/.test(error.message),
    )
  })

  it('are only read, which check tells at the line that would have them written, and nothing more of it', async (t) => {
    const writes = thing(', write: { create: [said], delete: true }', '{ fieldname: said, type: text }')
    const { warnings, documents, events, sql } = await openShop(t, {
      more: 'CREATE TABLE thing (id int AUTO_INCREMENT PRIMARY KEY, said text)',
      files: { 'config/doctypes/thing.yaml': writes.replace('report]', 'create]') },
    })
    assert.deepEqual(
      warnings.filter((one) => one.includes('thing.yaml')),
      ['config/doctypes/thing.yaml:3:54 from.write: is only read: tables of PostgreSQL alone are written to'],
    )
    events.length = 0
    await assert.rejects(
      createDocument(documents, boss, 'Thing', { said: 'x' }),
      /^AppError: Thing is unavailable/,
    )
    await sql('CREATE TABLE counted AS SELECT count(*) AS n FROM thing')
    assert.deepEqual([(await server.admin.query('SELECT n FROM counted'))[0], events], [[{ n: 0 }], []])
  })

  it('tell a view of the database who asks', async (t) => {
    const { documents, faults } = await openShop(t, {
      files: { 'config/doctypes/thing.yaml': thing('', '{ fieldname: who, type: text }') },
      more: `CREATE FUNCTION asker() RETURNS varchar(100) RETURN @assistant_user;
        CREATE VIEW thing AS SELECT 1 AS id, CONCAT(asker(), '') AS who;
        GRANT EXECUTE ON *.* TO reader@'127.0.0.1'`,
    })
    assert.deepEqual(faults, [])
    assert.equal(
      (await getDocument({ ...documents, asker: boss }, boss, 'Thing', '1'))['who'],
      'carol@example.com',
    )
  })

  it('become unavailable alone when their table changes or the server is away, and come back', async (t) => {
    const { documents, sql, tables } = await openShop(t)
    await sql('ALTER TABLE customer RENAME COLUMN country TO land')
    await assert.rejects(getDocument(documents, ann, 'Customer', '2'), /unavailable|failed/)
    await tables.retry()
    await assert.rejects(
      getDocument(documents, ann, 'Customer', '2'),
      /its table in the source "erp" has changed/,
    )
    assert.equal(await countDocuments(documents, ann, 'Invoice'), 67)
    await sql('ALTER TABLE customer RENAME COLUMN land TO country')
    await tables.retry()
    assert.equal(await countDocuments(documents, ann, 'Customer'), 20)
    await server.stop()
    await assert.rejects(countDocuments(documents, ann, 'Invoice'), /cannot be reached/)
    await server.start()
    await tables.retry()
    assert.equal(await countDocuments(documents, ann, 'Invoice'), 67)
  })

  it('end what takes too long, and what nobody waits for any more', async (t) => {
    const { documents, faults } = await openShop(t, {
      source: ', timeout_seconds: 1',
      files: { 'config/doctypes/thing.yaml': thing('', '{ fieldname: waited, type: integer }') },
      more: `CREATE VIEW thing AS SELECT seq AS id, SLEEP(seq) AS waited FROM seq_30_to_30`,
    })
    assert.deepEqual(faults, [])
    await assert.rejects(
      listDocuments(documents, boss, { doctype: 'Thing', filters: { waited: 0 } }),
      /the source "erp" took too long; ask for less/,
    )
    const stop = new Stop()
    const asked = listDocuments({ ...documents, stop }, boss, { doctype: 'Thing', filters: { waited: 0 } })
    const running = async (): Promise<number> => {
      const [rows] = await server.admin.query(`SELECT COUNT(*) AS n FROM information_schema.processlist
        WHERE user = 'reader' AND info LIKE '%waited%'`)
      return (rows as { n: number }[])[0]!.n
    }
    while ((await running()) === 0);
    stop.end(new Error('the caller has gone'))
    await assert.rejects(asked, /the caller has gone/)
    while ((await running()) > 0);
  })

  it('know JSON and the texts of a check, whatever their column is called', () => {
    const typed = (name: string, clause: string) => {
      const row = ['shop', 'thing', name, 'longtext', 'longtext', 'YES', '', null, null, '']
      return mysqlColumn(row, [withNames(clause)])
    }
    for (const name of ['said', 'it`s', '"q"', 'a.b']) {
      const quoted = `\`${name.replaceAll('`', '``')}\``
      assert.equal(typed(name, `json_valid(${quoted})`).type, 'jsonb', name)
      assert.deepEqual(typed(name, `${quoted} in ('a\`b','it''s')`).labels, ['a`b', "it's"], name)
    }
    assert.equal(typed('other', 'json_valid(`said`)').type, 'text')
  })

  it('take values by their places, whatever a name or a text looks like', () => {
    const text = `SELECT "a$1", 'it''s $2' FROM t WHERE x = $2 AND y = $1 OR x = $2 LIMIT $3 OFFSET $4`
    assert.deepEqual(positional(text, ['one', true, null, 2]), {
      sql: `SELECT "a$1", 'it''s $2' FROM t WHERE x = ? AND y = ? OR x = ? LIMIT 18446744073709551615 OFFSET 2`,
      bound: [1, 'one', 1],
    })
  })
})
