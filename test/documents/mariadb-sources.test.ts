/** Doctypes over a MariaDB of others: what differs from PostgreSQL there, and shows no difference here. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { Stop } from '#leaf/stop.ts'
import { aggregateDocuments } from '../../src/documents/asking/aggregating.ts'
import { getDocument, listDocuments } from '../../src/documents/asking/reading.ts'
import { searchDocuments, suggestLinks } from '../../src/documents/asking/searching.ts'
import { createDocument } from '../../src/documents/writing/creating.ts'
import { deleteDocument, updateDocument } from '../../src/documents/writing/updating.ts'
import { countDocuments } from '../helpers/count-documents.ts'
import { noMariadb, suiteMariadb } from '../helpers/mariadb.ts'
import { type Office, openOffice } from './erp.ts'
import { keysTable, kinds } from './erp-stock.ts'
import { someone } from './trading-company.ts'

const ann = someone('ann@example.com', 'Clerk')
const bob = someone('bob@example.com', 'Clerk')
const boss = someone('carol@example.com', 'Boss')
const thing = (more: string, fields: string): string => `
doctype: Thing
from: { source: erp, table: erp.thing, key: [id]${more} }
fields: [${fields}]
permissions: [{ role: Boss, actions: [read, report] }]`

describe('doctypes over a MariaDB of others', { skip: noMariadb }, () => {
  const server = suiteMariadb()

  async function openShop(
    t: TestContext,
    {
      files = {},
      more = '',
      source = '',
      ...login
    }: {
      files?: Record<string, string>
      more?: string
      user?: string
      source?: string
      serves?: boolean
    } = {},
  ): Promise<Office> {
    return await openOffice(t, server, {
      before: more === '' ? 'SELECT 1' : more,
      more: source,
      files,
      ...login,
    })
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

  it('look at a view as nobody, and not as whoever asked last', async (t) => {
    const { documents, faults, tables } = await openShop(t, {
      files: { 'config/doctypes/thing.yaml': thing('', '{ fieldname: who, type: text }') },
      source: ', max_connections: 1',
      more: `CREATE FUNCTION asker() RETURNS varchar(100) RETURN COALESCE(@assistant_user, '');
        CREATE VIEW thing AS SELECT 1 AS id, asker() AS who UNION ALL SELECT 1, 'again' WHERE asker() = 'carol@example.com'
          UNION ALL SELECT 2, 'ours';
        GRANT EXECUTE ON *.* TO reader@'127.0.0.1'`,
    })
    assert.deepEqual(faults, [])
    const ours = async (): Promise<unknown> =>
      (await getDocument({ ...documents, asker: boss }, boss, 'Thing', '2'))['who']
    assert.equal(await ours(), 'ours')
    await tables.retry()
    assert.equal(await ours(), 'ours', 'its key is as unique as before')
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
})

describe('tables in a MariaDB of others that are written to', { skip: noMariadb }, () => {
  const server = suiteMariadb()
  const maria = kinds.find(({ isMaria }) => isMaria)!
  const chief = someone('carol@example.com', 'Boss')

  /** Opens things of these columns, all of whose fields may be written. */
  async function openThings(
    t: TestContext,
    {
      columns,
      fields = '{ fieldname: said, type: text }',
      from = '',
      named = false,
      more = 'DO 0',
      ...how
    }: {
      columns: string
      fields?: string
      from?: string
      named?: boolean
      more?: string
      source?: string
      rights?: string
      serves?: boolean
    },
  ): Promise<Office> {
    const { source = maria.needsKeys, rights = 'SELECT, INSERT, UPDATE, DELETE', serves = true } = how
    const names = [...fields.matchAll(/fieldname: (\w+)/g)]
      .map(([, name]) => name!)
      .filter((one) => one !== 'seen')
    const write = `create: [${[...(named ? ['name'] : []), ...names].join(', ')}], change: [${names.join(', ')}], delete: true`
    return await openOffice(t, server, {
      user: 'writer',
      serves,
      more: source,
      before: `${source && maria.makesKeys.replace(/GRANT .*$/, '')} CREATE TABLE thing (${columns}); ${more};
        DROP USER IF EXISTS writer; CREATE USER writer; GRANT ${rights} ON erp.* TO writer`,
      files: {
        'config/doctypes/thing.yaml': `
doctype: Thing
from: { source: erp, table: erp.thing, key: [id], write: { ${write} }${from} }
fields: [${fields}]
permissions: [{ role: Boss, actions: [read, create, write, delete] }]`,
      },
    })
  }
  const faultsOf = async (t: TestContext, things: Parameters<typeof openThings>[1]): Promise<string> =>
    (await openThings(t, { serves: false, ...things })).faults
      .filter((one) => !one.includes('customer.yaml'))
      .join('\n')
  const toldOf = ({ events }: Office): string[] =>
    events.map(({ type, status, target }) => `${type} ${status} ${target}`)
  const idAuto = 'id int AUTO_INCREMENT PRIMARY KEY'

  it('take values of every type as they are', async (t) => {
    const { documents, faults, ask } = await openThings(t, {
      columns: `${idAuto}, said text, kind enum('a', 'b'), exact decimal(14,4), large decimal(30,10), ratio double, whole int unsigned,
        flag tinyint(1), onoff bit(1), day date, at datetime(6), stamp timestamp(3) NULL, payload json`,
      fields: `{ fieldname: said, type: text }, { fieldname: kind, type: select, options: [a, b] },
        { fieldname: exact, type: number, precision: 4 }, { fieldname: large, type: text },
        { fieldname: ratio, type: number }, { fieldname: whole, type: integer }, { fieldname: flag, type: check },
        { fieldname: onoff, type: check }, { fieldname: day, type: date }, { fieldname: at, type: datetime },
        { fieldname: stamp, type: datetime }, { fieldname: payload, type: json }`,
    })
    assert.deepEqual(faults, [])
    const values = {
      said: 'it\'s "so" \\ 😀 $1 ?',
      kind: 'b',
      exact: 1234567890.1234,
      large: '12345678901234567890.1234567891',
      ratio: 0.1,
      whole: 4_000_000_000,
      flag: true,
      onoff: true,
      day: '2024-02-29',
      at: '2026-07-01T10:00:00.123Z',
      stamp: '2026-07-01T10:00:00.456Z',
      payload: { 'a"b': [1, null, 'x\\y'] },
    }
    const { document, warnings } = await createDocument(documents, chief, 'Thing', values)
    assert.deepEqual(warnings, [])
    const { name, ...shown } = document
    assert.equal(name, '1')
    assert.deepEqual(JSON.parse(JSON.stringify(shown)), values)
    assert.deepEqual(
      await ask('SELECT CAST(exact AS CHAR) AS exact, CAST(at AS CHAR) AS at, onoff + 0 AS onoff FROM thing'),
      [{ exact: '1234567890.1234', at: '2026-07-01 10:00:00.123000', onoff: 1 }],
    )
    const nothing = Object.fromEntries(Object.keys(values).map((field) => [field, null]))
    const cleared = await updateDocument(documents, chief, 'Thing', '1', nothing)
    assert.deepEqual(Object.keys(cleared.document), ['name'])
    await assert.rejects(
      updateDocument(documents, chief, 'Thing', '1', { whole: -1 }),
      /^AppError: Thing: whole: does not fit its column$/,
    )
  })

  it('that do not fit are told at their field, whatever name their text has in it', async (t) => {
    const { documents, faults, ask } = await openThings(t, {
      columns: `${idAuto}, said varchar(20), place inet6`,
      fields: '{ fieldname: said, type: text }, { fieldname: place, type: text }',
    })
    assert.deepEqual(faults, [])
    await assert.rejects(
      createDocument(documents, chief, 'Thing', { said: 'x', place: "column 'said' at" }),
      /^AppError: Thing: place: does not fit its column$/,
    )
    assert.deepEqual(await ask('SELECT id FROM thing'), [])
  })

  it('number a version anew in each change, also where it is kept in whole seconds', async (t) => {
    const { documents } = await openThings(t, {
      columns: `${idAuto}, said text, seen datetime`,
      fields: '{ fieldname: said, type: text }, { fieldname: seen, type: datetime }',
      from: ', version: seen',
      more: `INSERT INTO thing (said) VALUES ('a')`,
    })
    const versions = new Set<unknown>()
    for (const said of ['b', 'c', 'd'])
      versions.add((await updateDocument(documents, chief, 'Thing', '1', { said })).document['seen'])
    assert.equal(versions.size, 3)
  })

  it('count a row that was found, also where a trigger leaves it as it was', async (t) => {
    const { documents, ask } = await openThings(t, {
      columns: `${idAuto}, said text`,
      more: `INSERT INTO thing (said) VALUES ('as it was');
        CREATE TRIGGER stays BEFORE UPDATE ON thing FOR EACH ROW SET NEW.said = OLD.said`,
    })
    const { warnings } = await updateDocument(documents, chief, 'Thing', '1', { said: 'other' })
    assert.deepEqual(
      warnings.map(({ saved, reason }) => [saved, reason]),
      [['as it was', 'stored so by its table']],
    )
    assert.deepEqual(await ask('SELECT said FROM thing'), [{ said: 'as it was' }])
  })

  it('have the key that was given, which may be 0, and never that of another row', async (t) => {
    const office = await openThings(t, { columns: `${idAuto}, said text`, named: true })
    const { document } = await createDocument(office.documents, chief, 'Thing', { name: '0', said: 'zero' })
    assert.equal(document['name'], '0')
    const other = await openThings(t, {
      columns: 'id varchar(20) PRIMARY KEY, said text',
      named: true,
      more: `INSERT INTO thing VALUES ('mine', 'there before');
        CREATE TRIGGER renames BEFORE INSERT ON thing FOR EACH ROW SET NEW.id = CONCAT('not ', NEW.id)`,
    })
    for (const [name, why] of [
      ['mine', /its name is taken; choose another; nothing was changed/],
      ['yours', /the database would have made 0 rows instead of one; nothing was changed/],
    ] as const) {
      other.events.length = 0
      await assert.rejects(createDocument(other.documents, chief, 'Thing', { name, said: 'x' }), why)
      assert.deepEqual(toldOf(other), [
        `document.intend waiting Thing/${name}`,
        `document.create error Thing/${name}`,
      ])
    }
    assert.deepEqual(await other.ask('SELECT id FROM thing'), [{ id: 'mine' }])
  })

  it('are not written without the table that tells after a crash what was done, and are read all the same', async (t) => {
    const columns = `${idAuto}, said text`
    const why =
      /^config\/doctypes\/thing\.yaml:3:\d+ from\.write: needs a table there that tells after a crash what was done: name one as write_keys of "erp" in config\/sources\.yaml; sources write-keys erp prints what makes it$/
    assert.match(await faultsOf(t, { columns, source: '' }), why)
    const office = await openThings(t, { columns, source: '', more: `INSERT INTO thing (said) VALUES ('a')` })
    assert.equal(await countDocuments(office.documents, chief, 'Thing'), 1)
    office.events.length = 0
    const refused =
      /lacks a fit table of write keys for this; its operator has been told; nothing was changed/
    await assert.rejects(createDocument(office.documents, chief, 'Thing', { said: 'x' }), refused)
    await assert.rejects(updateDocument(office.documents, chief, 'Thing', '1', { said: 'x' }), refused)
    await assert.rejects(deleteDocument(office.documents, chief, 'Thing', '1'), refused)
    assert.deepEqual([await office.ask('SELECT said FROM thing'), office.events], [[{ said: 'a' }], []])
  })

  it('are refused where nothing could be undone, or nobody would know what was made', async (t) => {
    const columns = `${idAuto}, said text`
    assert.equal(await faultsOf(t, { columns }), '')
    assert.match(
      await faultsOf(t, { columns, more: 'ALTER TABLE thing ENGINE=MyISAM' }),
      /from\.write: erp\.thing is kept by MyISAM, which has no transactions: ALTER TABLE erp\.thing ENGINE=InnoDB/,
    )
    assert.match(
      await faultsOf(t, { columns: 'id varchar(40) DEFAULT (UUID()) PRIMARY KEY, said text' }),
      /from\.write\.create: nobody is told what the database gives "id" of the key of a new row: add name, or its field/,
    )
    const { warnings } = await openThings(t, { columns, rights: 'ALL PRIVILEGES' })
    assert.match(
      warnings.join('\n'),
      /the login writer@% may ALL PRIVILEGES: nothing here does, and one that may not is safer/,
    )
  })

  it('are told to be under way while their transaction is open there, and done or not done after it', async (t) => {
    const { documents, platform, holding, sql } = await openThings(t, { columns: `${idAuto}, said text` })
    const mark = `INSERT INTO ${keysTable} ("key", "call") VALUES ('there', 'transaction')`
    const outcome = (hours = 0) =>
      documents.tables!.outcome(platform.doctypes.get('Thing')!, {
        transaction: 'there',
        time: new Date(Date.now() - hours * 3_600_000).toISOString(),
      })
    const letGo = await holding(mark)
    assert.equal(await outcome(), 'in progress')
    await letGo()
    assert.equal(await outcome(), 'aborted')
    assert.equal(await outcome(25), 'unknown', 'its mark may have been removed')
    await sql(mark)
    assert.deepEqual([await outcome(), await outcome(25)], ['committed', 'committed'])
  })

  it('say that somebody else is changing a row where the database ends a deadlock at their cost', async (t) => {
    const office = await openThings(t, {
      columns: `${idAuto}, said text`,
      more: `INSERT INTO thing (said) VALUES ('a'); CREATE TABLE other (id int PRIMARY KEY, n int);
        INSERT INTO other SELECT seq, 0 FROM seq_1_to_500;
        CREATE TRIGGER also AFTER UPDATE ON thing FOR EACH ROW UPDATE other SET n = n + 1 WHERE id = 1`,
    })
    const beside = await server.connect()
    t.after(() => beside.end())
    // Who has changed more is spared.
    await beside.query('USE erp; BEGIN; UPDATE other SET n = n + 1')
    office.events.length = 0
    const change = updateDocument(office.documents, chief, 'Thing', '1', { said: 'b' })
    const waiting = async (): Promise<number> =>
      (await office.ask("SELECT 1 FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'")).length
    // What the server tells of it is as of the last time that nobody had asked for a tenth of a second.
    while ((await Promise.race([waiting(), change])) === 0) await wait(150)
    await beside.query(`UPDATE thing SET said = 'c' WHERE id = 1; COMMIT`)
    await assert.rejects(change, /somebody else is changing it there just now; try again/)
    assert.deepEqual(toldOf(office), ['document.intend waiting Thing/1', 'document.update error Thing/1'])
    assert.deepEqual(await office.ask('SELECT said FROM thing'), [{ said: 'c' }])
  })
})
