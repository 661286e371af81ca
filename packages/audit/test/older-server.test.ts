/** A database server that was left behind takes writes as willingly as any other: the daemon does not give it any. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { Client } from 'pg'
import { type AuditLog, openAudit } from '#audit/open-audit.ts'
import { searchAudit } from '#audit/finding/search.ts'
import { systemClock } from '#leaf/clock.ts'
import { openPostgresStore, type PostgresStore } from '#state/postgres/store.ts'
import {
  caughtUp,
  noPostgres,
  startPostgres,
  startStandby,
  type TestPostgres,
  type TestStandby,
} from '../../../test/helpers/postgres.ts'
import { isApp } from '../../state/test/contract.ts'
import { afterwards, temporaryFolder, testLog, until } from '../../state/test/state-folder.ts'

const timeout = 240_000

/** A daemon, as far as it writes documents and tells of them. */
interface Writer {
  readonly store: PostgresStore
  readonly audit: AuditLog
  /** Tries to write a document with its event; answers why it was refused, undefined once it is kept. */
  readonly write: (id: string) => Promise<string | undefined>
  readonly close: () => Promise<void>
}

/** A primary, its standby, a database on both, and the folder of a daemon. */
interface Pair {
  readonly primary: TestPostgres
  readonly standby: TestStandby
  readonly url: string
  readonly state: string
}

describe('a database server with an older history', { skip: noPostgres, timeout }, () => {
  it('gets no write when it comes back after its standby was promoted, and not one is split', async (t) => {
    const { primary, standby, url } = await pair(t)
    const writers = [
      await open(t, url, await temporaryFolder(t)),
      await open(t, url, await temporaryFolder(t)),
    ]
    const kept: string[] = []
    const refused: string[] = []
    /** Both write on, until some of it was kept. */
    const writeSome = async (
      name: string,
      meanwhile: () => Promise<unknown> = async () => {},
    ): Promise<void> => {
      const ending = { over: false }
      const load = writers.map(async ({ write }, who) => {
        for (let n = 0; !ending.over; n++) {
          const why = await write(`${name}-${who}-${n}`)
          if (why === undefined) kept.push(`${name}-${who}-${n}`)
          else refused.push(why)
        }
      })
      await meanwhile()
      const before = kept.length
      await until(() => kept.length > before + 10)
      ending.over = true
      await Promise.all(load)
    }
    await writeSome('before')
    await caughtUp(primary)
    await primary.stop()
    await standby.promote()
    // A standby that has everything goes on by itself.
    await writeSome('after')
    assert.doesNotMatch(refused.join('\n'), /older history/)
    // Nobody keeps the old primary from coming back, and the new one starts again once.
    await primary.start()
    await writeSome('again', async () => {
      await standby.stop()
      const before = kept.length
      await until(
        () =>
          refused.some((why) => /timeline 1, and timeline 2 was seen/.test(why)) || kept.length > before + 20,
      )
      await standby.start()
    })
    const there = await notesOn(standby.port, url)
    assert.deepEqual(
      kept.filter((id) => !there.has(id)),
      [],
      'all that was kept is with the new primary',
    )
    const old = await notesOn(primary.port, url)
    assert.deepEqual(
      [...old].filter((id) => id.startsWith('again') || id.startsWith('after')),
      [],
    )
    assert.match(refused.join('\n'), /timeline 1, and timeline 2 was seen/)
    assert.equal(writers[0]!.store.stats().older, undefined)
    // Each began without the other's signature, which is another matter.
    for (const { audit } of writers)
      assert.deepEqual(
        (await audit.verify()).faults.filter((fault) => !fault.includes('accept-writer')),
        [],
      )
  })

  it('is not used by a daemon that starts again, until somebody answers for what is missing', async (t) => {
    const { primary, standby, url, state } = await pair(t)
    const first = await open(t, url, state)
    assert.equal(await first.write('a'), undefined)
    await caughtUp(primary)
    await primary.stop()
    await standby.promote()
    await until(async () => (await first.write('b')) === undefined)
    await first.close()
    await standby.stop()
    await primary.start()
    const why =
      /older history: it is on timeline 1, and timeline 2 was seen; .*line \d+ of this daemon in the audit log had been written, and there they end at line \d+: \d+ are missing; it is not used/
    await assert.rejects(open(t, url, state), why)
    assert.deepEqual([...(await notesOn(primary.port, url))], ['a'])
    // Another daemon, which never saw the new one, knows nothing of it.
    const answering = await open(t, url, state, { acceptsOlder: true })
    const accepted = await answering.audit.acceptLosses('ann', 'the other machine burnt down')
    assert.match(accepted[0]!.what, /timeline 1, and timeline 2 was seen/)
    assert.ok(accepted[0]!.expected > accepted[0]!.found)
    assert.deepEqual(await answering.audit.acceptLosses('ann', 'again'), [])
    await answering.close()
    const last = await open(t, url, state)
    assert.equal(await last.write('c'), undefined)
    assert.deepEqual([...(await notesOn(primary.port, url))].sort(), ['a', 'c'])
    const [event] = await all(last.audit, 'audit.accept')
    const { by, reason, losses } = event!.data as { by: string; reason: string; losses: { what: string }[] }
    assert.deepEqual([by, reason], ['ann', 'the other machine burnt down'])
    assert.match(
      losses.map(({ what }) => what).join('\n'),
      /timeline 1, and timeline 2 was seen[^]*had been written/,
    )
    assert.deepEqual((await last.audit.stats()).losses, [])
    assert.deepEqual((await last.audit.verify()).faults, [])
  })

  it('that lost the last moments is gone on with by a running daemon once somebody answered for them', async (t) => {
    const { primary, standby, url, state } = await pair(t)
    const writer = await open(t, url, state)
    assert.equal(await writer.write('a'), undefined)
    await caughtUp(primary)
    await standby.cutOff()
    for (const id of ['b', 'c', 'd']) assert.equal(await writer.write(id), undefined)
    assert.deepEqual(await writer.audit.acceptLosses('ann', 'nothing is missing yet'), [])
    await primary.stop()
    await standby.promote()
    let why: string | undefined
    await until(async () => /older history/.test((why = await writer.write('e')) ?? ''))
    assert.match(
      why!,
      /line \d+ of this daemon in the audit log had been written, and there they end at line \d+: 3 are missing/,
    )
    assert.doesNotMatch(why!, /timeline/)
    // What cannot be written now waits, and then more is refused.
    const waiting = writer.audit.record(looked)
    await until(async () => (await writer.audit.stats()).fault !== undefined)
    // The old one comes back, which has these lines. It was left behind all the same.
    await primary.start()
    await until(async () => /timeline 1, and timeline 2 was seen/.test((await writer.write('f')) ?? ''))
    assert.deepEqual([...(await notesOn(standby.port, url))], ['a'])
    const accepted = await writer.audit.acceptLosses('ann', 'the disk of the old one')
    assert.match(accepted[0]!.what, /3 are missing/)
    assert.doesNotMatch(accepted[0]!.what, /timeline/)
    await waiting
    await until(async () => (await writer.write('g')) === undefined)
    assert.deepEqual([...(await notesOn(standby.port, url))].sort(), ['a', 'g'])
    assert.deepEqual([...(await notesOn(primary.port, url))].sort(), ['a', 'b', 'c', 'd'])
    assert.deepEqual((await writer.audit.stats()).losses, [])
    assert.deepEqual((await writer.audit.verify()).faults, [])
    await writer.close()
    await (await open(t, url, state)).close()
  })

  it('is known by the end of the log alone, where the database tells no timeline', async (t) => {
    const { primary, standby, url, state } = await pair(t)
    await primary.admin.query('CREATE ROLE service LOGIN')
    const name = new URL(url.replace(/,[^/]*/, '')).pathname.slice(1)
    const admin = new Client({ connectionString: `postgresql://postgres@127.0.0.1:${primary.port}/${name}` })
    await admin.connect()
    await admin.query(`ALTER DATABASE ${name} OWNER TO service`)
    await admin.query('REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC')
    await admin.end()
    const own = url.replace('postgres@', 'service@')
    const writer = await open(t, own, state)
    assert.equal(await writer.write('a'), undefined)
    await caughtUp(primary)
    await primary.stop()
    await standby.promote()
    await until(async () => (await writer.write('b')) === undefined)
    await standby.stop()
    await primary.start()
    await until(async () =>
      /older history: line \d+ of this daemon in the audit log/.test((await writer.write('c')) ?? ''),
    )
    await standby.start()
    await until(async () => (await writer.write('d')) === undefined)
    assert.deepEqual([...(await notesOn(primary.port, url))], ['a'])
    assert.deepEqual([...(await notesOn(standby.port, url))].sort(), ['a', 'b', 'd'])
  })
})

const looked = { type: 'tool.call', status: 'ok', user: 'ann@example.com', target: 'list_documents' } as const

async function pair(t: TestContext): Promise<Pair> {
  const primary = await startPostgres(t)
  const name = new URL(await primary.newDatabase()).pathname
  const standby = await startStandby(t, primary)
  const url = `postgresql://postgres@127.0.0.1:${primary.port},127.0.0.1:${standby.port}${name}`
  return { primary, standby, url, state: await temporaryFolder(t) }
}

async function open(
  t: TestContext,
  url: string,
  folder: string,
  options: { readonly acceptsOlder?: boolean } = {},
): Promise<Writer> {
  const log = testLog()
  const store = await openPostgresStore({
    url,
    clock: systemClock,
    log,
    folder,
    lookMilliseconds: 200,
    ...options,
  })
  const audit = await openAudit({ folder: join(folder, 'audit'), store, clock: systemClock, log })
  const close = async (): Promise<void> => {
    await audit.close()
    await store.close()
  }
  afterwards(t, close)
  const notes = store.collection<{ id: string }>({ name: 'test.note' })
  const write = async (id: string): Promise<string | undefined> => {
    try {
      await store.transaction(async (transaction) => {
        await transaction.in(notes).insert({ id })
        await audit.recordIn(transaction, { ...looked, type: 'document.create', target: `Note/${id}` })
      })
      return undefined
    } catch (error) {
      assert.ok(isApp('unavailable')(error), String(error))
      return (error as Error).message
    }
  }
  return { store, audit, write, close }
}

/** The documents that lie on one of the servers. */
async function notesOn(port: number, url: string): Promise<ReadonlySet<string>> {
  const name = url.slice(url.lastIndexOf('/') + 1)
  const client = new Client({ connectionString: `postgresql://postgres@127.0.0.1:${port}/${name}` })
  await client.connect()
  try {
    const { rows } = await client.query<{ body: string }>(
      "SELECT body FROM assistant_core.document WHERE collection = 'test.note'",
    )
    return new Set(rows.map(({ body }) => (JSON.parse(body) as { id: string }).id))
  } finally {
    await client.end()
  }
}

async function all(audit: AuditLog, type: string) {
  const found = []
  for await (const line of searchAudit(audit.place, { type })) found.push(line)
  return found
}
