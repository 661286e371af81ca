/** What the consent page says of a client is what the catalogue and the evaluator allow it, for every user and limit. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Powers } from '../../src/core/powers.ts'
import { type Principal, roleKeyOf } from '../../src/core/principal.ts'
import { accessTo } from '../../src/documents/permission.ts'
import type { Action } from '../../src/documents/platform/platform.ts'
import { powersOf } from '../../src/tools/gate/powers.ts'
import { type Office, openOffice } from './offices.ts'

/** The tools by which each thing is done, told once more, so that one that is forgotten in the product is seen. */
const by: Readonly<
  Record<Exclude<keyof Powers, 'programs' | 'others' | 'tools' | 'read' | 'effects'>, [string, Action][]>
> = {
  create: [['create_document', 'create']],
  change: [
    ['update_document', 'write'],
    ['bulk_update', 'write'],
    ['attach_file', 'write'],
    ['remove_attachment', 'write'],
    ['submit_document', 'submit'],
    ['cancel_document', 'cancel'],
    ['amend_document', 'amend'],
  ],
  remark: [
    ['add_comment', 'comment'],
    ['assign', 'assign'],
  ],
  delete: [['delete_document', 'delete']],
}

/** Every user of the shipped site, with every limit that a client may have. */
function* principals(office: Office): Generator<[string, Principal]> {
  for (const user of office.platform.people.users.values())
    for (const [limit, roles, tools] of [
      ['any client', undefined, undefined],
      ['a client without roles', ['Assistant User'], undefined],
      ['a client for sales', ['Assistant User', 'Sales User'], undefined],
      ['a client that lists', undefined, ['list_documents', 'get_*']],
      ['a client that only creates', undefined, ['create_document']],
      ['a client of skills', undefined, ['read_skill', 'list_skills']],
    ] as const)
      for (const readOnly of [false, true]) {
        const allowed: readonly string[] | undefined = roles
        const mine = [...user.roles].filter((role) => !allowed || allowed.includes(role))
        const principal: Principal = {
          user: user.id,
          fullName: user.fullName,
          roles: new Set(mine),
          roleKey: roleKeyOf(mine),
          scopes: [],
          requestId: 'r',
          ...(tools && { toolLimit: tools }),
          ...(readOnly && { readOnly: true }),
        }
        yield [`${user.id}, ${limit}${readOnly ? ', reading only' : ''}`, principal]
      }
}

describe('the powers of a client', () => {
  it('are exactly what its tools and the evaluator allow, for every user and limit', async (t) => {
    const office = await openOffice(t)
    let compared = 0
    let withPower = 0
    for (const [name, principal] of principals(office)) {
      const offered = office.catalogue.offered(principal)
      const powers = powersOf(principal, office.catalogue, office.platform, office.clock.now())
      const tools = new Set(offered.map(({ tool }) => tool.name))
      assert.equal(powers.tools.length, tools.size, name)
      for (const doctype of office.platform.doctypes.values()) {
        if (doctype.child) continue
        const access = accessTo(principal, doctype, office.clock.now())
        const does = (pairs: [string, Action][]): boolean =>
          pairs.some(([tool, action]) => tools.has(tool) && access.may(action))
        const workflow = office.platform.workflows.get(doctype.name)
        const moves =
          tools.has('run_workflow') &&
          access.may('read') &&
          (workflow?.transitions ?? []).some(({ roles }) =>
            roles.some((role) => principal.roles.has(role) || principal.roles.has('System Manager')),
          )
        const changes = does(by.change) || moves
        const made =
          does(by.create) ||
          (doctype.name.startsWith('Dashboard') &&
            tools.has(doctype.name === 'Dashboard' ? 'create_dashboard' : 'create_dashboard_chart') &&
            access.may('create'))
        assert.equal(powers.create.includes(doctype.name), made, `${name}: create ${doctype.name}`)
        assert.equal(powers.change.includes(doctype.name), changes, `${name}: change ${doctype.name}`)
        assert.equal(powers.delete.includes(doctype.name), does(by.delete), `${name}: delete ${doctype.name}`)
        const remarks = !changes && does(by.remark)
        assert.equal(powers.remark.includes(doctype.name), remarks, `${name}: remark ${doctype.name}`)
        compared++
        withPower += changes ? 1 : 0
      }
      if (principal.readOnly) {
        assert.deepEqual(
          [powers.create, powers.change, powers.remark, powers.delete, powers.others],
          [[], [], [], [], []],
          name,
        )
        assert.equal(powers.programs, false)
      }
    }
    assert.ok(compared > 500 && withPower > 50, `${compared} compared, ${withPower} of them may change`)
  })

  it('name the doctypes that real calls answer for, and no other', async (t) => {
    const office = await openOffice(t)
    for (const [name, principal] of principals(office)) {
      const offered = office.catalogue.offered(principal)
      if (!offered.some(({ tool }) => tool.name === 'list_documents')) continue
      const powers = powersOf(principal, office.catalogue, office.platform, office.clock.now())
      for (const { name: doctype, child } of office.platform.doctypes.values()) {
        if (child) continue
        const outcome = await office.call(principal, 'list_documents', { doctype, limit: 1 })
        assert.equal(powers.read.includes(doctype), !outcome.isError, `${name}: ${doctype}: ${outcome.text}`)
      }
    }
  })

  it('know what every built-in tool that writes does to documents', async (t) => {
    const office = await openOffice(t, { toolsYaml: '{}' })
    const admin = [...principals(office)].find(([name]) => name === 'admin@example.com, any client')![1]
    const powers = powersOf(admin, office.catalogue, office.platform, office.clock.now())
    assert.deepEqual(powers.others, [])
    assert.ok(powers.delete.length > 3)
  })
})

describe('a client that its user allowed to read only', () => {
  it('is neither offered nor let use a tool that writes', async (t) => {
    const office = await openOffice(t, { toolsYaml: '{}' })
    const all = [...principals(office)]
    const full = all.find(([name]) => name === 'admin@example.com, any client')![1]
    const narrow = all.find(([name]) => name === 'admin@example.com, any client, reading only')![1]
    assert.ok(office.catalogue.offered(full).some(({ tool }) => tool.name === 'create_document'))
    assert.deepEqual(
      office.catalogue.offered(narrow).filter(({ annotations }) => !annotations.readOnlyHint),
      [],
    )
    const before = await office.answer(full, 'count_documents', { doctype: 'Note' })
    const args = { doctype: 'Note', data: { title: 'x' } }
    assert.ok((await office.call(narrow, 'create_document', args)).isError)
    assert.deepEqual(await office.answer(full, 'count_documents', { doctype: 'Note' }), before)
    assert.ok(!(await office.call(full, 'create_document', args)).isError, 'it was the limit')
  })

  it('may not use a writing tool that the site calls read_only either', async (t) => {
    const office = await openOffice(t, { toolsYaml: 'tools: { create_document: { category: read_only } }' })
    const narrow = [...principals(office)].find(
      ([name]) => name === 'admin@example.com, any client, reading only',
    )![1]
    assert.ok(!office.catalogue.offered(narrow).some(({ tool }) => tool.name === 'create_document'))
  })
})
