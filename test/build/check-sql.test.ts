/** A statement of a report is tried before anybody asks for it. */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { withSql } from '../../src/build/check-sql.ts'
import { readWholeSite } from '../../src/build/snapshot.ts'
import { faultText } from '../../src/site/site-files.ts'
import { folders, runService } from '../cli/running-service.ts'
import { copyOfShippedSite } from '../helpers/daemon.ts'
import { noPostgres, startPostgres } from '../helpers/postgres.ts'

const report = 'config/reports/item-sales.yaml'

async function checked(site: string): Promise<{ faults: string[]; warnings: string[] }> {
  const { faults, warnings } = await withSql((runSql) => readWholeSite(site, undefined, runSql))
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
    `type: sql\ntool: stock\ndescription: How many pieces lie in the hall.\ninput:\n  type: object\n  properties: { item_name: { type: string } }\nsource: hall\n${more}sql: ${sql}\n`
  const siteFor = (
    t: TestContext,
    port: number,
  ): ((text: string) => Promise<Awaited<ReturnType<typeof checked>>>) => {
    const site = copyOfShippedSite(t)
    const settings = join(site, 'config/tools.yaml')
    writeFileSync(
      settings,
      readFileSync(settings, 'utf8').replace('    tools:\n', '    tools:\n      - stock\n'),
    )
    writeFileSync(join(site, 'config/sources.yaml'), sources(port))
    mkdirSync(join(site, 'config/tools'))
    return (text) => {
      writeFileSync(join(site, 'config/tools/stock.yaml'), text)
      return checked(site)
    }
  }

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
})
