/** A statement of a report is tried before anybody asks for it. */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { type Means, withSql } from '../../src/house/check-sql.ts'
import { AppError } from '#leaf/errors.ts'
import { readWholeSite } from '../../src/house/snapshot.ts'
import { faultText } from '#site/site-files.ts'
import { folders, runService } from '../cli/running-service.ts'
import { paths } from '../../src/oauth/urls.ts'
import { copyOfShippedSite, startDaemon, type RunningDaemon } from '../helpers/daemon.ts'
import { noPostgres, startPostgres } from '../helpers/postgres.ts'
import { until } from '../tools/own/own-office.ts'
import { tokenOf } from '../helpers/tool-calls.ts'

const report = 'config/reports/item-sales.yaml'

async function checked(site: string): Promise<{ faults: string[]; warnings: string[] }> {
  const { faults, warnings } = await withSql({ site, state: join(site, 'var') }, (means) =>
    readWholeSite(site, undefined, means),
  )
  return { faults: faults.map(faultText), warnings: warnings.map(faultText) }
}

function siteWith(t: TestContext, change: (text: string) => string): string {
  const site = copyOfShippedSite(t)
  writeFileSync(join(site, report), change(readFileSync(join(site, report), 'utf8')))
  return site
}

describe('the SQL of reports', () => {
  it('is tried against empty tables of its doctypes; a good one has no fault and no warning', async (t) => {
    assert.deepEqual(await checked(copyOfShippedSite(t)), { faults: [], warnings: [] })
  })

  it('is told at its line and column of the YAML: syntax, columns, tables that the report does not name', async (t) => {
    const cases: [string, (text: string) => string, RegExp][] = [
      [
        'syntax',
        (text) => text.replace('GROUP BY ALL', 'GRUP BY ALL'),
        /^config\/reports\/item-sales\.yaml:16:3 sql: syntax error at or near "GRUP"/,
      ],
      [
        'column',
        (text) => text.replace('i.item_name,', 'i.item_nam,'),
        /^config\/reports\/item-sales\.yaml:10:32 sql: .*item_nam/,
      ],
      [
        'table',
        (text) => text.replace(', Item]', ']'),
        /^config\/reports\/item-sales\.yaml:13:8 sql: there is no table "item"/,
      ],
      [
        'in one line',
        (text) =>
          text
            .replace(/sql: \|[^]*?totals/, 'sql: SELECT nothing FROM item\ntotals')
            .replace('totals: [qty, revenue]', 'totals: []'),
        /^config\/reports\/item-sales\.yaml:9:13 sql: .*nothing/,
      ],
    ]
    for (const [what, change, expected] of cases) {
      const { faults } = await checked(siteWith(t, change))
      assert.equal(faults.length, 1, `${what}: ${faults.join('\n')}`)
      assert.match(faults[0]!, expected, what)
    }
  })

  it('is tried at each reading: what was right once is not taken to be so', async (t) => {
    const site = copyOfShippedSite(t)
    const asked: string[] = []
    let refusal: string | undefined
    const means: Means = {
      folders: { site, state: site },
      runSql: ({ sql }) => {
        asked.push(sql)
        if (refusal !== undefined) throw new AppError('invalid', refusal)
        return Promise.resolve({ columns: [], rows: [], truncated: false })
      },
    }
    assert.deepEqual((await readWholeSite(site, undefined, means)).faults, [])
    const [sql] = asked.splice(0)
    refusal = 'line 1, column 1: it is not there any more'
    const { faults } = await readWholeSite(site, undefined, means)
    assert.deepEqual(asked, [sql])
    assert.deepEqual(faults.map(faultText), [`${report}:10:3 sql: it is not there any more`])
  })

  it('keeps the last good site where a running daemon is given a broken statement', async (t) => {
    const where = { ...folders(t), analysis: true }
    const { daemon } = await runService(t, where)
    const { site } = daemon.services
    const before = site.current()
    const path = join(where.site, report)
    const good = readFileSync(path, 'utf8')
    writeFileSync(path, good.replace('sum(r.qty)', 'sum(r.quantity)'))
    const { outcome, faults } = await site.reload('the test')
    assert.equal(outcome, 'rejected')
    assert.match(faults.map(faultText).join(), /item-sales\.yaml:10:\d+ sql: .*quantity/)
    assert.equal(site.current(), before)
    writeFileSync(path, good)
    assert.deepEqual((await site.reload('the test')).faults, [])
  })

  it('warns where it names a field that is masked for some who may run it, not where it only says the word', async (t) => {
    const sql = (words: string): string =>
      `report: Pay\ntype: sql\ndoctypes: [Employee]\nsql: |\n  -- salary\n  SELECT name, 'salary' AS word, ${words} AS pay\n  FROM employee\n`
    const site = copyOfShippedSite(t)
    const path = join(site, 'config/reports/pay.yaml')
    writeFileSync(path, sql('sum(salary) OVER ()'))
    const { faults, warnings } = await checked(site)
    assert.deepEqual(faults, [])
    assert.deepEqual(warnings, [
      'config/reports/pay.yaml:6:38 sql: "salary" of Employee is masked for everybody but HR Manager; give the report to them alone with "roles"',
    ])
    writeFileSync(path, `${sql('sum(salary) OVER ()')}roles: [HR Manager]\n`)
    assert.deepEqual(await checked(site), { faults: [], warnings: [] })
    writeFileSync(path, sql('1'))
    assert.deepEqual(await checked(site), { faults: [], warnings: [] })
  })
})

describe('the SQL of tools', () => {
  const sources = (port: number): string =>
    `sources: { hall: { type: postgres, host: 127.0.0.1, port: ${port}, database: postgres, user: postgres } }\n`
  const tool = (sql: string, more = ''): string =>
    `type: sql\ntool: stock\ndescription: How many pieces lie in the hall.\ninput:\n  type: object\n  properties: {${sql.includes('$item_name') ? ' item_name: { type: string } ' : ''}}\nsource: hall\n${more}sql: ${sql}\n`
  const siteFor = (
    t: TestContext,
    port: number,
  ): ((text: string) => Promise<Awaited<ReturnType<typeof checked>>>) & { readonly site: string } => {
    const site = copyOfShippedSite(t)
    const settings = join(site, 'config/tools.yaml')
    writeFileSync(
      settings,
      readFileSync(settings, 'utf8').replace('    tools:\n', '    tools:\n      - stock\n'),
    )
    writeFileSync(join(site, 'config/sources.yaml'), sources(port))
    mkdirSync(join(site, 'config/tools'))
    const check = (text: string): ReturnType<typeof checked> => {
      writeFileSync(join(site, 'config/tools/stock.yaml'), text)
      return checked(site)
    }
    return Object.assign(check, { site })
  }

  it('is refused over a database of another kind than PostgreSQL', async (t) => {
    const check = siteFor(t, 1)
    writeFileSync(join(check.site, 'config/sources.yaml'), sources(1).replace('postgres', 'mariadb'))
    const { faults } = await check(tool('SELECT 1 AS n'))
    assert.match(
      faults.join(),
      /stock\.yaml:\d+:\d+ source: "hall" is a mariadb: statements run on PostgreSQL only/,
    )
  })

  it(
    'is prepared by its source, which runs nothing, and told at its line and column',
    { skip: noPostgres },
    async (t) => {
      const { admin, port } = await startPostgres(t)
      await admin.query('CREATE TABLE stock (item text, pieces integer, salary integer)')
      const check = siteFor(t, port)
      const cases: [string, string, RegExp | undefined][] = [
        ['sound', 'SELECT pieces FROM stock WHERE item = $item_name', undefined],
        [
          'a column, in one line',
          'SELECT pieces FROM stock WHERE itm = $item_name',
          /stock\.yaml:8:37 sql: column "itm"/,
        ],
        [
          'a column behind an argument, in a block',
          '|\n  SELECT pieces FROM stock\n  WHERE item = $item_name AND piecs > 0',
          /stock\.yaml:10:31 sql: column "piecs"/,
        ],
        [
          'syntax',
          '|\n  SELECT pieces\n  FORM stock',
          /stock\.yaml:10:8 sql: syntax error at or near "stock"/,
        ],
        ['a table', 'SELECT pieces FROM stok', /stock\.yaml:8:25 sql: relation "stok"/],
        [
          'a change within a question',
          'WITH gone AS (DELETE FROM stock RETURNING *) SELECT * FROM gone',
          /stock\.yaml:8:\d+ sql: .*data-modifying/,
        ],
        ['what is no question', 'DELETE FROM stock', /stock\.yaml:8:\d+ sql: /],
        [
          'two statements',
          'SELECT 1) AS a; DROP TABLE stock; SELECT (1',
          /stock\.yaml:8:6 sql: .*cannot insert multiple/,
        ],
      ]
      for (const [what, sql, expected] of cases) {
        const { faults, warnings } = await check(tool(sql))
        assert.deepEqual(warnings, [], what)
        assert.equal(faults.length, expected ? 1 : 0, `${what}: ${faults.join('\n')}`)
        if (expected) assert.match(faults[0]!, expected, what)
      }
      assert.equal((await admin.query('SELECT * FROM stock')).rowCount, 0, 'the table is there')
    },
  )

  it('that cannot be tried is a warning, and a masked field that it names another', async (t) => {
    const check = siteFor(t, 1)
    const untried = /stock\.yaml:\d+:6 sql: could not be tried in hall: .*ECONNREFUSED/
    const { faults, warnings } = await check(tool('SELECT item, salary FROM stock'))
    assert.deepEqual(faults, [])
    assert.equal(
      warnings[0],
      'config/tools/stock.yaml:8:19 sql: "salary" is masked in Employee for everybody but HR Manager, and no mask reaches a source; give the tool to them alone with "roles"',
    )
    assert.match(warnings[1]!, untried)
    const given = await check(tool('SELECT salary FROM stock', 'roles: [HR Manager]\n'))
    assert.equal(given.warnings.length, 1)
    assert.match(given.warnings[0]!, untried)
  })

  it('is tried also where something else is wrong with the site', async (t) => {
    const site = siteWith(t, (text) => text.replace('GROUP BY ALL', 'GRUP BY ALL'))
    const users = join(site, 'config/users.yaml')
    writeFileSync(users, readFileSync(users, 'utf8').replace('Sales User', 'Sails User'))
    const { faults } = await checked(site)
    assert.match(faults.join('\n'), /users\.yaml:.*Sails User[^]*item-sales\.yaml:16:3 sql: syntax error/)
  })

  it(
    'that another team broke is withheld, at a start too, is told, and comes back by itself',
    { skip: noPostgres },
    async (t) => {
      const { admin, port } = await startPostgres(t)
      await admin.query('CREATE TABLE stock (item text, pieces integer)')
      const sql = tool('SELECT pieces FROM stock')
      const folder = siteFor(t, port)
      assert.deepEqual((await folder(sql)).faults, [])
      let daemon = await startDaemon(t, { site: folder.site })
      let ask = await clientOf(daemon)
      const isOffered = async (): Promise<boolean> =>
        JSON.stringify(await ask('tools/list', {})).includes('"stock"')
      const call = async (): Promise<string> =>
        JSON.stringify(await ask('tools/call', { name: 'stock', arguments: {} }))
      assert.match(await call(), /count/)

      await admin.query('ALTER TABLE stock RENAME pieces TO amount')
      assert.match(await call(), /its statement does not fit its database any more/)
      assert.equal(await until(isOffered, (offered) => !offered), false)
      assert.match(await call(), /cannot be used for now: its statement does not fit.*"isError":true/)
      const place = 'config/tools/stock.yaml:8:13'
      assert.match(daemon.output().stdout, /"place":"config\/tools\/stock.yaml:8:13".*column \\?"pieces/)
      assert.match(
        (await daemon.cli(['status'])).stdout,
        new RegExp(`own tool: ${place}.*"pieces" does not exist`),
      )
      assert.match(await (await fetch(`${daemon.url}/readyz`)).text(), new RegExp(`"degraded".*${place}`))
      const doctor = (await daemon.cli(['doctor'])).stdout
      assert.match(doctor, /sources\.hall\.user: "postgres" is a superuser or has BYPASSRLS/)
      // Neither another edit nor a start is kept back by what this site did not do.
      const users = join(folder.site, 'config/users.yaml')
      writeFileSync(users, `${readFileSync(users, 'utf8')}# edited\n`)
      assert.equal((await daemon.cli(['reload'])).code, 0)
      await daemon.stop()
      daemon = await startDaemon(t, { site: folder.site })
      ask = await clientOf(daemon)
      assert.equal(await isOffered(), false)
      // An edit of the tool is.
      writeFileSync(join(folder.site, 'config/tools/stock.yaml'), `${sql}title: Stock\n`)
      const edited = await daemon.cli(['reload'])
      assert.match(edited.stderr, new RegExp(`${place} sql: column "pieces" does not exist`))
      writeFileSync(join(folder.site, 'config/tools/stock.yaml'), sql)
      assert.equal((await daemon.cli(['reload'])).code, 0)

      await admin.query('ALTER TABLE stock RENAME amount TO pieces')
      assert.equal(await until(isOffered, Boolean), true, 'by itself')
      assert.match(await call(), /count/)
      assert.doesNotMatch((await daemon.cli(['status'])).stdout, /own tool/)
    },
  )
})

async function clientOf(
  daemon: RunningDaemon,
): Promise<(method: string, params: unknown) => Promise<unknown>> {
  const token = await tokenOf(daemon, 'sales@example.com')
  return async (method, params) => {
    const headers = {
      Authorization: `Bearer ${token}`,
      Accept: 'application/json, text/event-stream',
      'Content-Type': 'application/json',
    }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    return await (await fetch(daemon.url + paths.mcp, { method: 'POST', headers, body })).json()
  }
}
