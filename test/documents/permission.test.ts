import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Principal } from '../../src/core/principal.ts'
import { createDocument } from '../../src/documents/creating.ts'
import { collectionFor, type Documents } from '../../src/documents/documents.ts'
import { amendDocument, cancelDocument, submitDocument } from '../../src/documents/lifecycle.ts'
import { accessTo } from '../../src/documents/permission.ts'
import { type Action, actions } from '../../src/documents/platform.ts'
import type { StoredDocument } from '../../src/documents/stored.ts'
import { updateDocument } from '../../src/documents/updating.ts'
import { runWorkflow } from '../../src/documents/workflow.ts'
import { type Company, openCompany, siteOf, someone } from './trading-company.ts'

const boss = someone('boss@example.com', 'Boss')
const clerk = someone('clerk@example.com', 'Clerk')

/** A site with one doctype, whose permissions are given. */
const thing = (permissions: string, more = '') => `
doctype: Thing
naming: {rule: series, series: "T-#"}
submittable: true
fields:
  - {fieldname: note, type: text}
  - {fieldname: open, type: check}
permissions: [${permissions}]
${more}`
const site = (permissions: string, more = '', files: Record<string, string> = {}) =>
  siteOf({ 'config/doctypes/thing.yaml': thing(permissions, more), ...files })

const document = (values: Partial<StoredDocument>): StoredDocument => ({
  id: 'T-1',
  owner: boss.user,
  creation: '2026-01-01T00:00:00.000Z',
  modified: '2026-01-01T00:00:00.000Z',
  modified_by: boss.user,
  docstatus: 0,
  ...values,
})

describe('the evaluator allows an action on a document', () => {
  const read = '{role: Clerk, actions: [read], when: "doc.open = 1"}'
  const rows: readonly {
    readonly says: string
    readonly rules: string
    readonly who?: Principal
    readonly values?: Partial<StoredDocument>
    readonly action: Action
    readonly allowed: boolean
  }[] = [
    {
      says: 'that a rule opens, to who may read the document',
      rules: `${read}, {role: Clerk, actions: [write]}`,
      values: { open: 1 },
      action: 'write',
      allowed: true,
    },
    {
      says: 'not to who may not read the document',
      rules: `${read}, {role: Clerk, actions: [write]}`,
      values: { open: 0 },
      action: 'write',
      allowed: false,
    },
    {
      says: 'not to who may read it only',
      rules: read,
      values: { open: 1 },
      action: 'write',
      allowed: false,
    },
    {
      says: 'not by the rule of a role that one has not',
      rules: `${read}, {role: Boss, actions: [write]}`,
      values: { open: 1 },
      action: 'write',
      allowed: false,
    },
    {
      says: 'not by a rule for owners to another',
      rules: '{role: Clerk, actions: [read]}, {role: Clerk, actions: [delete], if_owner: true}',
      action: 'delete',
      allowed: false,
    },
    {
      says: 'by a rule for owners to the owner',
      rules: '{role: Clerk, actions: [read]}, {role: Clerk, actions: [delete], if_owner: true}',
      values: { owner: clerk.user },
      action: 'delete',
      allowed: true,
    },
    {
      says: 'not by a rule for owners to the owner when its condition does not hold',
      rules: '{role: Clerk, actions: [read], if_owner: true, when: "doc.open = 1"}',
      values: { owner: clerk.user, open: 0 },
      action: 'read',
      allowed: false,
    },
    {
      says: 'to comment, also by write',
      rules: `${read}, {role: Clerk, actions: [write]}`,
      values: { open: 1 },
      action: 'comment',
      allowed: true,
    },
    {
      says: 'to create what one may not read afterwards',
      rules: `${read}, {role: Clerk, actions: [create]}`,
      values: { open: 0 },
      action: 'create',
      allowed: true,
    },
  ]
  for (const { says, rules, who = clerk, values = {}, action, allowed } of rows)
    it(says, async (t) => {
      const { platform } = await openCompany(t, { files: site(rules), seeds: false })
      const access = accessTo(who, platform.doctypes.get('Thing')!, 0)
      assert.equal(access.allows(action, document(values)), allowed)
    })

  it('of any kind but create only where it may be read', async (t) => {
    const all = actions.filter((action) => action !== 'read').join(', ')
    const files = site(`${read}, {role: Clerk, actions: [${all}]}`)
    const { platform } = await openCompany(t, { files, seeds: false })
    const access = accessTo(clerk, platform.doctypes.get('Thing')!, 0)
    for (const action of actions)
      assert.equal(access.allows(action, document({ open: 0 })), action === 'create', action)
  })
})

describe('a change of state', () => {
  const everything = '{role: Boss, actions: [read, write, create, submit, cancel, amend]}'

  it('by amending needs create as well', async (t) => {
    const files = site(`${everything}, {role: Clerk, actions: [read, amend]}`)
    const company = await openCompany(t, { files, seeds: false })
    const name = await cancelled(company)
    await refused(
      company,
      { code: 'forbidden', message: 'you may not create Thing documents' },
      (documents) => amendDocument(documents, clerk, 'Thing', name),
    )
    assert.equal((await amendDocument(company.documents, boss, 'Thing', name))['amended_from'], name)
  })

  it('by a workflow checks the document again before it becomes final', async (t) => {
    const files = site(
      everything,
      'validations: [{rule: "doc.open = 0 or doc.note != null", message: say why}]',
      {
        'config/workflows/thing.yaml': `
workflow: Approval
doctype: Thing
states: [{state: New, docstatus: 0}, {state: Done, docstatus: 1}]
transitions: [{from: New, action: Approve, to: Done, roles: [Boss]}]
`,
      },
    )
    const company = await openCompany(t, { files, seeds: false })
    const { document: made } = await createDocument(company.documents, boss, 'Thing', { open: 0 })
    const name = String(made['name'])
    // As a document may lie here from before the validation was written.
    const things = collectionFor(company.documents, company.platform.doctypes.get('Thing')!)
    await things.update(name, (stored) => ({ ...stored, open: 1 }))
    const approve = (documents: Documents) => runWorkflow(documents, boss, 'Thing', name, 'Approve')
    await refused(company, { code: 'invalid', message: /say why/ }, approve)
    await updateDocument(company.documents, boss, 'Thing', name, { note: 'because' })
    assert.equal((await approve(company.documents)).currentState, 'Done')
  })

  async function cancelled({ documents }: Company): Promise<string> {
    const { document: made } = await createDocument(documents, boss, 'Thing', {})
    const name = String(made['name'])
    await submitDocument(documents, boss, 'Thing', name)
    await cancelDocument(documents, boss, 'Thing', name)
    return name
  }

  /** A refusal leaves the documents as they are and nothing in the log of changes. */
  async function refused(
    { documents, platform, events }: Company,
    error: { readonly code: string; readonly message: string | RegExp },
    work: (documents: Documents) => Promise<unknown>,
  ): Promise<void> {
    const stored = () => collectionFor(documents, platform.doctypes.get('Thing')!).find()
    const [before, audited] = [await stored(), events.length]
    await assert.rejects(work(documents), error)
    assert.deepEqual(await stored(), before)
    assert.equal(events.length, audited)
  }
})
