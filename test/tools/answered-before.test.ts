/** What was answered before is answered again from memory, but only to who may know the same. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Principal } from '../../src/core/principal.ts'
import { hrManager, plain, sales } from '../documents/trading-company.ts'
import { openOffice } from './offices.ts'

it('describes a doctype to each by their own roles and limits, whoever asked before', async (t) => {
  const { answer } = await openOffice(t)
  const fieldsFor = async (who: Principal): Promise<string> => {
    const { fields } = await answer(who, 'get_doctype_info', { doctype: 'Employee' })
    return (fields as { fieldname: string }[]).map(({ fieldname }) => fieldname).join()
  }
  const allowedFor = async (who: Principal): Promise<string[]> =>
    (await answer(who, 'get_doctype_info', { doctype: 'Lead' }))['permissions']

  assert.match(await fieldsFor(hrManager), /salary/)
  assert.doesNotMatch(await fieldsFor(plain), /salary/)
  assert.match(await fieldsFor(hrManager), /salary/)

  const all = await allowedFor(sales)
  assert.ok(all.includes('create') && all.includes('write'))
  assert.deepEqual(await allowedFor({ ...sales, readOnly: true }), ['read', 'report'])
  const withoutCreating = { only: [], without: ['create_document'], readOnly: false }
  assert.ok(!(await allowedFor({ ...sales, narrowing: withoutCreating })).includes('create'))
  assert.deepEqual(await allowedFor({ ...sales, toolLimit: ['get_doctype_info'] }), ['read', 'report'])
  assert.deepEqual(await allowedFor(sales), all)
})

it('keeps of the same answer the same in each event, without what is confidential', async (t) => {
  const { call, events } = await openOffice(t)
  for (let time = 0; time < 2; time++) await call(sales, 'get_doctype_info', { doctype: 'Customer' })
  const [first, second] = events.map(({ result }) => JSON.stringify(result))
  assert.match(first!, /"credit_limit","label":"Credit Limit","fieldtype":"\[redacted\]"/)
  assert.equal(second, first)
})
