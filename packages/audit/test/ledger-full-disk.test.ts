/** A daemon's part of the shared audit log while the database's disk is full: real PostgreSQL, on a disk that is full, and told so. */
import assert from 'node:assert/strict'
import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import type { Client } from 'pg'
import type { AuditLine } from '#audit/audit.ts'
import { fetchLog } from '#audit/ledger/ledger-log.ts'
import { type AuditLog } from '#audit/open-audit.ts'
import { searchAudit } from '#audit/finding/search.ts'
import { noPostgres, startPostgres, suitePostgres } from '../../../test/helpers/postgres.ts'
import { isApp } from '../../state/test/contract.ts'
import { afterwards, fillDisk, smallDisk, testLog, until } from '../../state/test/state-folder.ts'
import { clientOf, startWriter, type Writer } from './shared-ledger.ts'

const reserveBytes = 1 << 20
const documents = [{ doctype: 'Patient', names: ['PAT-1'], count: 1 }]
const seen = { type: 'tool.call', status: 'ok', user: 'ann@example.com', documents } as const

describe(
  'the audit log of a daemon whose database has a full disk',
  { skip: noPostgres, timeout: 120_000 },
  () => {
    const server = suitePostgres()

    it('tells what is read on its reserve, until that is used up too, and all of it in the database once there is room', async (t) => {
      const disk = await smallDisk(t, 150_000_000)
      if ('reason' in disk) return t.skip(disk.reason)
      const small = await startPostgres(
        { after: (close) => afterwards(t, close as () => Promise<void>) },
        { disk: disk.folder },
      )
      const one = await start(t, await small.newDatabase())
      const { audit } = one
      const ballast = fillDisk(disk.folder)

      const told: string[] = []
      const tell = async (): Promise<void> => {
        const id = `r${told.length}`
        await audit.record({ ...seen, request_id: id, data: { text: 'x'.repeat(5000) } })
        told.push(id)
      }
      while (!(await audit.stats()).on_reserve) await tell()
      audit.requireWritable(true)
      assert.throws(() => audit.requireWritable(), isApp('unavailable'))
      await assert.rejects(change(one), isApp('unavailable'))
      assert.deepEqual((await audit.verify()).faults, [], 'with what is not in the database yet')
      const inDatabase = (await all(audit)).length
      await assert.rejects(async () => {
        for (;;) await tell()
      }, isApp('unavailable'))
      assert.ok(told.length > inDatabase + 50, `${told.length - inDatabase} on the reserve`)
      assert.throws(() => audit.requireWritable(true), /and so is the reserve/)
      assert.equal(await one.store.collection({ name: 'test.note' }).count(), 0)

      rmSync(ballast)
      await until(async () => !(await audit.stats()).on_reserve && (await audit.stats()).fault === undefined)
      await change(one)
      const lines = await all(audit)
      const ids = lines.map(({ request_id: id }) => id).filter((id) => id !== undefined)
      assert.deepEqual(ids.slice(0, told.length), told)
      assert.deepEqual((await audit.verify()).faults, [])
      assert.deepEqual(
        readdirSync(one.folder).filter((name) => name.startsWith('reserve-')),
        [],
      )
      await until(() => existsSync(join(one.folder, 'reserve')))
    })

    it('goes on behind its reserve when the daemon was killed, wherever the moving was cut off', async (t) => {
      const url = await server.newDatabase()
      const client = await clientOf(t, url)
      const first = await start(t, url)
      await first.audit.record({ ...seen, request_id: 'r0' })
      const end = await fillAfter(client, 0)
      const told = Array.from({ length: 120 }, (_, index) => `r${index}`)
      for (const id of told.slice(1)) await first.audit.record({ ...seen, request_id: id })
      assert.ok((await first.audit.stats()).on_reserve)
      const [file = ''] = readdirSync(first.folder).filter((name) => name.startsWith('reserve-'))
      const kept = join(first.folder, 'kept')
      copyFileSync(join(first.folder, file), kept)
      await first.close()

      // Killed when half of it was in the database, and the last line was being written.
      await fillAfter(client, 210)
      copyFileSync(kept, join(first.folder, file))
      writeFileSync(join(first.folder, file), '{"seq":99,"ti', { flag: 'a' })
      const second = await start(t, url, first.folder)
      await until(async () => (await lastOf(client)) >= end + 200)
      assert.ok((await second.audit.stats()).on_reserve)
      await second.audit.record({ ...seen, request_id: 'r120' })
      copyFileSync(join(first.folder, file), kept)
      await assert.rejects(fetchLog(first.folder, second.store.ledger, testLog()), isApp('conflict'))
      assert.deepEqual((await second.audit.verify()).faults, [])
      await second.close()

      // Killed when all of it was in the database, and the file still there.
      await client.query('DROP TRIGGER full_disk ON assistant_core.ledger')
      const third = await start(t, url, first.folder)
      assert.equal((await third.audit.stats()).on_reserve, false)
      await third.close()
      copyFileSync(kept, join(first.folder, file))
      const fourth = await start(t, url, first.folder)
      await fourth.audit.record({ ...seen, request_id: 'r121' })
      assert.deepEqual(
        (await all(fourth.audit)).map(({ request_id: id }) => id),
        [...told, 'r120', 'r121'],
      )
      assert.deepEqual((await fourth.audit.verify()).faults, [])
      assert.deepEqual((await fourth.audit.stats()).losses, [])
    })

    it('is told anew behind what a restored database has, and what that lacks is told', async (t) => {
      const url = await server.newDatabase()
      const client = await clientOf(t, url)
      const one = await start(t, url)
      for (const id of ['r0', 'r1']) await one.audit.record({ ...seen, request_id: id })
      await fillAfter(client, 0)
      for (const id of ['r2', 'r3']) await one.audit.record({ ...seen, request_id: id })
      await client.query(`DROP TRIGGER full_disk ON assistant_core.ledger;
      DELETE FROM assistant_core.ledger WHERE line LIKE '%"r1"%'`)
      await until(async () => !(await one.audit.stats()).on_reserve)
      await one.audit.record({ ...seen, request_id: 'r4' })
      assert.deepEqual(
        (await all(one.audit)).map(({ request_id: id }) => id),
        ['r0', 'r2', 'r3', 'r4'],
      )
      assert.equal((await one.audit.stats()).losses.length, 1)
      assert.match(
        (await one.audit.verify()).faults.join('\n'),
        /lines were missing here: 2 had been written, 1 were found/,
      )
    })

    it('misses what somebody took from its reserve', async (t) => {
      const url = await server.newDatabase()
      const client = await clientOf(t, url)
      const one = await start(t, url)
      await one.audit.record({ ...seen, request_id: 'r0' })
      await fillAfter(client, 0)
      for (const id of ['r1', 'r2']) await one.audit.record({ ...seen, request_id: id })
      await one.close()
      const [file = ''] = readdirSync(one.folder).filter((name) => name.startsWith('reserve-'))
      const path = join(one.folder, file)
      const lines = readFileSync(path, 'utf8').split('\n')
      writeFileSync(path, `${lines.slice(0, 2).join('\n')}\n`)
      await client.query('DROP TRIGGER full_disk ON assistant_core.ledger')
      const again = await start(t, url, one.folder)
      assert.match((await again.audit.verify()).faults.join('\n'), /lines were missing here/)
    })

    const start = (t: TestContext, url: string, folder?: string): Promise<Writer> =>
      startWriter(t, url, { reserveBytes, ...(folder !== undefined && { state: dirname(folder) }) })
  },
)

/** From so many lines on, counted from the last, the table of the log has no room. Answers the number of the last. */
async function fillAfter(client: Client, more: number): Promise<number> {
  const last = await lastOf(client)
  await client.query(`CREATE OR REPLACE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF NEW.seq > ${last + more} THEN
        RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100';
      END IF;
      RETURN NEW;
    END $$;
    DROP TRIGGER IF EXISTS full_disk ON assistant_core.ledger;
    CREATE TRIGGER full_disk BEFORE INSERT ON assistant_core.ledger FOR EACH ROW EXECUTE FUNCTION full_disk()`)
  return last
}

async function lastOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ last: number }>(
    'SELECT max(seq)::int AS last FROM assistant_core.ledger',
  )
  return rows[0]!.last
}

async function change({ audit, store }: Writer): Promise<void> {
  await store.transaction(async (transaction) => {
    await transaction.in(store.collection({ name: 'test.note' })).put({ id: 'n' })
    await audit.recordIn(transaction, { type: 'document.create', status: 'ok', target: 'Note/n' })
  })
}

/** What was told of reading. */
async function all(audit: AuditLog): Promise<AuditLine[]> {
  const lines: AuditLine[] = []
  for await (const line of searchAudit(audit.place, { type: 'tool.call' })) lines.push(line)
  return lines
}
