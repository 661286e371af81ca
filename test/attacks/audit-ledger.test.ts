/** Somebody who may write to the database, and has the key of no daemon, writes into the log that daemons share. */
import assert from 'node:assert/strict'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { copyLog } from '#audit/copy.ts'
import { fetchLog } from '#audit/ledger/ledger-log.ts'
import { Chain } from '#audit/chain.ts'
import { keyOf, newKeyText, publicText } from '#audit/checkpoint.ts'
import type { AuditEvent } from '#audit/audit.ts'
import { vouchFor } from '#audit/ledger/known-writers.ts'
import { keyChange } from '#audit/keeping/key-change.ts'
import { lastLineOf, ledgerLine } from '#audit/ledger/ledger-lines.ts'
import { type ToldEvent, toldBefore } from '#audit/line.ts'
import { systemClock } from '#leaf/clock.ts'
import { noPostgres, suitePostgres } from '../helpers/postgres.ts'
import { isApp } from '../../packages/state/test/contract.ts'
import { temporaryFolder } from '../../packages/state/test/state-folder.ts'
import { clientOf, introduce, startWriter, type Writer } from '../../packages/audit/test/shared-ledger.ts'

const looked: AuditEvent = { type: 'tool.call', status: 'ok', user: 'ann@example.com' }
const signedIn: AuditEvent = { type: 'sign_in.ok', status: 'ok', user: 'victim@example.com' }
const unknown = /nobody whom this daemon knows has signed for this writer/

describe(
  'the log that daemons share, in a database that somebody else writes',
  {
    skip: noPostgres,
    timeout: 240_000,
  },
  () => {
    const server = suitePostgres()

    /** Two daemons that know each other, of which the second has gone. */
    async function pair(t: TestContext): Promise<{ a: Writer; b: string; url: string }> {
      const url = await server.newDatabase()
      const [a, second] = [await startWriter(t, url), await startWriter(t, url)]
      for (let n = 0; n < 5; n++) await second.audit.record(looked)
      await a.audit.record(looked)
      await introduce(a)
      const b = (await second.store.ledger.writers()).find(({ last }) => last === 5)!.id
      await second.close()
      assert.deepEqual((await a.audit.verify()).faults, [])
      return { a, b, url }
    }

    const forgeries: Readonly<Record<string, (known: readonly string[], own: string) => readonly string[]>> =
      {
        'with a key of its own': (_, own) => [own],
        'under the key of one that is known': (known) => [known[0]!],
        'with its own key and then a known one': (known, own) => [own, known[0]!],
        'without a key': () => [],
      }
    for (const [how, keysOf] of Object.entries(forgeries))
      it(`names a daemon that never was, ${how}`, async (t) => {
        const { a } = await pair(t)
        const known = (await a.store.ledger.writers()).flatMap(({ keys }) => keys)
        await forge(a, [told(signedIn)], (own) => keysOf(known, own))
        const { ok, faults } = await a.audit.verify()
        assert.equal(ok, false)
        assert.match(faults.join('\n'), unknown)
        await waitForCount()
        assert.match((await a.audit.stats()).warnings.join('\n'), /1 of the daemons .* nobody known/)
      })

    it('leads no copy out of its folder, takes no key with it, and has nobody type what somebody else wrote', async (t) => {
      const { a } = await pair(t)
      const id = '../outside; touch x'
      // With the name that comes first and the key of another, it is whom that one takes itself for.
      const own = await readFile(join(a.folder, 'key.pub.pem'), 'utf8')
      await forge(a, [told(signedIn)], (key) => [key, own], { id, name: ' ' })
      const to = await temporaryFolder(t)
      const copy = join(to, 'copy')
      await assert.rejects(copyLog(a.store.ledger, a.folder, copy, a.log), isApp('invalid'))
      assert.deepEqual([await readdir(to), await readdir(copy)], [['copy'], []])
      await assert.rejects(fetchLog(copy, a.store.ledger, a.log), isApp('invalid'))
      assert.deepEqual([await readdir(to), await readdir(copy)], [['copy'], ['key.pem', 'key.pub.pem']])
      const { faults } = await a.audit.verify()
      assert.match(faults.join('\n'), unknown)
      assert.doesNotMatch(faults.join('\n'), /accept-writer/)
    })

    it('takes no word from one that nobody knows: of removals, of losses, of others and of itself', async (t) => {
      const { a, b, url } = await pair(t)
      const client = await clientOf(t, url)
      await client.query('DELETE FROM assistant_core.ledger WHERE writer = $1 AND seq <= 3', [b])
      const prune = { type: 'audit.prune', status: 'ok', data: { writer: b, through: 3 } } as const
      const key = newKeyText()
      const id = 'stranger'
      const row = { id, name: id, keys: [publicText(key)], first: 1, last: 1, since: 0, line: undefined }
      const vouch = vouchFor(row, keyOf(key), '2026-01-01T00:00:00.000Z', { by: 'me', reason: 'me' })
      await forge(a, [told(prune), vouch], (own) => [own], { pem: key, id })
      const { faults } = await a.audit.verify()
      assert.match(faults.join('\n'), unknown)
      assert.match(faults.join('\n'), /lines 1 to 3 are missing/)
    })

    it('is not spoken for by a key that somebody put before its own, which removes no line and answers for no loss', async (t) => {
      const { a, b, url } = await pair(t)
      const writers = await a.store.ledger.writers()
      const [row, own] = [writers.find(({ id }) => id === b)!, writers.find(({ id }) => id !== b)!]
      const pem = newKeyText()
      const chain = new Chain(systemClock, keyOf(pem), b)
      const data = { writer: own.id, through: own.last - 1 }
      const first = chain.next([told({ type: 'audit.prune', status: 'ok', user: 'system', data })], true)!
      chain.took(first)
      // The key of the daemon, to which it hands over, signs nothing of it.
      const target = { id: b, sign: () => '' }
      const second = chain.next([keyChange(keyOf(pem), target, new Date().toISOString())], false)!
      const client = await clientOf(t, url)
      await client.query('DELETE FROM assistant_core.ledger WHERE writer = $1 OR seq < $2', [b, own.last])
      await client.query("DELETE FROM assistant_core.document WHERE collection = 'audit.head'")
      await a.store.ledger.enter({ ...row, keys: [publicText(pem), ...row.keys] })
      const lines = [...first.lines, ...second.lines].map(ledgerLine)
      assert.ok(await a.store.ledger.add({ writer: b, lines }, 0))
      const { ok, faults } = await a.audit.verify()
      assert.equal(ok, false)
      assert.match(faults.join('\n'), /a key signed this for which no known key has signed/)
      assert.match(faults.join('\n'), new RegExp(`lines 1 to ${own.last - 1} are missing`))
    })

    it('does not believe an unsigned line of a known daemon that its own lines were removed', async (t) => {
      const { a, b, url } = await pair(t)
      const client = await clientOf(t, url)
      await append(a, b, { type: 'audit.prune', status: 'ok', data: { through: 3 } })
      await client.query('DELETE FROM assistant_core.ledger WHERE writer = $1 AND seq <= 3', [b])
      const { faults } = await a.audit.verify()
      assert.match(faults.join('\n'), /lines 1 to 3 are missing/)
    })

    it('tells of a line behind the orderly stop of a daemon, also once the others have signed how far it had come', async (t) => {
      const { a, b, url } = await pair(t)
      await append(a, b, signedIn)
      assert.match((await a.audit.verify()).faults.join('\n'), /this was added while nothing ran/)
      const state = join(a.folder, '..')
      await a.close()
      const again = await startWriter(t, url, { state })
      assert.match((await again.audit.verify()).faults.join('\n'), /this was added while nothing ran/)
    })

    it('tells its own daemon, at its start, of a line that was added in its name', async (t) => {
      const { a, url } = await pair(t)
      const own = (await a.store.ledger.writers()).find(({ name }) => name.includes(a.folder))!
      const state = join(a.folder, '..')
      await a.close()
      const other = await startWriter(t, url)
      await append(other, own.id, signedIn)
      const again = await startWriter(t, url, { state })
      assert.match((await again.audit.stats()).losses[0]?.what ?? '', /were added while nothing ran/)
      assert.equal((await again.audit.verify()).ok, false)
    })
  },
)

describe('a daemon that comes to others', { skip: noPostgres, timeout: 240_000 }, () => {
  const server = suitePostgres()

  it('is unknown until somebody answers for it at one that is known, and then known to all', async (t) => {
    const url = await server.newDatabase()
    const [a, c] = [await startWriter(t, url), await startWriter(t, url)]
    for (const { audit } of [a, c]) await audit.record(looked)
    await introduce(a)
    const b = await startWriter(t, url)
    await b.audit.record(looked)
    for (const { audit } of [a, c]) assert.match((await audit.verify()).faults.join('\n'), unknown)
    assert.ok((await b.audit.verify()).ok, 'it knows those that were there before it')
    const id = (await a.store.ledger.writers()).find(({ name }) => name.includes(b.folder))!.id
    await assert.rejects(a.audit.acceptWriter('nobody', 'ann', 'why'), isApp('not_found'))
    await a.audit.acceptWriter(id, 'ann', 'set up today')
    await assert.rejects(a.audit.acceptWriter(id, 'ann', 'again'), isApp('not_found'))
    for (const { audit } of [a, b, c]) assert.deepEqual((await audit.verify()).faults, [])
    // It stays so with another key, and when the database forgets who had signed.
    await b.audit.changeKey()
    for (const { audit } of [a, b, c]) assert.deepEqual((await audit.verify()).faults, [])
    const state = join(c.folder, '..')
    await c.close()
    assert.deepEqual((await (await startWriter(t, url, { state })).audit.verify()).faults, [])
  })

  it('is not taken for another that calls itself by its id, or by its name', async (t) => {
    const url = await server.newDatabase()
    const [a, b] = [await startWriter(t, url), await startWriter(t, url)]
    for (const { audit } of [a, b]) await audit.record(looked)
    const { id, name } = (await a.store.ledger.writers()).find((one) => one.name.includes(b.folder))!
    await forge(a, [told(signedIn)], (own) => [own], { id: 'forged-1', name: id })
    await forge(a, [told(signedIn)], (own) => [own], { id: 'forged-2', name })
    await assert.rejects(a.audit.acceptWriter(name, 'ann', 'why'), isApp('not_found'))
    assert.deepEqual(await a.audit.acceptWriter(id, 'ann', 'set up today'), { id, name })
    const { faults } = await a.audit.verify()
    assert.equal(faults.length, 2, faults.join('\n'))
    for (const one of ['forged-1', 'forged-2'])
      assert.match(faults.join('\n'), new RegExp(`WHY -- ${one}$`, 'm'))
  })

  it('is believed by the key that its id means and by those that followed, whatever else its row names', async (t) => {
    const url = await server.newDatabase()
    const [a, b, c] = [await startWriter(t, url), await startWriter(t, url), await startWriter(t, url)]
    for (const { audit } of [a, b, c]) await audit.record(looked)
    await introduce(a)
    const [, state] = [await c.close(), join(c.folder, '..')]
    const d = await startWriter(t, url)
    await d.audit.record(looked)
    const { id, name, keys } = (await a.store.ledger.writers()).find((one) => one.name.includes(d.folder))!
    for (const forged of [[publicText(newKeyText())], [...keys, publicText(newKeyText())]]) {
      await a.store.ledger.enter({ id, name, keys: forged })
      await assert.rejects(a.audit.acceptWriter(id, 'ann', 'set up today'), isApp('conflict'))
    }
    await a.store.ledger.enter({ id, name, keys })
    assert.match((await b.audit.verify()).faults.join('\n'), unknown, 'nobody has signed for it so far')
    // A log that came from files may have keys from before the one that it is called by.
    await a.store.ledger.enter({ id, name, keys: [publicText(newKeyText()), ...keys] })
    await a.audit.acceptWriter(id, 'ann', 'set up today')
    // One that was away learns it of the log, though there is another key since.
    await d.audit.changeKey()
    const again = await startWriter(t, url, { state })
    for (const { audit } of [a, b, again]) assert.deepEqual((await audit.verify()).faults, [])
  })

  it('and those of an earlier version are known to each other, though nobody has signed for them', async (t) => {
    const url = await server.newDatabase()
    const [a, b] = [await startWriter(t, url), await startWriter(t, url)]
    for (const { audit } of [a, b]) await audit.record(looked)
    assert.match((await a.audit.verify()).faults.join('\n'), unknown)
    // An earlier version has no list.
    const state = join(a.folder, '..')
    await a.close()
    for (const name of await readdir(a.folder))
      if (name.startsWith('writers-')) await rm(join(a.folder, name))
    const again = await startWriter(t, url, { state })
    assert.deepEqual((await again.audit.verify()).faults, [])
    // One whose peers are all gone knows what they left.
    await again.close()
    await b.close()
    assert.deepEqual((await (await startWriter(t, url)).audit.verify()).faults, [])
  })

  it('removes with the others what is old, and tells again once what outlives it', async (t) => {
    const url = await server.newDatabase()
    const settings = { max_total_bytes: 1 }
    const first = await startWriter(t, url, { settings })
    await first.audit.record({ type: 'site.edit', status: 'ok', user: 'boss@example.com' })
    for (let n = 0; n < 20; n++) await first.audit.record(looked)
    await first.close()
    const clock = { now: () => Date.now() + 40 * 86_400_000 }
    const others = await Promise.all([1, 2, 3].map(() => startWriter(t, url, { clock, settings })))
    await Promise.all(others.map(({ audit }) => audit.tidy()))
    const [a] = others
    const client = await clientOf(t, url)
    const { rows } = await client.query(
      `SELECT line FROM assistant_core.ledger WHERE terms @> ARRAY['type site.edit']`,
    )
    assert.equal(rows.length, 1)
    const { again, time } = JSON.parse(rows[0].line)
    assert.equal(again.seq, 1)
    assert.ok(Date.parse(time) < Date.now())
    await introduce(a!)
    const { ok, faults, notes } = await a!.audit.verify()
    assert.ok(ok, faults.join('\n'))
    assert.match(notes.join('\n'), /removed by housekeeping at .* under max_total_bytes: 1/)
  })
})

function told(event: AuditEvent): ToldEvent {
  return toldBefore('forged', new Date().toISOString(), event)
}

/** Enters a writer as the owner of the schema can, with lines that its own key signs. */
async function forge(
  { store: { ledger } }: Writer,
  events: readonly ToldEvent[],
  keysOf: (own: string) => readonly string[],
  { pem = newKeyText(), id = 'forged-writer', name = 'another machine' } = {},
): Promise<void> {
  const chain = new Chain(systemClock, keyOf(pem), id)
  const lines = chain.next(events, true)!.lines.map(ledgerLine)
  await ledger.enter({ id, name, keys: keysOf(publicText(pem)) })
  assert.ok(await ledger.add({ writer: id, lines }, 0))
}

/** Adds a chained line to the lines of a writer, without its key. */
async function append({ store: { ledger } }: Writer, writer: string, event: AuditEvent): Promise<void> {
  const chain = new Chain(systemClock, keyOf(newKeyText()), writer)
  const { seq, hash } = await lastLineOf(ledger, writer)
  chain.goOn({ seq, hash })
  const lines = chain.next([told(event)], false)!.lines.map(ledgerLine)
  assert.ok(await ledger.add({ writer, lines }, seq))
}

/** What is asked again and again is counted once a second. */
function waitForCount(): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, 1100))
}
