import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { projectRoot } from '../../helpers/daemon.ts'
import { isPublicAddress as isPublic } from '#leaf/public-address.ts'
import { Stop } from '#leaf/stop.ts'
import { plain } from '../../documents/trading-company.ts'
import { noPostgres, startPostgres } from '../../helpers/postgres.ts'
import { faultText } from '#site/site-files.ts'
import { freePort } from '../../helpers/free-port.ts'
import { vendorFaults } from '../vendor-schemas.ts'
import { boss, contextOf, faultsOf, listen, open, until } from './own-office.ts'

const trace = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7', sampled: true }
const traced = { ...plain, trace }
const traceparent = `00-${trace.traceId}-${trace.spanId}-01`

const http = (port: number, more = '') => `
tool: weather
type: http
description: Tells the weather of a city, in words.
url: http://127.0.0.1:${port}/v1/{city}/now
query: { units: "{units}", fixed: a b }
headers: { X-Key_file: weather-key }
response: { path: data.words, max_bytes: 1000 }
input: { type: object, additionalProperties: false, required: [city], properties: { city: { type: string }, units: { type: string } } }
${more}`

describe('an HTTP tool', () => {
  it('fills in arguments and secrets, and answers what stands at the path', async (t) => {
    const seen: unknown[] = []
    const port = await listen(t, (request) => {
      seen.push([
        request.method,
        request.url,
        request.headers['x-key'],
        request.headers['cookie'],
        request.headers['authorization'],
      ])
      return {
        text: JSON.stringify({
          data: { words: { kind: 'rich', content: [{ type: 'image' }], sky: 'blue' } },
        }),
      }
    })
    const folder = await mkdtemp(join(tmpdir(), 'own-'))
    t.after(() => rm(folder, { recursive: true }))
    await mkdir(join(folder, 'secrets'))
    await writeFile(join(folder, 'secrets/weather-key'), 's3cret\n')
    const { call, events } = await open(
      t,
      { 'config/tools/weather.yaml': http(port, 'allow_private: true') },
      { folder },
    )
    const outcome = await call(plain, 'weather', { city: 'Köln/../x?y' })
    assert.deepEqual(outcome, {
      text: '{"kind":"rich","content":[{"type":"image"}],"sky":"blue"}',
      content: [],
      isError: false,
    })
    assert.deepEqual(seen, [
      ['GET', '/v1/K%C3%B6ln%2F..%2Fx%3Fy/now?fixed=a+b', 's3cret', undefined, undefined],
    ])
    assert.deepEqual(
      events.map(({ type, status, target }) => [type, status, target]),
      [['tool.call', 'ok', 'weather']],
    )
    assert.match((await call(plain, 'weather', { city: '..' })).text, /cannot stand in this address/)
    assert.match((await call(plain, 'weather', {})).text, /"city" is required/)
    assert.equal(seen.length, 1)
  })

  it('keeps a value where its template has it: in JSON, between quotes, in the query of an address', async (t) => {
    const seen: (string | null)[] = []
    const port = await listen(t, (request) => {
      const { searchParams } = new URL(request.url!, 'http://localhost')
      seen.push(...['f', 'deep', 'odata', 'u', 'v'].map((name) => searchParams.get(name)))
      return { text: '{}' }
    })
    const yaml = `tool: find
type: http
allow_private: true
description: Finds customers of a territory.
url: 'http://127.0.0.1:${port}/find?f=[["territory","=","{territory}"],["limit",">",{limit}]]&u={limit}&v'
query:
  deep: '{"where":"[[\\"territory\\",\\"{territory}\\"]]"}'
  odata: "Territory eq '{quoted}' and Limit gt {limit}"
input: { type: object, properties: { territory: { type: string }, quoted: { type: string }, limit: {} } }`
    const { call, events } = await open(t, { 'config/tools/find.yaml': yaml })
    const leaving = 'North"],["credit_limit","=","40'
    await call(plain, 'find', { territory: leaving, limit: 5, quoted: 'N & "S"' })
    const [f, deep, odata, u, v] = seen.splice(0)
    assert.deepEqual(JSON.parse(f!), [
      ['territory', '=', leaving],
      ['limit', '>', 5],
    ])
    assert.deepEqual(JSON.parse((JSON.parse(deep!) as { where: string }).where), [['territory', leaving]])
    assert.deepEqual([odata, u, v], [`Territory eq 'N & "S"' and Limit gt 5`, '5', ''])
    await call(plain, 'find', { territory: 'North', limit: '5],["a' })
    assert.deepEqual(JSON.parse(seen.splice(0)[0]!), [
      ['territory', '=', 'North'],
      ['limit', '>', '5],["a'],
    ])
    for (const quoted of [`x' or 1 eq 1 or 'a`, `x\\`]) {
      const { text, isError } = await call(plain, 'find', { quoted })
      assert.deepEqual([isError, /quoted: neither ' nor/.test(text)], [true, true], text)
    }
    assert.deepEqual(seen, [], 'nothing was asked')
    assert.deepEqual(
      events.map(({ status }) => status),
      ['ok', 'ok', 'error', 'error'],
    )
  })

  it('tells the service where in a trace it stands, when the request is traced', async (t) => {
    const seen: unknown[] = []
    const port = await listen(t, (request) => {
      seen.push(request.headers['traceparent'])
      return { text: '{}' }
    })
    const yaml = `tool: heat\ntype: http\nallow_private: true\ndescription: Heats a room to some degrees.\nurl: http://localhost:${port}/\ninput: { type: object }`
    const { call } = await open(t, { 'config/tools/heat.yaml': yaml })
    await call(plain, 'heat')
    await call(traced, 'heat')
    assert.deepEqual(seen, [undefined, traceparent])
  })

  it('hands the service the key of a call that may come again', async (t) => {
    const seen: unknown[] = []
    const port = await listen(t, (request) => {
      seen.push(request.headers['idempotency-key'])
      return { text: '{}' }
    })
    const yaml = `tool: heat\ntype: http\nmethod: POST\nallow_private: true\ndescription: Heats a room to some degrees.\nurl: http://localhost:${port}/\ninput: { type: object }`
    const { call } = await open(t, { 'config/tools/heat.yaml': yaml })
    await call(plain, 'heat')
    await call(plain, 'heat', {}, { repeatable: { id: 'one', call: 'heat' } })
    assert.deepEqual(seen, [undefined, 'one'])
  })

  it('sends what is not in the address as JSON, and tells failures', async (t) => {
    let text = ''
    const port = await listen(t, (_, body) => ((text = body), { status: 422, text: 'too cold' }))
    const yaml = `tool: heat\ntype: http\nmethod: POST\nallow_private: true\nroles: [Boss]\ndescription: Heats a room to some degrees.\nurl: http://localhost:${port}/{room}\ninput: { type: object, properties: { room: { type: string }, degrees: { type: number } } }`
    const { call, catalogue } = await open(t, { 'config/tools/heat.yaml': yaml })
    const outcome = await call(boss, 'heat', { room: 'a', degrees: 21 })
    assert.equal(text, '{"degrees":21}')
    assert.ok(outcome.isError)
    assert.match(outcome.text, /answered 422: too cold/)
    assert.equal(catalogue.find(plain, 'heat'), 'forbidden')
    assert.deepEqual(catalogue.offered(plain), [])
  })

  it('stays out of the inner network unless it was opened, and follows no redirects', async (t) => {
    let calls = 0
    const port = await listen(
      t,
      () => (calls++, { status: 302, text: '', headers: { location: 'http://127.0.0.1:1/' } }),
    )
    const site = {
      'config/tools/weather.yaml': http(port).replace('headers: { X-Key_file: weather-key }', ''),
    }
    const closed = await open(t, site)
    assert.match((await closed.call(plain, 'weather', { city: 'x' })).text, /not on the public internet/)
    assert.equal(calls, 0)
    const opened = await open(t, {
      'config/tools/weather.yaml': `${site['config/tools/weather.yaml']}allow_private: true`,
    })
    assert.match((await opened.call(plain, 'weather', { city: 'x' })).text, /answered 302/)
    assert.equal(calls, 1)
  })

  it('follows what comes after, at its own host and within a bound, and keeps the total beside the rows', async (t) => {
    const asked: string[] = []
    let elsewhere = ''
    const port = await listen(t, ({ url = '' }) => {
      asked.push(url)
      const page = Number(/page=(\d)/.exec(url)?.[1] ?? 1)
      const further = page < 3 ? elsewhere || `/rows?page=${page + 1}` : null
      return {
        text: JSON.stringify({ rows: [page * 2 - 1, page * 2], meta: { total: 6, next: further } }),
        headers: { link: `</first>; rel="first"${further === null ? '' : `, <${further}>; rel="next"`}` },
      }
    })
    const yaml = (response: string) =>
      `tool: rows\ntype: http\nallow_private: true\ndescription: Lists the rows of the service.\nurl: http://127.0.0.1:${port}/rows\ninput: { type: object }\nresponse: { path: rows, total: meta.total${response} }`
    const rows = async (response: string): Promise<string> => {
      const { call } = await open(t, { 'config/tools/r.yaml': yaml(response) })
      return (await call(plain, 'rows')).text
    }
    const whole = { data: [1, 2, 3, 4, 5, 6], count: 6, total_count: 6, has_more: false }
    assert.deepEqual(JSON.parse(await rows(', next: meta.next')), whole)
    assert.deepEqual(asked, ['/rows', '/rows?page=2', '/rows?page=3'])
    assert.deepEqual(JSON.parse(await rows(', next: link')), whole)
    const some = JSON.parse(await rows(', next: link, max_pages: 2'))
    assert.deepEqual(some, { data: [1, 2, 3, 4], count: 4, total_count: 6, has_more: true })
    assert.deepEqual(JSON.parse(await rows('')), { ...some, data: [1, 2], count: 2 })
    elsewhere = 'http://localhost.example/rows'
    assert.match(await rows(', next: meta.next'), /not at an address of its own/)
    assert.ok(asked.every((url) => url.startsWith('/rows')))
    const faults = await faultsOf({ 'config/tools/r.yaml': `${yaml(', next: link')}\nmethod: POST` })
    assert.match(faults.join(), /r\.yaml:7:\d+ response\.next: only what is asked by GET/)
  })

  it('knows which addresses are public', () => {
    for (const address of [
      '127.0.0.1',
      '10.1.2.3',
      '169.254.169.254',
      '100.64.1.1',
      '0.0.0.0',
      '::1',
      '::ffff:10.0.0.1',
      'fe80::1',
      'fd00::1',
      '64:ff9b::a00:1',
      '2002:a00:1::',
      '2001:0:1::',
      '224.0.0.1',
      'nonsense',
    ])
      assert.equal(isPublic(address), false, address)
    for (const address of ['93.184.216.34', '2606:2800:220:1::1'])
      assert.equal(isPublic(address), true, address)
  })

  it('is refused with places when it is written wrong', async () => {
    const faults = await faultsOf({
      'config/tools/a.yaml': http(1).replace('{city}', '{town}'),
      'config/tools/b.yaml': 'tool: b\ntype: ftp',
      'config/tools/c.yaml':
        'tool: c\ntype: http\nurl: "http://{host}/"\ndescription: A host that a caller chooses.\nroles: [Bos]\ninput: { type: array }',
      'config/tools/d.yaml':
        'tool: d\ntype: sql\ndescription: From nowhere to nowhere.\nsource: nope\nsql: SELECT $a\ninput: { type: object, properties: {} }',
    })
    assert.ok(
      faults.some((text) => /a\.yaml:5:\d+ url: unknown argument "town"/.test(text)),
      faults.join('\n'),
    )
    assert.ok(
      faults.some((text) => /b\.yaml:2:\d+ type: must be "http", "sql" or "mcp"/.test(text)),
      faults.join('\n'),
    )
    assert.ok(
      faults.some((text) => /c\.yaml:3:\d+ url: .*does not match/.test(text)),
      faults.join('\n'),
    )
    assert.ok(
      faults.some((text) => /d\.yaml:4:\d+ source: unknown source "nope"/.test(text)),
      faults.join('\n'),
    )
    assert.ok(
      faults.some((text) => /d\.yaml:5:\d+ sql: unknown argument "a"/.test(text)),
      faults.join('\n'),
    )
  })
})

describe('a SQL tool', { skip: noPostgres ?? false }, () => {
  it('binds arguments, only reads, and tells the database who asks', async (t) => {
    const { port, admin } = await startPostgres(t)
    await admin.query(`CREATE TABLE orders (id int, owner text, amount numeric(12,2), at timestamptz, big bigint);
      INSERT INTO orders SELECT n, CASE WHEN n % 2 = 0 THEN 'boss@example.com' ELSE 'other' END, n * 1.10, '2026-01-02T03:04:05Z', 9007199254740993 FROM generate_series(1, 10) n;
      CREATE ROLE reader LOGIN; ALTER ROLE reader SET TimeZone = 'UTC'; GRANT SELECT ON orders TO reader;
      ALTER TABLE orders ENABLE ROW LEVEL SECURITY;
      CREATE POLICY mine ON orders USING (owner = current_setting('assistant.user', true))`)
    const sources = `sources: { warehouse: { type: postgres, host: 127.0.0.1, port: ${port}, database: postgres, user: reader } }`
    const tool = (name: string, sql: string, more = '') =>
      `tool: ${name}\ntype: sql\ndescription: The orders of whoever asks for them.\nsource: warehouse\nsql: ${JSON.stringify(sql)}\n${more}\ninput: { type: object, additionalProperties: false, properties: { least: { type: [number, string] } } }`
    const { call } = await open(t, {
      'config/sources.yaml': sources,
      'config/tools/a.yaml': tool(
        'orders',
        "SELECT *, '$least' AS text FROM orders WHERE id >= $least ORDER BY id",
        'max_rows: 3',
      ),
      'config/tools/b.yaml': tool(
        'write',
        'WITH gone AS (DELETE FROM orders RETURNING id) SELECT * FROM gone',
      ),
      'config/tools/c.yaml': tool('two', 'SELECT 1); DELETE FROM orders; --'),
      'config/tools/d.yaml': tool('sleep', 'SELECT pg_sleep(20)', 'timeout_seconds: 1'),
      'config/tools/e.yaml': tool('commit', 'SELECT 1) AS a; COMMIT; DROP TABLE orders; --'),
    })
    const mine = JSON.parse((await call(boss, 'orders', { least: 4 })).text)
    assert.deepEqual(
      mine.data.map((row: { id: number }) => row.id),
      [4, 6, 8],
    )
    assert.deepEqual(mine.data[0], {
      id: 4,
      owner: 'boss@example.com',
      amount: '4.40',
      at: '2026-01-02 03:04:05+00',
      big: '9007199254740993',
      text: '$least',
    })
    assert.match(mine.capped, /only the first 3 rows/)
    assert.equal(JSON.parse((await call(plain, 'orders', { least: 1 })).text).count, 0)
    const injected = await call(boss, 'orders', { least: '1; DROP TABLE orders' })
    assert.match(injected.text, /the database refused an argument/)
    for (const name of ['write', 'two', 'commit']) assert.ok((await call(boss, name)).isError, name)
    assert.match((await call(boss, 'sleep')).text, /took too long|stopped after/)
    const { rows } = await admin.query('SELECT count(*)::int AS n FROM orders')
    assert.deepEqual(rows, [{ n: 10 }])
  })

  it('is told where row-level security passes over its login or its views, and nowhere else', async (t) => {
    const { port, admin } = await startPostgres(t)
    await admin.query(`CREATE ROLE owner LOGIN; CREATE ROLE reader LOGIN; CREATE ROLE above LOGIN BYPASSRLS;
      CREATE SCHEMA erp AUTHORIZATION owner; GRANT owner TO above; SET ROLE owner;
      CREATE TABLE erp.secured (id int); CREATE TABLE erp.forced (id int); CREATE TABLE erp.open (id int);
      ALTER TABLE erp.secured ENABLE ROW LEVEL SECURITY;
      ALTER TABLE erp.forced ENABLE ROW LEVEL SECURITY; ALTER TABLE erp.forced FORCE ROW LEVEL SECURITY;
      CREATE VIEW erp.all_of_it AS SELECT * FROM erp.secured;
      CREATE VIEW erp.mine WITH (security_invoker = true) AS SELECT * FROM erp.secured;
      CREATE VIEW erp.harmless AS SELECT * FROM erp.open;
      GRANT USAGE ON SCHEMA erp TO reader; GRANT SELECT ON ALL TABLES IN SCHEMA erp TO reader; RESET ROLE`)
    const told = async (user: string, from: string, more = ''): Promise<string[]> => {
      const { own } = await open(t, {
        'config/sources.yaml': `sources:\n  erp: { type: postgres, host: 127.0.0.1, port: ${port}, database: postgres, user: ${user}${more} }`,
        'config/tools/a.yaml': `tool: ids\ntype: sql\ndescription: The ids of whoever asks.\nsource: erp\nsql: SELECT id FROM ${from} WHERE id = $id\ninput: { type: object, properties: { id: {} } }`,
      })
      assert.deepEqual(own.troubles, [])
      return own.remarks.map(faultText)
    }
    const view =
      'config/tools/a.yaml:5:6 sql: the view erp.all_of_it reads what its owner may read, not "reader": security_invoker is not set'
    assert.deepEqual(await told('reader', 'erp.secured'), [])
    assert.deepEqual(await told('reader', 'erp.mine'), [])
    assert.deepEqual(await told('reader', 'erp.harmless'), [])
    assert.deepEqual(await told('reader', 'erp.all_of_it'), [view])
    assert.deepEqual(await told('owner', 'erp.secured'), [
      'config/tools/a.yaml:5:6 sql: "owner" owns erp.secured, whose row-level security binds its owner only by FORCE',
    ])
    assert.deepEqual(await told('owner', 'erp.forced'), [])
    for (const user of ['above', 'postgres'])
      assert.match(
        (await told(user, 'erp.secured')).join(),
        /^config\/sources\.yaml:2:\d+ sources\.erp\.user: "\w+" is a superuser or has BYPASSRLS: /,
      )
    assert.deepEqual(await told('postgres', 'erp.secured', ', role: reader'), [], 'the role counts')
    await admin.query('REVOKE SELECT ON erp.open FROM reader')
    await assert.rejects(told('reader', 'erp.open'), /permission denied for table open/, 'and is withheld')
  })

  it('never sends a model on by an argument that it does not have; page and cursor add one that goes to the end', async (t) => {
    const { port, admin } = await startPostgres(t)
    await admin.query(`CREATE TABLE lines (day date, number text, amount bigint);
      INSERT INTO lines SELECT date '2026-01-01' + n / 3, 'N' || n, n FROM generate_series(1, 10) n`)
    const sources = `sources: { one: { type: postgres, host: 127.0.0.1, port: ${port}, database: postgres, user: postgres } }`
    const yaml = (name: string, more: string) =>
      `tool: ${name}\ntype: sql\ndescription: The lines of the table, in order.\nsource: one\nsql: SELECT * FROM lines WHERE amount > $least ORDER BY amount\nmax_rows: 3\ninput: { type: object, additionalProperties: false, required: [least], properties: { least: { type: integer } } }\n${more}`
    const site = {
      'config/sources.yaml': sources,
      'config/tools/a.yaml': yaml('capped', ''),
      'config/tools/b.yaml': yaml('paged', 'page: offset'),
      'config/tools/c.yaml': yaml('followed', 'cursor: [day, number]'),
    }
    const { call } = await open(t, site)
    const ask = async (name: string, more = {}): Promise<Record<string, any>> =>
      JSON.parse((await call(boss, name, { least: 0, ...more })).text)
    const capped = await ask('capped')
    assert.deepEqual(Object.keys(capped).sort(), ['capped', 'count', 'data', 'has_more', 'types'])
    assert.equal(capped['has_more'], true)
    assert.match((await call(boss, 'capped', { least: 0, offset: 3 })).text, /offset/, 'is no argument of it')
    const short = await open(t, site, {}, {}, { limits: { max_result_bytes: 520 } })
    const cut = JSON.parse((await short.call(boss, 'capped', { least: 0 })).text)
    assert.match(cut.note, /left out to keep the answer short; ask for less$/)
    assert.equal(cut.next_offset, undefined)
    for (const [name, argument, next] of [
      ['paged', 'offset', 'next_offset'],
      ['followed', 'cursor', 'next_cursor'],
    ] as const) {
      const seen: string[] = []
      for (let page = await ask(name); ; page = await ask(name, { [argument]: page[next] })) {
        assert.equal(page['total_count'], undefined)
        seen.push(...page['data'].map(({ amount }: { amount: string }) => amount))
        if (!page['has_more']) break
        assert.ok(seen.length < 10, `${name} goes on for ever`)
      }
      const all = Array.from({ length: 10 }, (_, n) => `${n + 1}`)
      // By day and text, N10 stands before N9.
      assert.deepEqual(name === 'paged' ? seen : seen.toSorted((a, b) => Number(a) - Number(b)), all)
    }
    assert.match(
      (await call(boss, 'followed', { least: 0, cursor: 'x' })).text,
      /is no next_cursor of this tool/,
    )
    const faults = await faultsOf({
      ...site,
      'config/tools/d.yaml': yaml('both', 'page: offset\ncursor: [day]'),
      'config/tools/e.yaml': yaml('twice', 'cursor: [day]').replace('{ least:', '{ cursor: {}, least:'),
    })
    assert.match(faults[0]!, /d\.yaml:9:\d+ cursor: a tool has either a page or a cursor/)
    assert.match(faults[1]!, /e\.yaml:7:\d+ input\.properties\.cursor: this argument is added by the program/)
    const missing = await open(t, { ...site, 'config/tools/c.yaml': yaml('followed', 'cursor: [dayy]') })
    assert.match(missing.own.troubles[0]!.fault.message, /there is no column "dayy", which cursor names/)
  })

  const sleeping = (port: number) => ({
    'config/sources.yaml': `sources: { one: { type: postgres, host: 127.0.0.1, port: ${port}, database: postgres, user: postgres, max_connections: 1 } }`,
    'config/tools/a.yaml':
      'tool: sleep\ntype: sql\ndescription: Sleeps in the database for a while.\nsource: one\nsql: SELECT pg_sleep($s)::text AS slept\ninput: { type: object, properties: { s: { type: number } } }',
  })

  it('gives its connection back when the caller left while it waited for one', async (t) => {
    const { port } = await startPostgres(t)
    const { call } = await open(t, sleeping(port))
    const first = call(boss, 'sleep', { s: 0.7 })
    const leaving = new Stop()
    const second = call(boss, 'sleep', { s: 0 }, { stop: leaving })
    setTimeout(() => leaving.end(new Error('cancelled')), 100)
    assert.equal((await second).isError, true)
    assert.equal((await first).isError, false)
    assert.equal((await call(boss, 'sleep', { s: 0 })).isError, false)
  })

  it('may take as long as it says itself, and longer than questions to documents of its source', async (t) => {
    const { port } = await startPostgres(t)
    const site = sleeping(port)
    const sources = site['config/sources.yaml'].replace('type: postgres,', '$& timeout_seconds: 1,')
    const { call } = await open(t, { ...site, 'config/sources.yaml': sources })
    // What else is asked of this source has ten seconds.
    const { text, isError } = await call(boss, 'sleep', { s: 10.2 })
    assert.equal(isError, false, text)
  })

  it('fails alone when its connection breaks in the middle of a statement, and the daemon goes on', async (t) => {
    const { port, admin } = await startPostgres(t)
    const { call } = await open(t, sleeping(port))
    const uncaught: unknown[] = []
    const hear = (error: unknown): void => void uncaught.push(error)
    process.on('uncaughtException', hear)
    t.after(() => process.off('uncaughtException', hear))
    const running = call(boss, 'sleep', { s: 20 })
    const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep%' AND pid <> pg_backend_pid()`
    while ((await admin.query(end)).rowCount === 0) await wait(50)
    const { text, isError } = await running
    assert.equal(isError, true)
    assert.match(text, /the database behind this tool/)
    assert.equal((await call(boss, 'sleep', { s: 0 })).isError, false)
    assert.deepEqual(uncaught, [])
  })
})

describe('an upstream server', () => {
  const program = [
    process.execPath,
    '--import',
    import.meta.resolve('tsx'),
    fileURLToPath(new URL('./upstream-server.ts', import.meta.url)),
  ]
  const stdio = (more = '') =>
    `upstream: Everything\ntype: mcp\nprefix: every_\ncommand: ${JSON.stringify(program)}\nenv: { GREETING: hello }\n${more}`

  it('offers its tools under a prefix with roles of their own, over standard streams', async (t) => {
    const { call, catalogue, events } = await open(
      t,
      {
        'config/tools/u.yaml': stdio('tools: { environment: { roles: [Boss] }, slow: { enabled: false } }'),
      },
      { folder: import.meta.dirname },
    )
    assert.deepEqual(
      catalogue.offered(plain).map(({ tool }) => tool.name),
      ['every_echo', 'every_fail', 'every_tangled'],
    )
    assert.deepEqual(await call(plain, 'every_echo', { message: 'hi' }), {
      text: 'Echo: hi',
      content: [],
      isError: false,
    })
    assert.equal((await call(traced, 'every_echo', { message: 'hi' })).text, `Echo: hi (${traceparent})`)
    const repeatable = { id: 'one', call: 'echo' }
    const keyed = await call(plain, 'every_echo', { message: 'hi' }, { repeatable })
    assert.equal(keyed.text, 'Echo: hi (keyed)')
    assert.match((await call(plain, 'every_echo', { message: 1 })).text, /invalid arguments/)
    assert.deepEqual(await call(plain, 'every_fail'), { text: 'no', content: [], isError: true })
    assert.equal(catalogue.find(plain, 'every_environment'), 'forbidden')
    assert.equal(catalogue.find(boss, 'every_slow'), 'unknown')
    process.env['SECRET_OF_THE_DAEMON'] = 'x'
    const environment = (await call(boss, 'every_environment')).text
    assert.match(environment, /"GREETING":"hello"/)
    assert.doesNotMatch(environment, /SECRET_OF_THE_DAEMON/)
    const fail = catalogue.offered(boss).find(({ tool }) => tool.name === 'every_fail')
    assert.equal(fail?.annotations.destructiveHint, true)
    assert.deepEqual(
      events.map(({ target, status }) => [target, status]),
      [
        ['every_echo', 'ok'],
        ['every_echo', 'ok'],
        ['every_echo', 'ok'],
        ['every_echo', 'error'],
        ['every_fail', 'error'],
        ['every_environment', 'ok'],
      ],
    )
  })

  it('lists their schemas as the models of every vendor take them, and says where', async (t) => {
    const { call, catalogue, own } = await open(
      t,
      { 'config/tools/u.yaml': stdio() },
      { folder: import.meta.dirname },
    )
    for (const { tool, listedInput } of catalogue.offered(boss))
      assert.deepEqual(vendorFaults({ ...tool, inputSchema: listedInput }), [])
    assert.deepEqual(own.remarks.map(faultText), [
      'config/tools/u.yaml:1:11 upstream: every_tangled: input.properties.where.type is listed as object, since some models take one type',
      'config/tools/u.yaml:1:11 upstream: every_tangled: input.properties.node.properties.inner is listed as any object, since it is within itself',
    ])
    // It is the upstream that decides what a call may have.
    assert.equal((await call(boss, 'every_tangled', { where: [1] })).text, 'untangled')
  })

  it('does not end the calls of others when one caller leaves', async (t) => {
    const { call } = await open(t, { 'config/tools/u.yaml': stdio() }, { folder: import.meta.dirname })
    const [leaving, staying] = [new Stop(), new Stop()]
    const others = call(boss, 'every_slow', {}, { stop: staying })
    let ended = false
    void others.then(() => (ended = true))
    const mine = call(plain, 'every_slow', {}, { stop: leaving })
    await wait(100)
    leaving.end(new Error('cancelled'))
    assert.equal((await mine).isError, true)
    // An answer to a later question comes after whatever befell the connection.
    assert.equal((await call(plain, 'every_echo', { message: 'hi' })).text, 'Echo: hi')
    assert.equal(ended, false)
    staying.end(new Error('cancelled'))
    await others
  })

  it('works over HTTP', async (t) => {
    const child = spawn(program[0]!, [...program.slice(1), 'http'], { stdio: ['ignore', 'pipe', 'inherit'] })
    t.after(() => child.kill())
    const port = await new Promise<string>((resolve) =>
      child.stdout.once('data', (chunk: Buffer) => resolve(chunk.toString().trim())),
    )
    const { call } = await open(t, {
      'config/tools/u.yaml': `upstream: Web\ntype: mcp\nurl: http://127.0.0.1:${port}/mcp\nallow_private: true`,
    })
    assert.equal((await call(plain, 'web_echo', { message: 'hi' })).text, 'Echo: hi')
  })

  it('may be one that we did not write: the reference server "everything"', async (t) => {
    const everything = join(projectRoot, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js')
    const { call, catalogue, warnings } = await open(
      t,
      {
        'config/tools/u.yaml': `upstream: Reference\ntype: mcp\nprefix: ref_\ncommand: ${JSON.stringify([process.execPath, everything, 'stdio'])}`,
      },
      { folder: projectRoot },
    )
    const names = catalogue.offered(plain).map(({ tool }) => tool.name)
    assert.ok(names.includes('ref_echo') && names.length >= 5, `${names.join()} ${warnings.join()}`)
    assert.match((await call(plain, 'ref_echo', { message: 'hi there' })).text, /hi there/)
    assert.equal((await call(plain, 'ref_echo', {})).isError, true)
  })

  it('that never started was given up by a signal to the whole process group, the daemon first', async () => {
    const program = fileURLToPath(new URL('./missing-upstream-child.ts', import.meta.url))
    const args = ['--import', import.meta.resolve('tsx'), program]
    // A group of its own, so that such a signal does not end this run as well.
    const child = spawn(process.execPath, args, { detached: true, stdio: ['ignore', 'pipe', 'inherit'] })
    let said = ''
    child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()))
    const ending = await new Promise((resolve) =>
      child.on('close', (code, signal) => resolve({ code, signal })),
    )
    assert.deepEqual(ending, { code: 0, signal: null })
    assert.match(said, /upstream server has ended/)
  })

  it('that is killed fails the call in flight at once, and is started anew', async (t) => {
    const { call, own, warnings } = await open(
      t,
      { 'config/tools/u.yaml': stdio() },
      { folder: import.meta.dirname },
    )
    const { pid } = JSON.parse((await call(boss, 'every_environment')).text) as { pid: number }
    const inFlight = call(boss, 'every_slow')
    await wait(100)
    process.kill(pid, 'SIGKILL')
    assert.match((await inFlight).text, /the upstream server has ended/)
    assert.match(
      faultText(own.troubles[0]!.fault),
      /^config\/tools\/u\.yaml:4:10 command: .*has ended: SIGKILL$/,
    )
    assert.equal(warnings.length, 1)
    assert.equal((await call(boss, 'every_echo', { message: 'again' })).text, 'Echo: again')
    assert.deepEqual(own.troubles, [])
    // While nobody calls it is killed again, and begins by itself.
    const { pid: second } = JSON.parse((await call(boss, 'every_environment')).text) as { pid: number }
    process.kill(second, 'SIGKILL')
    await until(
      () => own.troubles.length,
      (count) => count === 1,
    )
    const { text, isError } = await call(boss, 'every_echo', { message: 'at once' })
    assert.equal(isError, false, text)
  })

  it('that was away at the start is tried again, and its tools are there when it is; a restart loses no call', async (t) => {
    const port = await freePort()
    const begin = async (): Promise<ChildProcess> => {
      const args = [...program.slice(1), 'http', String(port)]
      const child = spawn(program[0]!, args, { stdio: ['ignore', 'pipe', 'inherit'] })
      t.after(() => child.kill())
      await once(child.stdout, 'data')
      return child
    }
    const yaml = `upstream: Web\ntype: mcp\nurl: http://127.0.0.1:${port}/mcp\nallow_private: true`
    const { tools, own, definitions, warnings } = await open(t, { 'config/tools/u.yaml': yaml })
    assert.deepEqual(tools, [])
    assert.match(faultText(own.troubles[0]!.fault), /^config\/tools\/u\.yaml:3:6 url: .*cannot be reached/)
    let changes = 0
    own.follow(() => changes++)
    const child = await begin()
    assert.ok(
      await until(
        () => changes,
        (count) => count > 0,
      ),
      'by itself',
    )
    assert.deepEqual(own.troubles, [])
    const back = await own.open(definitions)
    assert.ok(
      back.some(({ name }) => name === 'web_echo'),
      JSON.stringify(warnings),
    )
    const echo = back.find(({ name }) => name === 'web_echo')!
    const say = (): Promise<unknown> => echo.run({ message: 'hi' }, contextOf(boss))
    assert.match(JSON.stringify(await say()), /Echo: hi/)
    child.kill('SIGKILL')
    await once(child, 'exit')
    await assert.rejects(say(), /cannot be reached/)
    assert.equal(
      (
        await until(
          () => own.troubles,
          ({ length }) => length > 0,
        )
      ).length,
      1,
    )
    assert.deepEqual(await own.open(definitions), back, 'what it listed last is offered on')
    await begin()
    assert.equal(await own.retry(), false, 'a reload tries at once, and nothing else is offered')
    assert.deepEqual(own.troubles, [])
    assert.match(JSON.stringify(await say()), /Echo: hi/)
  })

  it('that hangs keeps no reload waiting: what it lists is offered when it comes', async (t) => {
    const held: (() => void)[] = []
    let [hangs, aborted, names] = [false, 0, ['one']]
    const server = createServer((request, response) => {
      let body = ''
      request.on('data', (chunk) => (body += chunk))
      request.on('end', () => {
        const { id, method } = JSON.parse(body) as { id?: number; method: string }
        const answer = (): void => {
          const tools = names.map((name) => ({ name, inputSchema: { type: 'object' } }))
          const result = method === 'tools/list' ? { tools } : {}
          response.setHeader('content-type', 'application/json')
          response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
        }
        response.on('close', () => (aborted += response.writableEnded ? 0 : 1))
        if (hangs) held.push(answer)
        else answer()
      })
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    t.after(() => server.close())
    const { port } = server.address() as AddressInfo
    const yaml = (name: string) =>
      `upstream: ${name}\ntype: mcp\nurl: http://127.0.0.1:${port}/mcp\nallow_private: true`
    const { own, definitions, tools } = await open(
      t,
      { 'config/tools/a.yaml': yaml('a') },
      {},
      { serves: true },
    )
    let changes = 0
    own.follow(() => changes++)
    const known = (found: typeof tools) => found.map(({ name }) => name)
    assert.deepEqual(known(tools), ['a_one'])

    hangs = true
    names = ['one', 'two']
    assert.equal(await own.retry(), false)
    assert.deepEqual([held.length, aborted], [1, 0], 'it hangs still, and is waited for')
    for (const answer of held.splice(0)) answer()
    await until(() => changes, Boolean)
    assert.deepEqual(known(await own.open(definitions)), ['a_one', 'a_two'])

    // A server that an edit names, too.
    const [a] = definitions.upstreams
    const documents = new Map(definitions.documents)
    const b = { ...a!, upstream: 'b' }
    documents.set(b, documents.get(a!)!)
    const edited = { ...definitions, upstreams: [a!, b], documents }
    changes = 0
    assert.deepEqual(known(await own.open(edited)), ['a_one', 'a_two'])
    assert.deepEqual([held.length, aborted], [1, 0])
    hangs = false
    for (const answer of held.splice(0)) answer()
    await until(() => changes, Boolean)
    assert.deepEqual(known(await own.open(edited)), ['a_one', 'a_two', 'b_one', 'b_two'])
  })

  it('is told in the log, and has no tools, when it does not start', async (t) => {
    const { tools, warnings } = await open(t, {
      'config/tools/u.yaml': 'upstream: Gone\ntype: mcp\ncommand: [/nowhere/at-all]',
    })
    assert.deepEqual(tools, [])
    assert.equal(warnings.length, 1)
  })
})

describe('a module of the site', () => {
  it('makes tools with the same defineTool, under the same rules', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'own-'))
    t.after(() => rm(folder, { recursive: true }))
    const text = `export function tools({ defineTool }) {
      return [defineTool({ name: 'double', title: 'Double', description: 'Doubles a number for you.', category: 'read_only',
        input: { type: 'object', additionalProperties: false, required: ['n'], properties: { n: { type: 'number' } } },
        run: async ({ n }, { principal }) => ({ by: principal.user, is: (n as number) * 2 }) })]
    }`
    const { mkdir } = await import('node:fs/promises')
    await mkdir(join(folder, 'tools'))
    await writeFile(join(folder, 'tools/double.ts'), text)
    const assets = new Map([['tools/double.ts', Buffer.from(text)]])
    const { call } = await open(t, {}, { folder, assets })
    assert.equal((await call(plain, 'double', { n: 4 })).text, `{"by":"${plain.user}","is":8}`)
    assert.match((await call(plain, 'double', { n: 'x' })).text, /n: must be number/)
  })
})
