import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Fault, faultText, type SiteFiles } from '../../../src/site/site-files.ts'
import { projectRoot } from '../../helpers/daemon.ts'
import { isPublicAddress as isPublic } from '../../../src/core/public-address.ts'
import { Stop } from '../../../src/core/stop.ts'
import { OwnTools } from '../../../src/tools/own/own-tools.ts'
import { readOwnTools } from '../../../src/tools/own/read-own-tools.ts'
import { readPeople } from '../../../src/users/read-people.ts'
import { plain, silent, siteOf, someone } from '../../documents/trading-company.ts'
import { openOffice } from '../offices.ts'
import { noPostgres, startPostgres } from '../../helpers/postgres.ts'

const boss = someone('boss@example.com', 'Boss')
const trace = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7', sampled: true }
const traced = { ...plain, trace }
const traceparent = `00-${trace.traceId}-${trace.spanId}-01`

async function open(t: TestContext, texts: Record<string, string>, more: Partial<SiteFiles> = {}) {
  const files = {
    ...siteOf({
      'config/doctypes/a.yaml': 'doctype: Thing\nfields: [{fieldname: title, type: text}]',
      ...texts,
    }),
    ...more,
  }
  const faults: Fault[] = []
  const definitions = await readOwnTools(files, faults, readPeople(files, faults), [])
  assert.deepEqual(faults.map(faultText), [])
  const warnings: unknown[] = []
  const own = new OwnTools({ ...silent, warn: (message, fields) => warnings.push([message, fields]) }, '0')
  t.after(() => own.close())
  const tools = await own.open(definitions)
  return { ...(await openOffice(t, { files, tools, toolsYaml: '{}' })), tools, warnings, own, definitions }
}

async function faultsOf(texts: Record<string, string>): Promise<string[]> {
  const files = siteOf(texts)
  const faults: Fault[] = []
  await readOwnTools(files, faults, readPeople(files, faults), [])
  return faults.map(faultText)
}

async function listen(
  t: TestContext,
  answer: (
    request: IncomingMessage,
    body: string,
  ) => { status?: number; text: string; headers?: Record<string, string> },
) {
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => (body += chunk))
    request.on('end', () => {
      const { status = 200, text, headers = {} } = answer(request, body)
      response.writeHead(status, headers).end(text)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return (server.address() as { port: number }).port
}

const http = (port: number, more = '') => `
tool: weather
type: http
description: Tells the weather of a city, in words.
url: http://127.0.0.1:${port}/v1/{city}/now
query: { units: "{units}", fixed: a b }
headers: { X-Key_file: key.txt }
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
    await writeFile(join(folder, 'key.txt'), 's3cret\n')
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
    const site = { 'config/tools/weather.yaml': http(port).replace('headers: { X-Key_file: key.txt }', '') }
    const closed = await open(t, site)
    assert.match((await closed.call(plain, 'weather', { city: 'x' })).text, /not on the public internet/)
    assert.equal(calls, 0)
    const opened = await open(t, {
      'config/tools/weather.yaml': `${site['config/tools/weather.yaml']}allow_private: true`,
    })
    assert.match((await opened.call(plain, 'weather', { city: 'x' })).text, /answered 302/)
    assert.equal(calls, 1)
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
      CREATE ROLE reader LOGIN; GRANT SELECT ON orders TO reader;
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
      'config/tools/b.yaml': tool('write', 'DELETE FROM orders RETURNING id'),
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
      at: '2026-01-02T03:04:05.000Z',
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
      ['every_echo', 'every_fail'],
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
