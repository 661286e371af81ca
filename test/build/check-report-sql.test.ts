/** A statement of a report is tried before anybody asks for it. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { withSql } from '../../src/build/check-report-sql.ts'
import { readWholeSite } from '../../src/build/snapshot.ts'
import { faultText } from '../../src/site/site-files.ts'
import { folders, runService } from '../cli/running-service.ts'
import { copyOfShippedSite } from '../helpers/daemon.ts'

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
        /^config\/reports\/item-sales\.yaml:15:3 sql: syntax error at or near "GRUP"/,
      ],
      [
        'column',
        (text) => text.replace('i.item_name,', 'i.item_nam,'),
        /^config\/reports\/item-sales\.yaml:9:32 sql: .*item_nam/,
      ],
      [
        'table',
        (text) => text.replace(', Item]', ']'),
        /^config\/reports\/item-sales\.yaml:12:8 sql: there is no table "item"/,
      ],
      [
        'in one line',
        (text) =>
          text
            .replace(/sql: \|[^]*?totals/, 'sql: SELECT nothing FROM item\ntotals')
            .replace('totals: [qty, revenue]', 'totals: []'),
        /^config\/reports\/item-sales\.yaml:8:6 sql: line 1, column 8: .*nothing/,
      ],
    ]
    for (const [what, change, expected] of cases) {
      const { faults } = await checked(siteWith(t, change))
      assert.equal(faults.length, 1, `${what}: ${faults.join('\n')}`)
      assert.match(faults[0]!, expected, what)
    }
  })

  it('keeps the last good site where a running daemon is given a broken statement', async (t) => {
    const where = folders(t)
    const { daemon } = await runService(t, where)
    const { site } = daemon.services
    const before = site.current()
    const path = join(where.site, report)
    const good = readFileSync(path, 'utf8')
    writeFileSync(path, good.replace('sum(r.qty)', 'sum(r.quantity)'))
    const { outcome, faults } = await site.reload('the test')
    assert.equal(outcome, 'rejected')
    assert.match(faults.map(faultText).join(), /item-sales\.yaml:9:\d+ sql: .*quantity/)
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
