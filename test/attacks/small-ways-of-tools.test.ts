/** Small ways in and out through tools and templates: each call here once told or did more than it should have. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { preview } from '../../src/library/prompts/preview.ts'
import { compileContent } from '../../src/library/prompts/render.ts'
import { createDocument, type CreateOptions } from '../../src/documents/writing/creating.ts'
import { getDocument } from '../../src/documents/asking/reading.ts'
import { updateDocument } from '../../src/documents/writing/updating.ts'
import { confirmationOf, readToolSettings } from '../../src/tools/gate/read-tools.ts'
import { builtInTools } from '../../src/tools/index.ts'
import { openCompany, siteOf, someone } from '../documents/trading-company.ts'
import { readPeople } from '../../src/users/read-people.ts'

const sales = someone('sales@example.com', 'Assistant User', 'Sales User')

describe('a dry run', () => {
  it('tells nobody the next number of a series, so not how many there are of all people', async (t) => {
    const { documents, events } = await openCompany(t)
    const create = (options: CreateOptions) =>
      createDocument(documents, sales, 'Dashboard Chart', chart({ mark: 'bar' }), options)
    const dry = await create({ dryRun: true })
    assert.equal(dry.document.name, 'CHART-#####')
    const before = events.length
    const { document } = await create({})
    assert.match(String(document.name), /^CHART-\d{5}$/)
    assert.equal(events.length, before + 1)
  })
})

describe('a change of a field that nobody can set', () => {
  const boss = someone('boss@example.com', 'Boss')
  const clerk = someone('clerk@example.com', 'Clerk')
  const hidden = 'level: 1, read_only: true, default: hidden-there'
  const files = siteOf({
    'config/doctypes/row.yaml': `doctype: Row\nchild: true\nfields: [{fieldname: qty, type: number}, {fieldname: price, type: number, visible_to: [Boss], computed: "doc.qty * 41"}]`,
    'config/doctypes/thing.yaml': `
doctype: Thing
naming: {rule: series, series: "T-#"}
fields:
  - {fieldname: cost, type: number, visible_to: [Boss]}
  - {fieldname: margin, type: number, visible_to: [Boss], computed: "doc.cost * 2"}
  - {fieldname: remark, type: text, ${hidden}}
  - {fieldname: open, type: text, read_only: true, default: to-all}
  - {fieldname: rows, type: table, doctype: Row}
permissions:
  - {role: Boss, actions: [read, write, create], levels: [0, 1]}
  - {role: Clerk, actions: [read, write]}
  - {role: Clerk, actions: [read, write], levels: [0, 1], if_owner: true}
`,
  })

  it('does not answer what is masked or hidden there, nor whether a guess of it is right', async (t) => {
    const { documents, events } = await openCompany(t, { files, seeds: false })
    const data = { cost: 4321, rows: [{ qty: 2 }] }
    const { document: made } = await createDocument(documents, boss, 'Thing', data)
    const [row] = made['rows'] as { name: string }[]
    const tried = (change: Record<string, unknown>, dryRun: boolean) =>
      updateDocument(documents, clerk, 'Thing', String(made['name']), change, { dryRun })
    const before = events.length
    for (const dryRun of [true, false])
      for (const [margin, remark, price] of [
        [1, 'x', 1],
        [8642, 'hidden-there', 82],
      ] as const) {
        const rows = [{ name: row!.name, price }]
        const { warnings, updatedFields } = await tried({ margin, remark, open: 'x', rows }, dryRun)
        assert.deepEqual(updatedFields, [])
        assert.deepEqual(
          warnings.map(({ field, requested, saved }) => [field, requested, saved]),
          [
            ['margin', margin, '[masked]'],
            ['remark', remark, null],
            ['open', 'x', 'to-all'],
            ['rows[0].price', price, '[masked]'],
          ],
        )
      }
    // Nothing was changed, and no event tells of a change.
    assert.equal(events.length, before)
    const { margin, remark, rows } = await getDocument(documents, boss, 'Thing', String(made['name']))
    assert.deepEqual([margin, remark], [8642, 'hidden-there'])
    assert.equal((rows as { price: number }[])[0]!.price, 82)
  })
})

describe('the specification of a chart', () => {
  it('is looked at when it is saved, and nothing is kept of one that may do more than draw', async (t) => {
    const { documents, events } = await openCompany(t)
    for (const [where, spec] of [
      ['transform\\[0\\].calculate', { mark: 'bar', transform: [{ calculate: 'sequence(1e9)', as: 'z' }] }],
      ['encoding.href', { mark: 'bar', encoding: { href: { value: 'javascript:alert(1)' } } }],
      ['data', { mark: 'bar', data: { url: 'http://169.254.169.254/' } }],
    ] as const) {
      const before = events.length
      await assert.rejects(createDocument(documents, sales, 'Dashboard Chart', chart(spec)), {
        code: 'invalid',
        message: new RegExp(`vega_lite: ${where} `),
      })
      assert.equal(events.filter(({ status }) => status === 'ok').length, before)
    }
    const { document } = await createDocument(documents, sales, 'Dashboard Chart', chart({ mark: 'bar' }))
    const change = { vega_lite: { mark: 'bar', usermeta: {} } }
    await assert.rejects(
      updateDocument(documents, sales, 'Dashboard Chart', String(document.name), change),
      /usermeta/,
    )
  })
})

function chart(vega_lite: unknown): Record<string, unknown> {
  return { chart_name: 'Mine', chart_type: 'bar', document_type: 'Lead', vega_lite }
}

describe('a tool that has to be confirmed', () => {
  const names = builtInTools.map(({ name }) => name)
  const confirmed = (tools: string, name: string) => {
    const files = siteOf({ 'config/tools.yaml': `tools:\n${tools}` })
    const faults: Parameters<typeof readToolSettings>[1] = []
    const settings = readToolSettings(files, faults, { names, people: readPeople(files, faults) })
    assert.deepEqual(faults, [])
    return confirmationOf(settings, name)
  }

  it('cannot be gone round by another that writes the same thing', () => {
    const client = '  update_document: { confirm: client }'
    assert.equal(confirmed(client, 'update_document'), 'client')
    assert.equal(confirmed(client, 'bulk_update'), 'client')
    assert.equal(confirmed(client, 'run_workflow'), 'client')
    assert.equal(confirmed(client, 'delete_document'), 'never')
    assert.equal(confirmed(`${client}\n  bulk_update: { confirm: page }`, 'bulk_update'), 'page')
    assert.equal(confirmed(`${client}\n  bulk_update: { confirm: never }`, 'bulk_update'), 'client')
    assert.equal(confirmed('  submit_document: { confirm: page }', 'create_document'), 'page')
    assert.equal(confirmed('  create_document: { confirm: client }', 'create_dashboard_chart'), 'client')
  })
})

describe('a format string', () => {
  it('reaches the values that it was given and no others', async () => {
    const names = ['__proto__', 'constructor', 'hasOwnProperty', 'toString', 'x']
    const source = names.map((name) => `[{${name}}]`).join('')
    const content = compileContent('Format String', source, (message) => assert.fail(message))
    assert.equal(content.render({ x: 1 }), '[][][][][1]')
    const body = { template_content: source, rendering_engine: 'Format String', arguments: { x: 1 } }
    const nothing = (): Promise<boolean> => Promise.resolve(false)
    // What a preview's thread runs, without the end that a thread has on a machine that lets it run too little.
    assert.equal(await preview(JSON.stringify(body), nothing), '[][][][][1]')
  })
})
