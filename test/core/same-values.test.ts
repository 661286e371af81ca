/** One rule for all: what is a value of a type for one reader of values is one for every other, and the same. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Float } from '#jinja/values.ts'
import { readArguments } from '../../src/library/prompts/argument-rows.ts'
import { compileArguments } from '../../src/library/prompts/arguments.ts'
import type { ArgumentType } from '../../src/library/words.ts'
import { filterTypes, type FieldType } from '../../src/documents/platform/platform.ts'
import { readReportFilters } from '../../src/documents/reports/report-filters.ts'
import { countDocuments } from '../helpers/count-documents.ts'
import { readValue } from '../../src/documents/values.ts'
import { readPlatform } from '../../src/documents/platform/read-platform.ts'
import { type Fault, faultText } from '#site/site-files.ts'
import { readPeople } from '../../src/users/read-people.ts'
import { compileSchema } from '#leaf/schema.ts'
import { typedArguments } from '../../src/tools/gate/typed-arguments.ts'
import { openOffice } from '../tools/offices.ts'
import { type Company, openCompany, sales, siteOf, someone } from '../documents/trading-company.ts'

type Row = Parameters<typeof readArguments>[0][number]
const refused = Symbol('refused')
const options = ['Open', 'In work']

/** By type as fields call it: what is given, and what it is for everybody. */
const cases: readonly [FieldType, unknown, unknown][] = [
  // What arguments took and fields refused, or the other way round, before there was one table.
  ['check', 'TRUE', true],
  ['check', ' true', true],
  ['number', '1e5', 100_000],
  ['number', '.5', 0.5],
  ['number', '+7', 7],
  ['number', '7.', 7],
  ['date', ' 2026-01-31 ', '2026-01-31'],
  ['datetime', '2026-01-31', '2026-01-31T00:00:00.000Z'],
  ['datetime', '2026-01-31T10:00:00+99:99', refused],
  ['datetime', '2026-01-31t10:00:00z', '2026-01-31T10:00:00.000Z'],
  ['datetime', '2026-01-31 10:00:00.123456789', '2026-01-31T10:00:00.123Z'],
  ['date', '0000-01-01', refused],
  ['select', ' Open ', 'Open'],
  // What everybody took.
  ['check', 1, true],
  ['check', 'False', false],
  ['number', ' -3.25 ', -3.25],
  ['datetime', '2026-01-31T10:00:00+02:00', '2026-01-31T08:00:00.000Z'],
  ['date', '2028-02-29', '2028-02-29'],
  ['text', 7, '7'],
  ['select', 'In work', 'In work'],
  // What could be read in two ways, or is none.
  ['check', 'yes', refused],
  ['check', 2, refused],
  ['number', '1,5', refused],
  ['number', '0x10', refused],
  ['number', '1_000', refused],
  ['number', 'NaN', refused],
  ['number', '١', refused],
  ['number', true, refused],
  ['date', '31.3.2026', refused],
  ['date', '2026-02-29', refused],
  ['date', '2026-01-31T00:00', refused],
  ['datetime', '2026-01-31T24:00', refused],
  ['datetime', '2026-01-31T10:00+2:00', refused],
  ['select', 'open', refused],
  ['text', {}, refused],
]

const argumentTypeOf: Partial<Record<FieldType, ArgumentType>> = { text: 'string', check: 'boolean' }

function argumentRow(type: FieldType, more: Partial<Row> = {}): Row {
  return {
    argument_name: 'x',
    argument_type: argumentTypeOf[type] ?? (type as ArgumentType),
    ...(type === 'select' && { allowed_values: options }),
    ...more,
  }
}

/** What a prompt makes of an argument, as a document would store it. */
function asArgument(type: FieldType, row: Row, supplied: Record<string, unknown>): unknown {
  const faults: string[] = []
  const rows = readArguments([row], (_, message) => faults.push(message))
  const check = compileArguments(rows, (_row, _property, message) => faults.push(message))
  const { values, problems } = check(supplied, Date.now())
  if (faults.length + problems.length > 0) return refused
  const value = values['x'] instanceof Float ? values['x'].value : values['x']
  return type === 'datetime'
    ? new Date(/[Z+]|-\d\d:/.test(String(value)) ? String(value) : `${String(value)}Z`).toISOString()
    : value
}

function asField(type: FieldType, given: unknown): unknown {
  const read = readValue({ type, options }, given)
  return 'problem' in read ? refused : read.value
}

const files = siteOf({
  'config/doctypes/thing.yaml': `
doctype: Thing
naming: { rule: hash }
fields:
  - { fieldname: text, type: text }
  - { fieldname: number, type: number }
  - { fieldname: integer, type: integer }
  - { fieldname: check, type: check }
  - { fieldname: date, type: date }
  - { fieldname: datetime, type: datetime }
  - { fieldname: select, type: select, options: [Open, In work] }
permissions: [{ role: Clerk, actions: [read, create, report] }]`,
  'config/reports/things.yaml': `
report: Things
type: declarative
doctype: Thing
columns: [{ name: name }]
filters:
  - { name: text, type: text }
  - { name: number, type: number }
  - { name: integer, type: integer }
  - { name: check, type: check }
  - { name: date, type: date }
  - { name: select, type: select, options: [Open, In work] }`,
})
const clerk = someone('clerk@example.com', 'Clerk')

async function asReportFilter(
  { documents, platform }: Company,
  type: FieldType,
  given: unknown,
): Promise<unknown> {
  const read = readReportFilters(documents, clerk, platform.reports.get('Things')!, { [type]: given })
  return await read.then(
    (filters) => filters[type],
    (error: { code: string }) => (assert.equal(error.code, 'invalid'), refused),
  )
}

const schemaOf: Partial<Record<FieldType, string>> = {
  number: 'number',
  integer: 'integer',
  check: 'boolean',
}

/** What a tool gets; its schema has no other types of its own. */
function asToolInput(type: FieldType, given: unknown): unknown {
  const input = { type: 'object', properties: { x: { type: schemaOf[type] } } }
  const args = typedArguments(input, { x: given })
  return compileSchema(input)(args).length > 0 ? refused : (args as { x: unknown }).x
}

/** A filter of a list tells only whether it was understood. */
async function asListFilter({ documents }: Company, type: FieldType, given: unknown): Promise<unknown> {
  const counted = countDocuments(documents, clerk, 'Thing', [[type, '=', given]])
  return await counted.then(
    () => 'understood',
    (error: { code: string }) => (assert.equal(error.code, 'invalid'), refused),
  )
}

describe('a value', () => {
  it('is the same in an argument, a default, a field, a filter of a list and one of a report', async (t) => {
    const company = await openCompany(t, { files, seeds: false })
    for (const [type, given, right] of cases) {
      const what = `${type} ${JSON.stringify(given)}`
      assert.equal(asArgument(type, argumentRow(type), { x: given }), right, `argument: ${what}`)
      assert.equal(
        asArgument(type, argumentRow(type, { default_value: given }), {}),
        right,
        `default: ${what}`,
      )
      assert.equal(asField(type, given), right, `field: ${what}`)
      if (schemaOf[type]) assert.equal(asToolInput(type, given), right, `tool: ${what}`)
      const listed = await asListFilter(company, type, given)
      assert.equal(listed === refused, right === refused, `filter: ${what}`)
      if ((filterTypes as readonly string[]).includes(type))
        assert.equal(await asReportFilter(company, type, given), right, `report: ${what}`)
    }
  })

  it('is understood by a tool that is called with text', async (t) => {
    const { call, answer } = await openOffice(t)
    const listed = await answer(sales, 'list_documents', { doctype: 'Customer', limit: ' 2 ' })
    assert.equal(listed['count'], 2)
    const wrong = await call(sales, 'list_documents', { doctype: 'Customer', limit: '2,5' })
    assert.match(wrong.text, /limit: must be number, not string/)
  })

  it('of money keeps within the digits that a number holds', () => {
    assert.equal(asField('currency', '9999999999999.99'), 9_999_999_999_999.99)
    assert.equal(asField('currency', '10000000000000'), refused)
    assert.equal(asField('currency', '1e3'), 1000)
  })
})

describe('a default of a report', () => {
  it('is checked with the site, like every other', () => {
    const site = siteOf({
      'config/reports/wrong.yaml': `
report: Wrong
type: sql
doctypes: []
sql: SELECT 1
filters:
  - { name: since, type: date, default: soon }
  - { name: until, type: date, default: today-30 }
  - { name: open, type: check, default: "TRUE" }`,
    })
    const faults: Fault[] = []
    readPlatform(site, faults, readPeople(site, []))
    assert.deepEqual(faults.map(faultText), [
      'config/reports/wrong.yaml:7:41 filters[0].default: must be a date such as 2026-03-31, or today, today-30, yesterday, this month, last quarter, 2026-03, start of this year, not "soon"',
    ])
  })

  it('is an object or a list where a tool wants one and a client writes it as text', () => {
    const properties = {
      data: { type: 'object' },
      filters: { type: ['object', 'array'] },
      fields: { type: 'array', items: { type: 'string' } },
      code: { type: 'string' },
      any: { type: ['string', 'object'] },
    }
    const given = {
      data: '{"title": "x"}',
      filters: '[["a", "=", 1]]',
      fields: 'name, title',
      code: '{"a": 1}',
      any: '{"a": 1}',
    }
    assert.deepEqual(typedArguments({ properties }, given), {
      ...given,
      data: { title: 'x' },
      filters: [['a', '=', 1]],
      fields: ['name', 'title'],
    })
    // What is no such JSON stays, for the check to name it.
    for (const data of ['{"a": 1', '[1]', 'title', '{"a": 1, "a": 2}'])
      assert.deepEqual(typedArguments({ properties }, { data }), { data })
  })
})
