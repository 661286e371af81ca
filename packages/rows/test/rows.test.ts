/** What a file of rows gives, whatever its form. Excel's is asked through the whole service, `test/pages/sheet.test.ts`. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { isApp } from '../../state/test/contract.ts'
import { temporaryFolder } from '../../state/test/state-folder.ts'
import { openSource } from '#rows/open-source.ts'
import type { ImportSource, SourceOptions, SourceRow } from '#rows/source.ts'
import { defaultSandboxSettings } from '#sandbox/settings.ts'

async function open(
  t: TestContext,
  name: string,
  text: string | Uint8Array,
  options: SourceOptions = {},
): Promise<ImportSource> {
  const path = join(await temporaryFolder(t), name)
  await writeFile(path, text)
  return await openSource(path, options, defaultSandboxSettings().files)
}

async function rowsOf(source: ImportSource): Promise<SourceRow[]> {
  const rows: SourceRow[] = []
  for await (const row of source.rows()) rows.push(row)
  return rows
}

const cellsOf = async (source: ImportSource): Promise<unknown[]> =>
  (await rowsOf(source)).map(({ cells }) => cells)

describe('a file of rows', () => {
  const table = [
    ['name', 'says'],
    ['Ann', 'a "b"; c,\nd'],
    ['Grün', 'ß'],
  ]
  const quoted = (mark: string): string =>
    table.map((row) => row.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(mark)).join('\r\n')
  const lines = table
    .slice(1)
    .map(([name, says]) => JSON.stringify({ name, says }))
    .join('\n')

  // Tabs between cells that are all in quotes were taken for commas.
  it('gives one table in whatever form it comes', async (t) => {
    const forms: readonly [name: string, bytes: string | Uint8Array, form: object][] = [
      ['a.csv', quoted(','), { encoding: 'utf-8', delimiter: ',' }],
      ['a.csv', `sep=;\r\n${quoted(';')}`, { encoding: 'utf-8', delimiter: ';' }],
      ['a.tsv', `\ufeff${quoted('\t')}`, { encoding: 'utf-8', delimiter: 'tab' }],
      ['a.txt', Buffer.from(`\ufeff${quoted('|')}`, 'utf16le'), { encoding: 'utf-16le', delimiter: '|' }],
      ['a.csv', Buffer.from(quoted(';'), 'latin1'), { encoding: 'windows-1252', delimiter: ';' }],
      ['a.jsonl', lines, {}],
    ]
    for (const [name, bytes, form] of forms) {
      const source = await open(t, name, bytes)
      assert.deepEqual([source.columns, source.count, source.form], [table[0], 2, form], name)
      assert.deepEqual(await cellsOf(source), table.slice(1), name)
      assert.deepEqual(await cellsOf(source), table.slice(1), `${name} once more`)
    }
  })

  it('knows the place of each cell, in rows of several lines as well', async (t) => {
    const [first, second] = await rowsOf(await open(t, 'a.csv', 'a,b\n"x\ny",1\n\nz,2\n'))
    assert.deepEqual(
      [first!.line, first!.placeOf(0), first!.placeOf(1)],
      [2, { line: 2, column: 1 }, { line: 3, column: 4 }],
    )
    assert.deepEqual([second!.line, second!.placeOf(1)], [5, { line: 5, column: 3 }])
    const [json] = await rowsOf(await open(t, 'a.jsonl', '\n{"a":1,"b":2}'))
    assert.deepEqual(json!.placeOf(1), { line: 2, column: 8 })
  })

  it('tells what is wrong with a row, and goes on', async (t) => {
    const csv = await rowsOf(await open(t, 'a.csv', 'a,b\n1,2,3\n4\n'))
    assert.deepEqual(
      csv.map(({ cells, fault }) => [cells, fault?.message]),
      [
        [[], 'has 3 cells, but there are 2 columns'],
        [['4'], undefined],
      ],
    )
    const json = await rowsOf(
      await open(t, 'a.jsonl', '[1]\n{"a":12345678901234567}\n{"a":1,"a":2}\n{"a":1}'),
    )
    assert.deepEqual(
      json.map(({ line, fault }) => [line, fault?.message.split(';')[0]!.split(':')[0]]),
      [
        [1, 'must be an object, one in each line'],
        [2, 'has a number of more than 15 digits'],
        [3, 'is not JSON that is read'],
        [4, undefined],
      ],
    )
  })

  it('is refused as a whole when its form or its columns cannot be known', async (t) => {
    const wrong: readonly [name: string, text: string, options: SourceOptions, why: RegExp][] = [
      ['a.csv', '', {}, /its first row must name the columns/],
      ['a.csv', 'a,,b\n', {}, /line 1: column 2 has no name/],
      ['a.csv', 'a,a\n', {}, /two columns are named "a"/],
      ['a.csv', 'a\n"x', {}, /a\.csv:\d/],
      ['a.csv', 'a\n', { encoding: 'klingon' }, /"klingon" is not known/],
      ['a.dat', 'a\n', {}, /say what it is with --format/],
    ]
    for (const [name, text, options, why] of wrong)
      await assert.rejects(open(t, name, text, options), (error: Error) => {
        assert.match(error.message, why)
        return isApp('invalid')(error)
      })
  })
})
