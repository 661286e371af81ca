/** What is remembered of an approval: wide enough to be asked once, and never wider than what was approved. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { Grants, type Approval } from '../../src/oauth/tokens/grants.ts'
import type { Grant } from '../../src/oauth/records.ts'
import { openEmbeddedStore } from '#state/embedded/store.ts'
import { silent } from '../documents/trading-company.ts'
import { afterwards, temporaryFolder } from '../../packages/state/test/state-folder.ts'

const asked: Approval = {
  user: 'ann@example.com',
  client: 'claude',
  clientName: 'Claude',
  redirectHost: 'claude.ai',
  scopes: ['read'],
}

async function opened(
  t: TestContext,
): Promise<{ grants: Grants; approve: (more?: Partial<Approval>) => Promise<Grant> }> {
  let now = 1_000
  const clock = { now: () => now }
  const store = await openEmbeddedStore({ folder: await temporaryFolder(t), clock, log: silent })
  afterwards(t, () => store.close())
  const grants = new Grants({ store, clock })
  const approve = (more: Partial<Approval> = {}): Promise<Grant> => {
    now += 1_000
    const approval = { ...asked, ...more }
    return store.transaction(async (tx) =>
      grants.approveIn(tx, approval, await grants.beforeIn(tx, approval)),
    )
  }
  return { grants, approve }
}

describe('an approval', () => {
  it('that comes again is the same grant, with the scopes of both and the name of now', async (t) => {
    const { grants, approve } = await opened(t)
    const first = await approve()
    assert.deepEqual([first.createdAt, first.approvedAt, first.scopes], [2_000, 2_000, ['read']])
    const second = await approve({ scopes: ['write', 'read'], clientName: 'Claude 2' })
    assert.deepEqual(second, {
      ...first,
      scopes: ['read', 'write'],
      clientName: 'Claude 2',
      approvedAt: 3_000,
    })
    assert.deepEqual(await grants.list(), [second])
  })

  it('for another address, client or user is a grant of its own', async (t) => {
    const { grants, approve } = await opened(t)
    const first = await approve()
    const others = [{ redirectHost: 'evil.example' }, { client: 'other' }, { user: 'bob@example.com' }]
    for (const other of others) {
      assert.equal(await grants.covering({ ...asked, ...other }), undefined)
      assert.notEqual((await approve(other)).id, first.id)
    }
    const [newest] = await grants.list()
    assert.deepEqual([(await grants.list()).length, newest!.user], [4, 'bob@example.com'])
    assert.equal((await grants.list({ user: 'ann@example.com' })).length, 3)
    assert.equal((await grants.covering(asked))!.id, first.id)
  })

  it('covers what asks for all or some of its scopes, and nothing that asks for one more', async (t) => {
    const { grants, approve } = await opened(t)
    const { id } = await approve({ scopes: ['read', 'write'] })
    for (const scopes of [['read'], ['write', 'read'], []])
      assert.equal((await grants.covering({ ...asked, scopes }))?.id, id, scopes.join())
    for (const scopes of [['admin'], ['read', 'admin']])
      assert.equal(await grants.covering({ ...asked, scopes }), undefined, scopes.join())
  })

  it('is as narrow or as wide as it was given last', async (t) => {
    const { approve } = await opened(t)
    assert.equal((await approve({ readOnly: true })).readOnly, true)
    const wide = await approve()
    assert.equal('readOnly' in wide, false)
    assert.equal((await approve({ readOnly: true })).readOnly, true)
  })
})
