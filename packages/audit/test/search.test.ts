import { readFile, writeFile } from 'node:fs/promises'
import { describe, it, type TestContext } from 'node:test'
import assert from 'node:assert/strict'
import type { AuditEvent, AuditLine } from '#audit/audit.ts'
import type { AuditFilter } from '#audit/finding/filter.ts'
import { FileLedger } from '#audit/files/file-ledger.ts'
import { listLogFiles } from '#audit/files/log-files.ts'
import { compressLogFile } from '#audit/files/retention.ts'
import { followAudit, searchAudit, tailAudit } from '#audit/finding/search.ts'
import { summarizeAudit } from '#audit/finding/summary.ts'
import { temporaryFolder, until } from '../../state/test/state-folder.ts'
import { type OpenedAudit, startAudit } from './audit-folder.ts'

const day = 86_400_000

const story: readonly AuditEvent[] = [
  { type: 'sign_in.ok', status: 'ok', user: 'ann@example.com', request_id: '0' },
  { type: 'token.issue', status: 'ok', user: 'ann@example.com', client: 'c1', request_id: '1' },
  {
    type: 'tool.call',
    status: 'ok',
    user: 'ann@example.com',
    client: 'c1',
    session_id: 's1',
    target: 'list_documents',
    request_id: '2',
  },
  {
    type: 'tool.call',
    status: 'denied',
    user: 'bob@example.com',
    session_id: 's2',
    target: 'list_documents',
    request_id: '3',
  },
  {
    type: 'tool.call',
    status: 'timeout',
    user: 'bob@example.com',
    session_id: 's2',
    target: 'run_python_code',
    request_id: '4',
  },
  {
    type: 'document.create',
    status: 'ok',
    user: 'ann@example.com',
    target: 'Customer/A "quoted" ä',
    request_id: '5',
  },
  { type: 'token.revoke', status: 'ok', user: 'ann@example.com', target: 'ann@example.com', request_id: '6' },
]

/** A log with one event of the story a day, so that most files are compressed. */
async function told(t: TestContext): Promise<OpenedAudit> {
  const opened = await startAudit(t)
  for (const event of story) {
    await opened.audit.record(event)
    opened.clock.advance(day)
  }
  await opened.audit.tidy()
  return opened
}

async function found(folder: string, filter: AuditFilter): Promise<string> {
  const all: AuditLine[] = []
  for await (const line of searchAudit(new FileLedger(folder), filter)) all.push(line)
  return all.map(({ request_id: id }) => id ?? '').join('')
}

describe('searching the audit log', () => {
  it('finds by each property and by all together, in compressed files, too', async (t) => {
    const { folder, clock } = await told(t)
    const start = clock.now() - story.length * day
    const cases: [AuditFilter, string][] = [
      [{ user: 'ann@example.com' }, '01256'],
      [{ target: 'list_documents' }, '23'],
      [{ target: 'Customer/A "quoted" ä' }, '5'],
      [{ type: 'tool.call' }, '234'],
      [{ type: 'token.' }, '16'],
      [{ type: 'token' }, ''],
      [{ status: 'denied' }, '3'],
      [{ session: 's2' }, '34'],
      [{ client: 'c1' }, '12'],
      [{ since: start + 5 * day }, '56'],
      [{ until: start + 2 * day }, '01'],
      [{ since: start + 2 * day, until: start + 4 * day, user: 'bob@example.com' }, '3'],
      [{ user: 'bob@example.com', target: 'run_python_code', status: 'timeout', session: 's2' }, '4'],
      [{ user: 'nobody' }, ''],
      [{ user: '"user":"ann@example.com"' }, ''],
    ]
    for (const [filter, expected] of cases)
      assert.equal(await found(folder, filter), expected, JSON.stringify(filter))
  })

  it('answers the last that are wanted', async (t) => {
    const { folder } = await told(t)
    const ids = async (count: number, filter: AuditFilter): Promise<string> =>
      (await tailAudit(new FileLedger(folder), count, filter)).map(({ request_id: id }) => id ?? '').join('')
    assert.equal(await ids(2, { type: 'tool.' }), '34')
    assert.equal(await ids(3, { user: 'ann@example.com' }), '256')
    assert.equal(await ids(100, { status: 'ok', user: 'ann@example.com' }), '01256')
    assert.equal(await ids(0, {}), '')
    assert.deepEqual(await tailAudit(new FileLedger(await temporaryFolder(t)), 5), [])
  })

  it('finds who read a document and who changed it, by its name, its doctype and any text', async (t) => {
    const { audit, folder } = await startAudit(t)
    const told: AuditEvent[] = [
      { type: 'tool.call', status: 'ok', target: 'list_documents', request_id: 'listed' },
      { type: 'document.update', status: 'ok', target: 'Patient/PAT-1', request_id: 'changed' },
      { type: 'tool.call', status: 'denied', target: 'get_document', request_id: 'asked' },
      { type: 'tool.call', status: 'ok', target: 'list_documents', request_id: 'others' },
      { type: 'document.update', status: 'ok', target: 'Patient/PAT-10', request_id: 'neighbour' },
    ]
    const more: Partial<AuditEvent>[] = [
      { documents: [{ doctype: 'Patient', names: ['PAT-0', 'PAT-1'], count: 40 }] },
      { changes: [{ field: 'phone', from: '+41 44', to: '+41 79' }] },
      { data: { arguments: { doctype: 'Patient', name: 'PAT-1' } as never } },
      { documents: [{ doctype: 'Visit', names: ['PAT-1'], count: 1 }] },
      {},
    ]
    for (const [index, event] of told.entries()) await audit.record({ ...event, ...more[index] })
    const found = async (filter: AuditFilter): Promise<unknown[]> => {
      const ids: unknown[] = []
      for await (const line of searchAudit(new FileLedger(folder), filter)) ids.push(line.request_id)
      return ids
    }
    assert.deepEqual(await found({ document: 'Patient/PAT-1' }), ['listed', 'changed', 'asked'])
    assert.deepEqual(await found({ doctype: 'Patient' }), ['listed', 'changed', 'asked', 'neighbour'])
    assert.deepEqual(await found({ doctype: 'Visit' }), ['others'])
    assert.deepEqual(await found({ text: 'PHONE' }), ['changed'])
    assert.deepEqual(await found({ text: '41 79', document: 'Patient/PAT-1' }), ['changed'])
    assert.deepEqual(await found({ document: 'Patient/"quoted\\' }), [])
    assert.deepEqual(await found({ seq: 2 }), ['changed'])
  })

  it('lets others have their turns while it reads a large log, and ends when nobody waits for it', async (t) => {
    const opened = await startAudit(t)
    const count = 20_000
    for (let from = 0; from < count; from += 2000)
      await Promise.all(Array.from({ length: 2000 }, () => opened.audit.record(story[2]!)))
    // The next day begins another file, and this one is compressed.
    opened.clock.advance(day)
    await opened.audit.record(story[0]!)
    const files = async () => await listLogFiles(opened.audit.folder)
    await until(async () => (await files())[0]!.compressed)
    const { place } = opened.audit
    let turns = 0
    const looking = setInterval(() => turns++, 0)
    t.after(() => clearInterval(looking))
    assert.deepEqual(await tailAudit(place, 10, { text: 'nowhere' }), [])
    assert.ok(turns >= 5, `${turns} turns`)
    const numbers = (await tailAudit(place, Infinity, { user: 'ann@example.com' })).map(({ seq }) => seq)
    assert.equal(numbers.length, count + 1)
    assert.deepEqual(
      numbers,
      numbers.toSorted((a, b) => a - b),
    )
    const gone = new AbortController()
    const unwanted = tailAudit(place, 10, { text: 'nowhere' }, gone.signal)
    gone.abort()
    await assert.rejects(unwanted, { name: 'AbortError' })
  })

  it('counts what happened', async (t) => {
    const { folder } = await told(t)
    const summary = await summarizeAudit(new FileLedger(folder), { type: 'tool.' })
    assert.equal(summary.events, 3)
    assert.deepEqual(summary.by_status, { denied: 1, ok: 1, timeout: 1 })
    assert.deepEqual(summary.by_user, { 'bob@example.com': 2, 'ann@example.com': 1 })
    assert.deepEqual(summary.by_target, { list_documents: 2, run_python_code: 1 })
  })
})

describe('an event of the audit log, by its number', () => {
  it('is found wherever it stands: near the end of its file, far from it, and in a file that is compressed', async (t) => {
    const { audit, folder } = await startAudit(t)
    const count = 10_500
    const told = Array.from({ length: count }, (_, index) =>
      audit.record({ type: 'a.b', status: 'ok', target: `${index + 1}` }),
    )
    await Promise.all(told)
    await audit.close()
    const found = async (seq: number): Promise<unknown[]> => {
      const targets: unknown[] = []
      const ledger = new FileLedger(folder)
      for await (const line of searchAudit(ledger, { seq })) targets.push(line.seq)
      return targets
    }
    const [file] = await listLogFiles(folder)
    for (const isCompressed of [false, true]) {
      if (isCompressed) await compressLogFile(file!)
      for (const seq of [1, 2, 300, count]) assert.deepEqual(await found(seq), [seq])
      assert.deepEqual(await found(count * 2), [])
    }
  })
})

describe('following the audit log', () => {
  it('goes on behind lines that cannot be read', { timeout: 30_000 }, async (t) => {
    const opened = await startAudit(t)
    for (const target of ['a', 'b', 'c']) await opened.audit.record({ type: 'a.b', status: 'ok', target })
    await opened.audit.close()
    const [file] = await listLogFiles(opened.folder)
    const lines = (await readFile(file!.path, 'utf8')).split('\n')
    await writeFile(file!.path, lines.with(1, '{"damaged').join('\n'))
    const stop = new AbortController()
    const seen: unknown[] = []
    const follow = { after: new Map(), filter: { type: 'a.b' }, signal: stop.signal }
    const following = (async () => {
      for await (const { target } of followAudit(new FileLedger(opened.folder), follow)) seen.push(target)
    })()
    await until(() => seen.length === 2)
    const { audit } = await opened.reopen()
    await audit.record({ type: 'a.b', status: 'ok', target: 'd' })
    await until(() => seen.length === 3)
    stop.abort()
    await following
    assert.deepEqual(seen, ['a', 'c', 'd'])
  })

  it('shows each event once and in order, over rotation and compression', { timeout: 60_000 }, async (t) => {
    const { audit, folder } = await startAudit(t, { max_file_bytes: 2000 })
    await audit.record({ type: 'tool.call', status: 'ok', request_id: 'before' })
    const stop = new AbortController()
    const seen: AuditLine[] = []
    const follower = (async () => {
      for await (const line of followAudit(new FileLedger(folder), {
        after: new Map(),
        filter: { type: 'tool.' },
        signal: stop.signal,
      })) {
        seen.push(line)
      }
    })()
    const count = 120
    for (let index = 0; index < count; index++) {
      await audit.record({ type: 'tool.call', status: 'ok', request_id: `${index}`, target: 'x'.repeat(100) })
      if (index % 40 === 0) await audit.tidy()
    }
    await until(() => seen.length > count)
    stop.abort()
    await follower
    assert.deepEqual(
      seen.map(({ request_id: id }) => id),
      ['before', ...Array.from({ length: count }, (_, index) => `${index}`)],
    )
  })

  it('begins with what comes next unless told where', { timeout: 30_000 }, async (t) => {
    const { audit, folder } = await startAudit(t)
    await audit.record({ type: 'a.old', status: 'ok' })
    const stop = new AbortController()
    const following = followAudit(new FileLedger(folder), { signal: stop.signal })
    const next = following.next()
    // The follower looks for the end first; what is told until then is old.
    await new Promise((resolve) => setTimeout(resolve, 300))
    await audit.record({ type: 'a.new', status: 'ok' })
    assert.equal((await next).value?.type, 'a.new')
    stop.abort()
    assert.equal((await following.next()).done, true)
  })
})
