/** Whatever is called, confirmed, refused or changed: no value that some readers may not see stands in the audit log. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from '../helpers/random.ts'
import type { AuditEvent } from '#audit/audit.ts'
import { firstPrev, lineText, tellEvent } from '#audit/line.ts'
import type { Principal } from '../../src/core/principal.ts'
import { confirm } from '../../src/mcp/waiting/confirmation.ts'
import { SuspendedCalls } from '../../src/mcp/waiting/suspended-calls.ts'
import { historyOf } from '../../src/documents/history.ts'
import { buyer, hr, hrManager, plain, siteOf, someone } from '../documents/trading-company.ts'
import { openOffice, type Office } from './offices.ts'

const keeper = someone('keeper@example.com', 'Assistant User', 'Keeper')
const clerk = someone('clerk@example.com', 'Assistant User', 'Clerk')

/** A field of a drawn doctype: open, or kept from some readers. */
interface Drawn {
  readonly type: 'text' | 'integer' | 'currency' | 'json'
  readonly keeps: 'no one' | 'level' | 'mask' | 'path'
}

const drawn = fc.array(
  fc.record<Drawn>({
    type: fc.constantFrom('text', 'integer', 'currency', 'json'),
    keeps: fc.constantFrom('no one', 'level', 'mask', 'path'),
  }),
  { minLength: 2, maxLength: 6 },
)
const confirmation = fc.constantFrom('never', 'client', 'page')
const decision = fc.constantFrom('approve', 'deny')
const shapes = ['object', 'triple', 'four', 'guess', 'unknown', 'text', 'pair'] as const

function siteOfFields(fields: readonly Drawn[], confirms: string): Readonly<Record<string, string>> {
  const lines = fields.map(({ type, keeps }, at) => {
    const kept = keeps === 'level' ? ', level: 1' : keeps === 'mask' ? ', visible_to: [Keeper]' : ''
    return `  - { fieldname: f_${at}, type: ${type}${kept} }`
  })
  const paths = fields.flatMap(({ keeps }, at) =>
    keeps === 'path' ? [`data.f_${at}`, `filters.f_${at}`] : [],
  )
  return {
    'config/doctypes/thing.yaml': [
      'doctype: Thing',
      'fields:',
      '  - { fieldname: title, type: text }',
      ...lines,
      '  - { fieldname: parts, type: table, doctype: Part }',
      'permissions:',
      '  - { role: Keeper, actions: [read, write, create, delete, report], levels: [0, 1] }',
      '  - { role: Clerk, actions: [read, write, create, report] }',
    ].join('\n'),
    'config/doctypes/part.yaml': [
      'doctype: Part',
      'child: true',
      'fields: [{ fieldname: note, type: text }, { fieldname: cost, type: currency, level: 1 }]',
    ].join('\n'),
    'config/tools.yaml': [
      'tools:',
      ...['create_document', 'update_document', 'list_documents', 'count_documents', 'aggregate'].map(
        (name) => `  ${name}: { confirm: ${confirms}, redact: [${paths.join(', ')}] }`,
      ),
    ].join('\n'),
    'config/roles.yaml': 'roles: [{ name: Keeper }, { name: Clerk }]',
  }
}

/** Gives each field a value that stands nowhere else, and names those that must stay out of the log. */
function valuesOf(fields: readonly Drawn[], serial: () => number) {
  const secrets: string[] = []
  const data = Object.fromEntries(
    fields.map(({ type, keeps }, at) => {
      const number = 7_000_000 + serial()
      const value = type === 'integer' || type === 'currency' ? number : `val${number}ue`
      if (keeps !== 'no one') secrets.push(String(number))
      return [`f_${at}`, type === 'json' ? { inner: value } : value]
    }),
  )
  const cost = 7_000_000 + serial()
  secrets.push(String(cost))
  return { data: { title: 'a title', ...data, parts: [{ note: 'a note', cost }] }, secrets }
}

function filtersFor(shape: (typeof shapes)[number], field: string, value: unknown): unknown {
  switch (shape) {
    case 'object':
      return { [field]: value }
    case 'triple':
      return [[field, '=', value]]
    case 'four':
      return [['Thing', field, 'like', value]]
    case 'guess':
      return [[field, 'gt', value]]
    case 'unknown':
      return { where: { [field]: [value] } }
    case 'text':
      return JSON.stringify({ [field]: value })
    default:
      return [[field, value]]
  }
}

/** Makes calls as the endpoint does: where the site says so, a person decides about each. */
function calling(office: Office, how: 'approve' | 'deny') {
  const { store, audit } = office.documents
  const suspended = new SuspendedCalls({
    store,
    audit,
    clock: office.clock,
    pageOf: (id) => `https://x/${id}`,
  })
  return async (principal: Principal, name: string, args: object): Promise<void> => {
    const once = (): Promise<unknown> =>
      office.call(principal, name, args, {
        confirm: (offered, given) =>
          confirm(
            { principal, snapshot: { catalogue: office.catalogue }, stop: { signal: undefined } } as never,
            {
              can: (kind: string) => kind === 'form',
              confirm: () =>
                Promise.resolve({
                  'assistant_core.confirm': { action: 'accept', content: { confirm: how === 'approve' } },
                }),
            } as never,
            offered,
            given,
            { audit, suspended },
          ),
      })
    await once()
    for (const { id } of await suspended.waitingFor(principal.user)) {
      await suspended.decide(principal, id, how)
      await once()
    }
  }
}

const logOf = (events: readonly AuditEvent[]): string =>
  events.map((event) => lineText(tellEvent(event, '2026-01-01T00:00:00Z', 65_536), 1, firstPrev)).join('\n')

describe('the audit log', () => {
  it('has no value of a redacted path or of a field that some may not see, whatever is drawn', async (t) => {
    let approvals = 0
    let open = 0
    let changed = 0
    await fc.assert(
      fc.asyncProperty(
        drawn,
        confirmation,
        decision,
        fc.constantFrom(...shapes),
        async (fields, confirms, how, shape) => {
          const office = await openOffice(t, {
            files: siteOf(siteOfFields(fields, confirms)),
            toolsYaml: siteOfFields(fields, confirms)['config/tools.yaml']!,
          })
          let last = 0
          const serial = (): number => (last += 101)
          const call = calling(office, how)
          const first = valuesOf(fields, serial)
          const second = valuesOf(fields, serial)
          await call(keeper, 'create_document', { doctype: 'Thing', data: first.data })
          const made = office.events.find(({ type }) => type === 'document.create')?.target
          const name = made?.split('/')[1] ?? 'never made'
          await call(keeper, 'update_document', { doctype: 'Thing', name, data: second.data })
          await call(clerk, 'update_document', { doctype: 'Thing', name, data: first.data })
          await call(keeper, 'create_document', { doctype: 'Thing', dta: second.data })
          for (const [at, { keeps }] of fields.entries()) {
            if (keeps === 'path') continue
            const value = second.data[`f_${at}` as 'title']
            for (const tool of ['list_documents', 'count_documents'])
              await call(keeper, tool, { doctype: 'Thing', filters: filtersFor(shape, `f_${at}`, value) })
            await call(keeper, 'aggregate', { doctype: 'Thing', group_by: [`f_${at}`], limit: 5 })
            await call(keeper, 'aggregate', {
              doctype: 'Thing',
              metrics: [{ function: 'max', field: `f_${at}` }],
            })
          }
          await call(keeper, 'get_document', { doctype: 'Thing', name, include: ['history'] })
          const log = logOf(office.events)
          const found = [...first.secrets, ...second.secrets].filter((secret) => log.includes(secret))
          assert.deepEqual(found, [], log)
          approvals += office.events.filter(({ type }) => type.startsWith('tool.approv')).length
          changed += office.events.filter(({ type }) => type === 'document.update').length
          open += log.includes('a title') ? 1 : 0
        },
      ),
      { numRuns: 25 },
    )
    const told = `${approvals} approvals, ${changed} changes, ${open} with what is open`
    assert.ok(approvals > 10 && changed > 10 && open > 10, told)
  })

  it('of approvals keeps no salary, bank account or credit limit, and all else', async (t) => {
    const confirms = 'tools: { "*": { confirm: page, redact: [data.department] } }'
    const office = await openOffice(t, { toolsYaml: confirms })
    const call = calling(office, 'approve')
    await call(hrManager, 'update_document', {
      doctype: 'Employee',
      name: 'EMP-0001',
      data: { salary: 98765, bank_account: 'DE00SECRET', department: 'Warehouse', designation: 'Chief' },
    })
    await call(buyer, 'create_document', {
      doctype: 'Supplier',
      data: { supplier_name: 'Secretive', bank_account: 'DE11SECRET' },
    })
    await call(hrManager, 'bulk_update', {
      doctype: 'Employee',
      names: ['EMP-0002'],
      data: { salary: 87654 },
    })
    const log = logOf(office.events)
    const types = office.events.filter(({ target }) => target === 'update_document').map(({ type }) => type)
    assert.deepEqual(types, ['tool.approval_request', 'tool.call', 'tool.approve', 'tool.call'])
    for (const secret of ['98765', '87654', 'DE00SECRET', 'DE11SECRET', 'Warehouse'])
      assert.ok(!log.includes(secret), `${secret} in ${log}`)
    assert.ok(log.includes('Chief') && log.includes('Secretive'))
  })

  it('keeps no answer that was computed of such fields, and does of others', async (t) => {
    const { call, events } = await openOffice(t, { toolsYaml: '{}' })
    const max = { metrics: [{ function: 'max', field: 'salary' }] }
    await call(hrManager, 'aggregate', { doctype: 'Employee', ...max })
    await call(plain, 'aggregate', { doctype: 'Item', group_by: ['item_group'] })
    assert.deepEqual(
      events
        .filter(({ type }) => type === 'tool.call')
        .map(({ result, status }) => [status, result !== undefined]),
      [
        ['ok', false],
        ['ok', true],
      ],
    )
  })
})

describe('the history of a document', () => {
  it('does not tell who may not read a salary that it changed, or when', async (t) => {
    const { answer, documents } = await openOffice(t, { toolsYaml: '{}' })
    const target = { doctype: 'Employee', name: 'EMP-0001' }
    const before = await historyOf(documents, hr, 'Employee', 'EMP-0001', 50)
    await answer(hrManager, 'update_document', { ...target, data: { salary: 98765 } })
    for (const who of [hr, plain])
      assert.equal(
        (await historyOf(documents, who, 'Employee', 'EMP-0001', 50)).length,
        before.length,
        who.user,
      )
    const [newest] = await historyOf(documents, hrManager, 'Employee', 'EMP-0001', 50)
    assert.equal(newest?.changes[0]?.to, 98765)
    await answer(hrManager, 'update_document', { ...target, data: { salary: 98766, designation: 'Chief' } })
    const [both] = await historyOf(documents, hr, 'Employee', 'EMP-0001', 50)
    assert.deepEqual(
      both?.changes.map(({ field }) => field),
      ['designation'],
    )
  })
})
