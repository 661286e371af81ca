import { getDocument, listDocuments } from '../../src/documents/asking/reading.ts'
import { createDocument } from '../../src/documents/writing/creating.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AppError } from '#leaf/errors.ts'
import {
  admin,
  buyer,
  hr,
  hrManager,
  nobody,
  openCompany,
  plain,
  sales,
  salesManager,
} from './trading-company.ts'

const refuses = (code: string, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof AppError, String(error))
  assert.equal(error.code, code)
  assert.match(error.message, message)
  return true
}

describe('the shipped company', () => {
  it('starts with several hundred documents that are the same everywhere', async (t) => {
    const one = await openCompany(t)
    const two = await openCompany(t)
    let total = 0
    for (const doctype of one.platform.doctypes.values()) {
      if (doctype.child) continue
      const query = { doctype: doctype.name, limit: 1000, orderBy: 'creation', fields: ['*'] }
      const [a, b] = [
        await listDocuments(one.documents, admin, query),
        await listDocuments(two.documents, admin, query),
      ]
      assert.ok(a.total > 0, doctype.name)
      total += a.total
      if (doctype.naming.rule !== 'hash') assert.deepEqual(a.data, b.data, doctype.name)
    }
    assert.ok(total > 400 && total < 1000, String(total))
  })

  it('has orders whose totals follow from their rows', async (t) => {
    const { documents } = await openCompany(t)
    const order = await getDocument(documents, admin, 'Sales Order', 'SO-00001')
    const rows = order['items'] as { qty: number; rate: number; amount: number }[]
    assert.ok(rows.length > 0)
    const sum = rows.reduce((total, row) => total + row.amount, 0)
    assert.equal(order['total'], Math.round(sum * 100) / 100)
    for (const row of rows) assert.equal(row.amount, Math.round(row.qty * row.rate * 100) / 100)
  })
})

describe('listing', () => {
  it('answers pages that do not overlap, with the total', async (t) => {
    const { documents } = await openCompany(t)
    const seen = new Set<unknown>()
    let offset = 0
    for (;;) {
      const page = await listDocuments(documents, sales, { doctype: 'Customer', limit: 25, offset })
      assert.equal(page.total, 60)
      for (const row of page.data) seen.add(row['name'])
      if (page.data.length === 0) break
      offset += page.data.length
    }
    assert.equal(seen.size, 60)
  })

  it('reads filters in every form', async (t) => {
    const { documents } = await openCompany(t)
    const total = async (filters: unknown) =>
      (await listDocuments(documents, admin, { doctype: 'Customer', filters })).total
    const north = await total({ territory: 'North' })
    assert.ok(north > 0)
    assert.equal(await total([['territory', '=', 'North']]), north)
    assert.equal(await total(['territory', '=', 'North']), north)
    assert.equal(await total({ territory: ['!=', 'North'] }), 60 - north)
    assert.equal(await total({ territory: ['in', ['North', 'South', 'East', 'West', 'Export']] }), 60)
    assert.equal(await total({ territory: ['not in', 'North'] }), 60 - north)
    assert.equal(
      await total({ customer_name: ['like', '%BAU'] }),
      await total({ customer_name: ['like', 'bau'] }),
    )
    assert.equal(await total({ notes: ['is', 'set'] }), 60 - (await total({ notes: ['is', 'not set'] })))
    assert.equal(await total({ creation: ['between', ['2025-01-01', '2026-12-31']] }), 60)
    assert.equal(await total({ disabled: 0 }), 60)
  })

  it('names every fault of a query at once', async (t) => {
    const { documents } = await openCompany(t)
    await assert.rejects(
      listDocuments(documents, sales, {
        doctype: 'Customer',
        filters: { teritory: 'North', city: ['~', 'x'], territory: 'Nroth' },
      }),
      refuses(
        'invalid',
        /unknown operator "~".*unknown field "teritory"; did you mean "territory"\?.*must be one of North/,
      ),
    )
  })

  it('shows each role its own rows', async (t) => {
    const { documents } = await openCompany(t)
    const total = async (who: typeof sales, doctype: string) =>
      (await listDocuments(documents, who, { doctype })).total
    assert.equal(await total(admin, 'Lead'), 50)
    const mine = await total(sales, 'Lead')
    assert.ok(mine > 0 && mine < 50)
    assert.equal(await total(salesManager, 'Lead'), 50)
    assert.equal(await total(admin, 'Employee'), 36)
    assert.equal(await total(plain, 'Employee'), 32)
    assert.equal(await total(hr, 'Employee'), 36)
    await assert.rejects(
      listDocuments(documents, hr, { doctype: 'Lead' }),
      refuses('not_found', /unknown doctype "Lead"/),
    )
    await assert.rejects(
      listDocuments(documents, nobody, { doctype: 'Note' }),
      refuses('not_found', /unknown doctype "Note"/),
    )
  })
})

describe('fields', () => {
  it('are hidden by level: unknown in every argument', async (t) => {
    const { documents } = await openCompany(t)
    const view = await getDocument(documents, plain, 'Employee', 'EMP-0001')
    assert.equal(view['date_of_birth'], undefined)
    assert.ok((await getDocument(documents, hr, 'Employee', 'EMP-0001'))['date_of_birth'])
    const hidden = refuses('invalid', /unknown field "date_of_birth"/)
    await assert.rejects(
      listDocuments(documents, plain, { doctype: 'Employee', fields: ['date_of_birth'] }),
      hidden,
    )
    await assert.rejects(
      listDocuments(documents, plain, {
        doctype: 'Employee',
        filters: { date_of_birth: ['>', '1990-01-01'] },
      }),
      hidden,
    )
    await assert.rejects(
      listDocuments(documents, plain, { doctype: 'Employee', orderBy: 'date_of_birth' }),
      hidden,
    )
  })

  it('are masked by role: shown as a marker, unusable in a query', async (t) => {
    const { documents } = await openCompany(t)
    assert.equal((await getDocument(documents, hr, 'Employee', 'EMP-0001'))['salary'], '[masked]')
    assert.equal(typeof (await getDocument(documents, hrManager, 'Employee', 'EMP-0001'))['salary'], 'number')
    const masked = refuses('invalid', /salary is masked for you/)
    await assert.rejects(
      listDocuments(documents, hr, { doctype: 'Employee', filters: { salary: ['>', 50000] } }),
      masked,
    )
    await assert.rejects(
      listDocuments(documents, hr, { doctype: 'Employee', orderBy: 'salary desc' }),
      masked,
    )
    const list = await listDocuments(documents, hr, { doctype: 'Employee', fields: ['*'] })
    assert.ok(list.data.every((row) => row['salary'] === '[masked]'))
  })
})

describe('creating', () => {
  it('fills in defaults, numbers and totals, and tells what was changed', async (t) => {
    const { documents, events } = await openCompany(t)
    const saved = await createDocument(documents, sales, 'Sales Order', {
      customer: 'Müller Bau',
      items: [{ item: 'ITEM-1', qty: '2', rate: 10.005, amount: 999 }],
      total: 5,
    })
    assert.equal(saved.document['name'], 'SO-00141')
    assert.equal(saved.document['order_date'], '2026-07-01')
    assert.equal(saved.document['total'], 20.02)
    assert.equal(saved.document['owner'], 'sales@example.com')
    assert.deepEqual(saved.warnings.map(({ field }) => field).sort(), [
      'items[0].amount',
      'items[0].rate',
      'total',
    ])
    assert.deepEqual(
      events.map(({ type, target, user }) => [type, target, user]),
      [['document.create', 'Sales Order/SO-00141', 'sales@example.com']],
    )
  })

  it('lists every problem at once and changes nothing', async (t) => {
    const { documents, events } = await openCompany(t)
    const data = {
      custmer: 'x',
      order_date: '2026-02-30',
      status: 'Opened',
      items: [{ item: 'NONE', qty: 0 }],
    }
    await assert.rejects(
      createDocument(documents, sales, 'Sales Order', data),
      refuses(
        'invalid',
        /unknown field "custmer"; did you mean "customer".*order_date: must be a date.*status: must be one of.*no Item "NONE".*qty must be more than 0.*customer.*items\[0\]\.rate are required/s,
      ),
    )
    assert.equal((await listDocuments(documents, admin, { doctype: 'Sales Order' })).total, 140)
    assert.deepEqual(events, [])
  })

  it('keeps nothing with validate_only', async (t) => {
    const { documents, events } = await openCompany(t)
    const saved = await createDocument(documents, sales, 'Lead', { lead_name: 'Zoe' }, { dryRun: true })
    assert.equal(saved.document['name'], 'LEAD-#####')
    assert.equal((await listDocuments(documents, admin, { doctype: 'Lead' })).total, 50)
    assert.equal(
      (await createDocument(documents, sales, 'Lead', { lead_name: 'Zoe' })).document['name'],
      'LEAD-00051',
    )
    assert.equal(events.length, 1)
  })

  it('is refused without the permission, and for fields that are not one’s to set', async (t) => {
    const { documents, events } = await openCompany(t)
    await assert.rejects(
      createDocument(documents, buyer, 'Customer', { customer_name: 'New' }),
      refuses('forbidden', /do not allow you to create Customer/),
    )
    await assert.rejects(
      createDocument(documents, hr, 'Customer', { customer_name: 'New' }),
      refuses('not_found', /unknown doctype "Customer"/),
    )
    await assert.rejects(
      createDocument(documents, sales, 'Customer', { customer_name: 'New', credit_limit: 1 }),
      refuses('forbidden', /may not set credit_limit/),
    )
    await assert.rejects(
      createDocument(documents, sales, 'Customer', { customer_name: 'New', owner: 'x' }),
      refuses('invalid', /owner is kept by the system/),
    )
    assert.equal((await listDocuments(documents, admin, { doctype: 'Customer' })).total, 60)
    assert.deepEqual(events, [])
  })

  it('treats a linked document that may not be read like one that is not there', async (t) => {
    const { documents } = await openCompany(t)
    const others = await listDocuments(documents, admin, {
      doctype: 'Lead',
      filters: { owner: 'admin@example.com' },
      limit: 1,
    })
    const hidden = String(others.data[0]!['name'])
    const messageFor = async (lead: string) => {
      try {
        await createDocument(documents, sales, 'Opportunity', { title: 'x', lead })
      } catch (error) {
        return (error as Error).message.replaceAll(lead, 'NAME')
      }
      return undefined
    }
    assert.ok(await messageFor('LEAD-99999'))
    assert.equal(await messageFor(hidden), await messageFor('LEAD-99999'))
  })

  it('never gives two documents one name, however many come at once', async (t) => {
    const { documents } = await openCompany(t)
    const made = await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        createDocument(documents, sales, 'Task', { subject: `Task ${n}` }),
      ),
    )
    assert.equal(new Set(made.map(({ document }) => document['name'])).size, 30)
    await assert.rejects(
      createDocument(documents, sales, 'Customer', { customer_name: 'Müller Bau' }),
      refuses('conflict', /cannot be used/),
    )
  })
})
