import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { tester } from '#state/questions/conditions.ts'
import type { Principal } from '../../src/core/principal.ts'
import { Shown } from '../../src/core/shown.ts'
import { assign } from '../../src/documents/belongings.ts'
import { createDocument } from '../../src/documents/writing/creating.ts'
import { collectionFor, type Documents } from '../../src/documents/documents.ts'
import { amendDocument, cancelDocument, submitDocument } from '../../src/documents/writing/lifecycle.ts'
import { accessTo } from '../../src/documents/permission.ts'
import { type Action, actions, type Field } from '../../src/documents/platform/platform.ts'
import type { StoredDocument } from '../../src/documents/writing/stored.ts'
import { updateDocument } from '../../src/documents/writing/updating.ts'
import { runWorkflow } from '../../src/documents/writing/workflow.ts'
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

describe('the evaluator of fields', () => {
  const fields = `
doctype: Thing
submittable: true
fields:
  - {fieldname: note, type: text}
  - {fieldname: open, type: check}
  - {fieldname: inner, type: text, level: 1}
  - {fieldname: pay, type: text, visible_to: [Boss, Guest]}
permissions: `
  const both = '{role: Clerk, actions: [read], levels: [0, 1]}'
  const outer = '{role: Clerk, actions: [read]}'
  const own = '{role: Clerk, actions: [read], levels: [0, 1], if_owner: true}'
  const opened = '{role: Clerk, actions: [read], levels: [0, 1], when: "doc.open = 1"}'
  const mine = document({ owner: clerk.user })
  const theirs = document({ owner: boss.user })

  async function accessBy(t: TestContext, rules: string, who: Principal = clerk) {
    const files = siteOf({ 'config/doctypes/thing.yaml': `${fields}[${rules}]` })
    const { platform } = await openCompany(t, { files, seeds: false })
    const doctype = platform.doctypes.get('Thing')!
    const field = (name: string): Field => doctype.fields.get(name)!
    return { access: accessTo(who, doctype, 0), field }
  }

  it('shows one on the documents of which a rule opens its level', async (t) => {
    const { access, field } = await accessBy(t, `${outer}, ${own}`)
    const shown = (doc: StoredDocument) => ['note', 'inner'].map((name) => access.shows(field(name), doc))
    assert.deepEqual(
      [shown(mine), shown(theirs)],
      [
        ['clear', 'clear'],
        ['clear', 'hidden'],
      ],
    )
    const isShown = tester(access.whereShown(field('inner')))
    assert.deepEqual([isShown(mine), isShown(theirs)], [true, false])
  })

  it('masks one for all but the roles that it is visible to', async (t) => {
    const rules = `${both}, {role: Boss, actions: [read, write]}, {role: Clerk, actions: [write]}`
    const { access, field } = await accessBy(t, rules)
    assert.equal(access.shows(field('pay'), mine), 'masked')
    assert.equal(tester(access.whereShown(field('pay')))(mine), false)
    assert.equal(access.mayset(field('pay'), 'write', mine), false)
    assert.equal(access.queryable(field('pay')), false)
    for (const who of [
      boss,
      someone('both@example.com', 'Clerk', 'Boss'),
      someone('x@example.com', 'System Manager'),
    ]) {
      const of = await accessBy(t, rules, who)
      assert.equal(of.access.shows(of.field('pay'), theirs), 'clear')
      assert.equal(of.access.mayset(of.field('pay'), 'write', theirs), true)
      assert.equal(of.access.queryable(of.field('pay')), true)
    }
  })

  const queries: readonly (readonly [says: string, rules: string, queryable: boolean])[] = [
    ['every rule opens its level', both, true],
    ['one rule opens it on every document', `${outer}, ${both}`, true],
    [
      'a narrower rule does not, and one for all does',
      `{role: Clerk, actions: [read], if_owner: true}, ${both}`,
      true,
    ],
    ['it is open to owners only', `${outer}, ${own}`, false],
    ['it is open under a condition only', `${outer}, ${opened}`, false],
    ['both rules that open it have conditions', `${own}, ${opened}`, true],
    ['another level is open', outer, false],
    ['nothing may be read', '{role: Clerk, actions: [create], levels: [0, 1]}', false],
  ]
  for (const [says, rules, queryable] of queries)
    it(`${queryable ? 'takes' : 'refuses'} questions about one where ${says}`, async (t) => {
      const { access, field } = await accessBy(t, rules)
      assert.equal(access.queryable(field('inner')), queryable)
    })

  it('lets one be set where a rule for the action opens its level on that document', async (t) => {
    const { access, field } = await accessBy(
      t,
      `${both}, {role: Clerk, actions: [write]}, {role: Clerk, actions: [write], levels: [0, 1], if_owner: true}`,
    )
    const maySet = (name: string, doc: StoredDocument) => access.mayset(field(name), 'write', doc)
    assert.deepEqual(
      [maySet('note', theirs), maySet('inner', theirs), maySet('note', mine), maySet('inner', mine)],
      [true, false, true, true],
    )
    assert.equal(access.mayset(field('note'), 'delete', mine), false)
  })

  it('knows those of a level that may be read or written first', async (t) => {
    const rules = `${outer}, {role: Clerk, actions: [read], if_owner: true, levels: [1]}`
    assert.equal((await accessBy(t, outer)).access.knows((await accessBy(t, outer)).field('inner')), false)
    const reading = await accessBy(t, rules)
    assert.deepEqual(
      ['note', 'inner'].map((name) => reading.access.knows(reading.field(name))),
      [true, true],
    )
    const creating = await accessBy(t, '{role: Clerk, actions: [create], levels: [1]}')
    assert.deepEqual(
      ['note', 'inner'].map((name) => creating.access.knows(creating.field(name))),
      [false, true],
    )
  })

  it('says the same of an action on a document as the condition that finds those it is allowed on', async (t) => {
    const rules = `${opened}, ${own}, {role: Clerk, actions: [write, delete], if_owner: true}, {role: Clerk, actions: [submit, create]}`
    const { access } = await accessBy(t, rules)
    for (const owner of [boss.user, clerk.user])
      for (const open of [0, 1])
        for (const action of actions) {
          const one = document({ owner, open })
          assert.equal(
            tester(access.where(action))(one),
            access.allows(action, one),
            `${action} ${owner} ${open}`,
          )
        }
  })

  it('says whether there can be a document that an action is allowed on', async (t) => {
    const of = async (rules: string) => {
      const { access } = await accessBy(t, rules)
      return (['read', 'create', 'write', 'comment', 'assign'] as const).filter((action) =>
        access.may(action),
      )
    }
    assert.deepEqual(await of(outer), ['read'])
    assert.deepEqual(await of('{role: Clerk, actions: [create, write]}'), ['create'])
    assert.deepEqual(await of(`${outer}, {role: Clerk, actions: [write]}`), [
      'read',
      'write',
      'comment',
      'assign',
    ])
    assert.deepEqual(await of(`${outer}, {role: Clerk, actions: [comment]}`), ['read', 'comment'])
    assert.deepEqual(await of(`${outer}, {role: Clerk, actions: [assign]}`), ['read', 'assign'])
    assert.deepEqual(await of('{role: Boss, actions: [read]}'), [])
  })

  it('notes what is shown where somebody asks', async (t) => {
    const shown = new Shown()
    const { access } = await accessBy(t, outer, { ...clerk, shown })
    access.show([mine], 3)
    assert.deepEqual(shown.told(), [{ doctype: 'Thing', names: ['T-1'], count: 4 }])
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
      { code: 'forbidden', message: 'you may not create Thing documents; you may read, amend' },
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

  it('lets a document be assigned to whoever may read it by a role that the assigner lacks', async (t) => {
    const files = site(
      '{role: Boss, actions: [read]}, {role: Clerk, actions: [read, create, assign], if_owner: true}',
      '',
      {
        'config/users.yaml': `users: [{ email: ${boss.user}, full_name: Boss, roles: [Boss] }, { email: eve@example.com, full_name: Eve, roles: [Clerk] }]`,
      },
    )
    const company = await openCompany(t, { files, seeds: false })
    const { document: made } = await createDocument(company.documents, clerk, 'Thing', {})
    const name = String(made['name'])
    const to = (user: string) => ({ user, note: '', remove: false })
    const given = await assign(company.documents, clerk, 'Thing', name, to(boss.user))
    assert.deepEqual(
      given.map(({ user }) => user),
      [boss.user],
    )
    await refused(
      company,
      { code: 'invalid', message: /no user "eve@example.com" who may read/ },
      (documents) => assign(documents, clerk, 'Thing', name, to('eve@example.com')),
    )
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
