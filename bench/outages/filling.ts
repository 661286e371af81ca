/** Fills a state with what people and their apps leave behind in years: documents, audit events and tokens. */
import { join } from 'node:path'
import process from 'node:process'
import { openAudit } from '#audit/open-audit.ts'
import { systemClock } from '#leaf/clock.ts'
import { createLog } from '#leaf/log.ts'
import { randomId, sha256 } from '#leaf/secrets.ts'
import type { Store } from '#state/store.ts'
import { collectionFor, type Documents } from '../../src/documents/documents.ts'
import { clientRecords, familyRecords, tokenRecords } from '../../src/oauth/records.ts'
import { Tokens } from '../../src/oauth/tokens/tokens.ts'
import { thisServer } from '../../src/oauth/urls.ts'
import { makeSettings } from '../../test/oauth/server.ts'

/** How much of each there is. */
export interface Sizes {
  readonly documents: number
  readonly events: number
  /** Families of one user, to be revoked. */
  readonly families: number
  /** Tokens of one family, as older releases kept them. */
  readonly tokens: number
  /** Tokens whose time is over. */
  readonly over: number
  /** Families of two users, each with a refresh token. */
  readonly refreshing: number
}

/** Refresh tokens that a flood sends. */
export interface Refreshing {
  readonly client: string
  readonly tokens: readonly string[]
  /** Of a family with very many tokens, used twice already. */
  readonly used: string
}

export const leaver = 'leaver@example.com'
const client = 'client-of-the-bench'
const request = { client, clientName: 'App', scopes: ['all'], resource: thisServer }
const day = 86_400_000
const atOnce = 5000

/** Days, and titles, of which no two documents have the same. */
export async function fillDocuments(documents: Documents, count: number): Promise<void> {
  const opportunities = collectionFor(documents, documents.platform.doctypes.get('Opportunity')!)
  for (let first = 0; first < count; first += atOnce)
    await documents.store.transaction(async (tx) => {
      for (let n = first; n < Math.min(count, first + atOnce); n++) {
        const time = new Date(Date.UTC(2025, 0, 1) + n * 30_000).toISOString()
        await tx.in(opportunities).put({
          id: `OPP-${String(n).padStart(6, '0')}`,
          owner: 'sales@example.com',
          creation: time,
          modified: time,
          modified_by: 'sales@example.com',
          docstatus: 0,
          title: `order ${n}`,
          stage: 'Won',
          amount: (n * 7919) % 100_000,
          expected_close: new Date(Date.UTC(1800, 0, 1) + n * day).toISOString().slice(0, 10),
        })
      }
    })
}

export async function fillAudit(store: Store, state: string, count: number): Promise<void> {
  const log = createLog('error', process.stderr)
  const audit = await openAudit({ folder: join(state, 'audit'), store, clock: systemClock, log })
  for (let first = 0; first < count; first += atOnce)
    await Promise.all(
      Array.from({ length: Math.min(atOnce, count - first) }, (_, n) =>
        audit.record({
          type: 'tool.call',
          status: 'ok',
          user: 'sales@example.com',
          client,
          target: 'get_document',
          request_id: `request-${first + n}`,
          execution_time: 0.002,
          data: { arguments: undefined, doctype: 'Opportunity', name: `OPP-${first + n}` },
        }),
      ),
    )
  await audit.close()
}

export async function fillTokens(store: Store, sizes: Sizes): Promise<Refreshing> {
  const settings = makeSettings()
  const tokens = new Tokens({
    store,
    clock: systemClock,
    settings: () => settings,
    onRevoked: () => undefined,
  })
  await store.transaction(async (tx) => {
    const known = {
      source: 'operator',
      authMethod: 'none',
      metadata: {},
      redirectUris: ['http://127.0.0.1/cb'],
    } as const
    await tx
      .in(store.collection(clientRecords))
      .insert({ ...known, id: client, name: 'App', createdAt: Date.now() })
  })
  const issued: string[] = []
  const issue = async (count: number, userOf: (n: number) => string): Promise<void> => {
    for (let first = 0; first < count; first += atOnce)
      await store.transaction(async (tx) => {
        for (let n = first; n < Math.min(count, first + atOnce); n++)
          issued.push((await tokens.issueIn(tx, { ...request, user: userOf(n) })).refreshToken!)
      })
  }
  await issue(sizes.families, () => leaver)
  issued.length = 0
  await issue(sizes.refreshing, (n) => (n % 2 === 0 ? 'sales@example.com' : 'admin@example.com'))
  const { refreshToken: used = '', family } = await tokens.issue({ ...request, user: 'sales@example.com' })
  let next = used
  for (let n = 0; n < 2; n++) {
    const outcome = await store.transaction((tx) => tokens.refreshIn(tx, next, client, () => ['all']))
    if (outcome.kind !== 'rotated') throw new Error(outcome.kind)
    next = outcome.issued.refreshToken!
  }
  const now = Date.now()
  await fillAccessTokens(store, sizes.tokens, { family: family.id, forgetAt: now + day })
  await fillAccessTokens(store, sizes.over, { family: randomId(), forgetAt: now + 60_000 })
  const families = await store.collection(familyRecords).count({ where: { client } })
  if (families !== sizes.families + sizes.refreshing + 1) throw new Error(`${families} families`)
  return { client, tokens: issued, used }
}

async function fillAccessTokens(
  store: Store,
  count: number,
  { family, forgetAt }: { readonly family: string; readonly forgetAt: number },
): Promise<void> {
  const stored = store.collection(tokenRecords)
  for (let first = 0; first < count; first += atOnce)
    await store.transaction(async (tx) => {
      for (let n = first; n < Math.min(count, first + atOnce); n++)
        await tx.in(stored).insert({
          ...request,
          id: randomId(),
          hash: sha256(`${family} ${n}`),
          family,
          user: 'sales@example.com',
          status: 'Active',
          issuedAt: forgetAt - 2 * day,
          expiresAt: forgetAt - day / 2,
          forgetAt,
        })
    })
}
