import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { mysqlColumn, withNames } from '#sources/mysql-columns.ts'
import { positional } from '#sources/mysql-connection.ts'

describe('statements and columns of MySQL and MariaDB', () => {
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
