import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from '../helpers/random.ts'
import { roleKeyOf, type Principal } from '../../src/core/principal.ts'
import { maySee } from '../../src/library/access.ts'
import type { PromptStatus, Visibility } from '../../src/library/words.ts'
import { Views, type Viewed } from '../../src/library/views.ts'
import { promptMethods } from '../../src/library/prompt-methods.ts'
import { as, openWith, template, refusalOf } from './library-site.ts'

const file = (lines: string): string => template(lines)

describe('§5.6 and §3.3: who may see a template', () => {
  it('shows Private to its owner and System Managers, Shared to its roles, Public to Assistant Users', async (t) => {
    const { library } = await openWith(t, {
      'prompts/private.md': file('visibility: Private\nowner: Sales@Example.com'),
      'prompts/shared.md': file('visibility: Shared\nshared_with_roles: [HR User, Sales User]'),
      'prompts/hr.md': file('visibility: Shared\nshared_with_roles: [HR User]'),
      'prompts/public.md': file(''),
    })
    const seen = (principal: Principal): string[] =>
      library
        .for(principal)
        .prompts(principal)
        .map(({ id }) => id)
    assert.deepEqual(seen(as('sales@example.com')), ['private', 'public', 'shared'])
    assert.deepEqual(seen(as('hr@example.com')), ['public', 'hr', 'shared'])
    assert.deepEqual(seen(as('admin@example.com')), ['public', 'hr', 'shared', 'private'])
    assert.deepEqual(seen(as('nobody@example.com', ['Sales User'])), ['shared'])
    assert.deepEqual(seen(as('nobody@example.com', [])), [])
  })

  it('shows owners their own in every status, and others only what is Published', async (t) => {
    const statuses = ['Draft', 'Published', 'Deprecated', 'Archived']
    const { library } = await openWith(
      t,
      Object.fromEntries(
        statuses.map((status) => [
          `prompts/${status.toLowerCase()}.md`,
          file(`status: ${status}\nowner: sales@example.com`),
        ]),
      ),
    )
    const own = as('sales@example.com')
    assert.equal(library.for(own).prompts(own).length, 4)
    for (const other of [as('hr@example.com'), as('admin@example.com')]) {
      assert.deepEqual(
        library
          .for(other)
          .prompts(other)
          .map(({ id }) => id),
        ['published'],
      )
    }
    const other = as('hr@example.com')
    assert.throws(() => library.for(other).prompt(other, 'draft'), {
      code: 'not_found',
      message: /^there is no prompt "draft"/,
    })
    await assert.rejects(library.for(other).render(other, 'draft', {}), { code: 'not_found' })
  })

  it('gives System Managers every prompt in every status and visibility, and lists what is Published', async (t) => {
    const statuses = ['Draft', 'Published', 'Deprecated', 'Archived']
    const visibilities = [
      'visibility: Private',
      'visibility: Shared\nshared_with_roles: [HR User]',
      'visibility: Public',
    ]
    const files = statuses.flatMap((status) =>
      visibilities.map((visibility, index): [string, string] => [
        `prompts/p_${status.toLowerCase()}_${index}.md`,
        file(`status: ${status}\nowner: sales@example.com\n${visibility}`),
      ]),
    )
    const { library, world } = await openWith(t, Object.fromEntries(files))
    const admin = as('admin@example.com')
    const methods = promptMethods({
      refusalOf,
      library: () => library,
      usage: world.librarian.usage,
      writer: undefined as never,
      previews: undefined as never,
    })
    const [all, listed] = [library.site.templates, library.for(admin).prompts(admin)]
    assert.deepEqual([all.size, listed.length], [12, 3])
    assert.ok(listed.every(({ status }) => status === 'Published'))
    for (const id of all.keys()) {
      assert.equal((await library.for(admin).render(admin, id, {})).text, 'Hello')
      assert.equal((await methods.get_version_history.call(admin, { prompt_id: id })).length, 1)
    }
    for (const status of statuses) {
      const rows = await methods.search_prompts.call(admin, { status })
      assert.deepEqual(
        rows.map((row) => [row.status, row.prompt_id.split('_')[1]]),
        visibilities.map(() => [status, status.toLowerCase()]),
      )
    }
  })

  it('says the same of a hidden template and of one that is not there', async (t) => {
    const { library } = await openWith(t, {
      'prompts/secret-plan.md': file('visibility: Private\nowner: hr@example.com'),
    })
    const message = (id: string): string => {
      try {
        library.for(as('sales@example.com')).prompt(as('sales@example.com'), id)
        return 'found'
      } catch (error) {
        return (error as Error).message.replace(id, '*')
      }
    }
    assert.equal(message('secret-plan'), message('secret-plam'))
  })

  it('sees exactly what it can get: listed if and only if gettable', () => {
    const roles = ['System Manager', 'Assistant User', 'A', 'B']
    const users = ['', 'u1@x', 'u2@x', 'u3@x']
    const thing = fc.record({
      status: fc.constantFrom<PromptStatus>('Draft', 'Published', 'Deprecated', 'Archived'),
      visibility: fc.constantFrom<Visibility>('Private', 'Shared', 'Public'),
      sharedWithRoles: fc.subarray(['A', 'B']),
      isSystem: fc.boolean(),
      owner: fc.constantFrom(...users),
      digest: fc.string({ minLength: 3, maxLength: 3 }),
    })
    const person = fc.record({ user: fc.constantFrom(...users.slice(1)), roles: fc.subarray(roles) })
    let hidden = 0
    let shown = 0
    fc.assert(
      fc.property(
        fc.array(thing, { maxLength: 12 }),
        fc.array(person, { minLength: 1, maxLength: 4 }),
        (list, persons) => {
          const things = new Map<string, Viewed>(
            list.map((entry, index) => [`t${index}`, { ...entry, name: `t${index}` }]),
          )
          const views = new Views(things)
          for (const { user, roles: held } of persons) {
            const principal = as(user, held)
            const listed = new Set(views.list(principal))
            assert.equal(listed.size, views.list(principal).length, 'nothing twice')
            for (const [id, entry] of things) {
              assert.equal(listed.has(entry), views.find(principal, id) !== undefined)
              assert.equal(listed.has(entry), maySee(principal, entry))
              if (listed.has(entry)) shown++
              else hidden++
            }
          }
        },
      ),
      { numRuns: 500 },
    )
    assert.ok(shown > 0 && hidden > 0, 'both happen')
  })

  it('gives equal digests exactly for equal lists', () => {
    const thing = (digest: string, more: Partial<Viewed> = {}): Viewed => ({
      status: 'Published',
      visibility: 'Public',
      sharedWithRoles: [],
      isSystem: false,
      owner: '',
      name: digest,
      digest,
      ...more,
    })
    const before = new Views(
      new Map([
        ['a', thing('1')],
        ['b', thing('2', { visibility: 'Shared', sharedWithRoles: ['A'] })],
      ]),
    )
    const after = new Views(
      new Map([
        ['a', thing('1')],
        ['b', thing('3', { visibility: 'Shared', sharedWithRoles: ['A'] })],
      ]),
    )
    const plain = as('u@x', ['Assistant User'])
    const inA = as('u@x', ['Assistant User', 'A'])
    assert.equal(before.digest(plain), after.digest(plain))
    assert.equal(before.digest(plain), before.digest({ ...plain, user: 'v@x' }))
    assert.notEqual(before.digest(inA), after.digest(inA))
    assert.notEqual(before.digest(plain), before.digest(inA))
    assert.equal(roleKeyOf(['b', 'a']), roleKeyOf(['a', 'b']))
  })
})
