/** Refresh tokens where two daemons share a database: rotated once, and ended by whoever sees one used again. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { systemClock } from '#leaf/clock.ts'
import { openPostgresStore } from '#state/postgres/store.ts'
import type { Store } from '#state/store.ts'
import { afterwards, testClock } from '../../packages/state/test/state-folder.ts'
import type { Settings } from '../../src/core/settings.ts'
import { Tokens } from '../../src/oauth/tokens/tokens.ts'
import { silent } from '../documents/trading-company.ts'
import { noPostgres, startPostgres } from '../helpers/postgres.ts'

const oauth = { refresh_token_days: 30, grant_days: 0, access_token_seconds: 3600, refresh_grace_seconds: 30 }
const request = { user: 'ann@example.com', client: 'app', clientName: 'App', scopes: ['all'], resource: 'r' }

describe('tokens on several daemons', { skip: noPostgres, timeout: 120_000 }, () => {
  it('are refreshed once for all, ended by a reuse at any, and none outlives a revocation', async (t) => {
    const { daemons, refresh, pass } = await startTwo(t)
    const [one, two] = daemons

    const first = await one!.tokens.issue(request)
    const same = await Promise.all(Array.from({ length: 16 }, (_, n) => refresh(n, first.refreshToken)))
    assert.equal(same.filter(({ kind }) => kind === 'rotated').length, 1)
    assert.equal(same.filter(({ kind }) => kind === 'repeated').length, 15)
    const successors = same.flatMap((found) => ('issued' in found ? [found.issued] : []))
    assert.equal(new Set(successors.map(({ refreshToken }) => refreshToken)).size, 1)
    assert.equal(new Set(successors.map(({ accessToken }) => accessToken)).size, 1)

    pass(31_000)
    const { refreshToken } = successors[0]!
    const [again, good] = await Promise.all([refresh(0, first.refreshToken), refresh(1, refreshToken)])
    assert.equal(again.kind, 'reused')
    assert.ok(['rotated', 'refused'].includes(good.kind))
    assert.deepEqual(await living(two!.tokens), [])
    if ('issued' in good) assert.equal((await refresh(0, good.issued.refreshToken)).kind, 'refused')

    for (let round = 0; round < 3; round++) {
      const issued = await Promise.all(daemons.map(({ tokens }) => tokens.issue(request)))
      const crossing = Array.from({ length: 8 }, (_, n) => refresh(n, issued[n % 2]!.refreshToken))
      await Promise.all([...crossing, daemons[round % 2]!.tokens.revoke({ user: request.user }, 'test')])
      assert.deepEqual(await living(one!.tokens), [], `round ${round}`)
    }
  })

  it('of which very many are revoked at one are not saved by being refreshed at the other', async (t) => {
    const { daemons, refresh } = await startTwo(t)
    const [one, two] = daemons
    const issued = await one!.store.transaction((tx) =>
      Promise.all(Array.from({ length: 250 }, () => one!.tokens.issueIn(tx, request))),
    )
    const revoking = one!.tokens.revoke({ user: request.user }, 'test')
    const late = issued.slice(-20).map(({ refreshToken }) => refresh(1, refreshToken))
    await Promise.all([revoking, ...late])
    assert.deepEqual(await living(two!.tokens), [])
    assert.ok((await two!.tokens.families()).every(({ revokedAt }) => revokedAt !== undefined))
  })
})

async function living(tokens: Tokens): Promise<readonly string[]> {
  return (await tokens.list()).flatMap(({ id, status }) => (status === 'Active' ? [id] : []))
}

async function startTwo(t: TestContext) {
  const server = await startPostgres({ after: (close) => afterwards(t, close as () => Promise<void>) })
  const url = await server.newDatabase()
  const clock = testClock(systemClock.now())
  const daemons: { store: Store; tokens: Tokens }[] = []
  for (let n = 0; n < 2; n++) {
    const store = await openPostgresStore({ url, clock, databaseClock: clock, log: silent })
    afterwards(t, () => store.close())
    const settings = () => ({ oauth }) as unknown as Settings
    daemons.push({ store, tokens: new Tokens({ store, clock, settings, onRevoked: () => undefined }) })
  }
  const refresh = (n: number, text = '') => {
    const { store, tokens } = daemons[n % 2]!
    return store.transaction((tx) => tokens.refreshIn(tx, text, request.client, ({ scopes }) => scopes))
  }
  return { daemons, refresh, pass: (milliseconds: number) => clock.advance(milliseconds) }
}
