import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import assert from 'node:assert/strict'
import { readAnchors } from '#audit/verifying/anchors.ts'
import { verifyAudit } from '#audit/verifying/verify.ts'
import { linesOf, type OpenedAudit, startAudit } from './audit-folder.ts'

const call = { type: 'tool.call', status: 'ok', target: 'list_documents' } as const

async function tell({ audit }: OpenedAudit, count: number): Promise<void> {
  for (let index = 0; index < count; index++) await audit.record(call)
}

async function closed({ audit, store }: OpenedAudit): Promise<void> {
  await audit.close()
  await store.close()
}

describe('an audit log that somebody erased', () => {
  it('is missed at the next start, by verify and in how it stands, whatever is written afterwards', async (t) => {
    const first = await startAudit(t)
    await tell(first, 5)
    await closed(first)
    await rm(first.folder, { recursive: true })

    const second = await startAudit(t, {}, first.state)
    assert.ok(second.log.lines.some(({ level, message }) => level === 'error' && message.includes('missing')))
    const [loss] = (await second.audit.stats()).losses
    assert.deepEqual([loss?.expected, loss?.found], [6, 0])
    assert.match(loss!.what, /it was signed with key .+, and now key .+ lies there/)
    const verification = await second.audit.verify()
    assert.equal(verification.ok, false)
    assert.match(verification.faults.join('\n'), /line 6 had been written/)
    assert.equal((await linesOf(second.folder))[0]?.type, 'audit.truncated')

    await tell(second, 20)
    const third = await second.reopen()
    assert.equal((await third.audit.verify()).ok, false)
    assert.equal((await third.audit.stats()).losses.length, 1, 'told once')
    // Erasing the trace of the erasure leaves one as well.
    await closed(third)
    await rm(first.folder, { recursive: true })
    const fourth = await startAudit(t, {}, first.state)
    assert.equal((await fourth.audit.stats()).losses.length, 2)
  })

  it('is missed when an older copy of its folder, head and all, was put back', async (t) => {
    const first = await startAudit(t)
    await tell(first, 3)
    await closed(first)
    const copy = join(first.state, 'copy')
    await cp(first.folder, copy, { recursive: true })
    const second = await startAudit(t, {}, first.state)
    await tell(second, 4)
    await closed(second)
    await rm(first.folder, { recursive: true })
    await cp(copy, first.folder, { recursive: true })
    assert.equal((await verifyAudit(first.folder)).ok, true, 'by itself it cannot know')

    const third = await startAudit(t, {}, first.state)
    assert.match(
      (await third.audit.verify()).faults.join('\n'),
      /it ends at line 4, and line 10 had been written/,
    )
    assert.equal((await third.audit.stats()).losses[0]?.found, 4)
  })

  it('is missed when only its lines went, or only its key', async (t) => {
    for (const lost of [/^audit-/, /^key/]) {
      const first = await startAudit(t)
      await tell(first, 3)
      await closed(first)
      for (const name of await readdir(first.folder)) if (lost.test(name)) await rm(join(first.folder, name))
      const second = await startAudit(t, {}, first.state)
      assert.equal((await second.audit.stats()).losses.length, 1, String(lost))
      assert.equal((await second.audit.verify()).ok, false)
    }
  })

  it('stays a fault until somebody answers for it in the log, and a note for ever', async (t) => {
    const first = await startAudit(t)
    await tell(first, 3)
    assert.deepEqual(await first.audit.acceptLosses('ann', 'nothing is wrong'), [])
    assert.ok(!(await linesOf(first.folder)).some(({ type }) => type === 'audit.accept'))
    await closed(first)
    await rm(first.folder, { recursive: true })
    const second = await startAudit(t, {}, first.state)
    await second.audit.acceptLosses('ann', 'the disk was replaced')
    assert.deepEqual((await second.audit.stats()).losses, [])
    const { ok, faults, notes } = await second.audit.verify()
    assert.ok(ok, faults.join('\n'))
    assert.match(notes.join('\n'), /line 4 had been written.*accepted by ann: the disk was replaced/)
    const told = (await linesOf(second.folder)).find(({ type }) => type === 'audit.accept')
    assert.equal((told?.data?.['losses'] as unknown[] | undefined)?.length, 1)
  })

  it('is known of from its first start on, before a line is in it', async (t) => {
    const first = await startAudit(t)
    await closed(first)
    await rm(first.folder, { recursive: true })
    const second = await startAudit(t, {}, first.state)
    assert.equal((await second.audit.stats()).losses.length, 1)
  })

  it('is missed by a state of an older version as well, where it was known by its key only', async (t) => {
    const first = await startAudit(t)
    await tell(first, 3)
    const heads = first.store.collection({ name: 'audit.head' })
    await first.audit.close()
    const known = (await heads.get('log')) as unknown as { key: string; seq: number; hash: string }
    await heads.delete('log')
    await heads.put({ id: known.key, seq: known.seq, hash: known.hash } as { id: string })
    await first.store.close()
    const same = await startAudit(t, {}, first.state)
    assert.deepEqual((await same.audit.verify()).faults, [])
    assert.deepEqual(
      (await same.store.collection({ name: 'audit.head' }).find()).map(({ id }) => id),
      ['log'],
    )
    await closed(same)
    await rm(first.folder, { recursive: true })
    const second = await startAudit(t, {}, first.state)
    assert.equal((await second.audit.stats()).losses.length, 1)
  })
})

describe('the key of the audit log', () => {
  it('changes when the old one signs for the new one, and the whole log is checked with both', async (t) => {
    const opened = await startAudit(t)
    await tell(opened, 3)
    const { from, to } = await opened.audit.changeKey()
    assert.notEqual(from, to)
    await tell(opened, 3)
    const again = await opened.reopen()
    await tell(again, 1)
    const { ok, faults, signed, last } = await again.audit.verify()
    assert.ok(ok, faults.join('\n'))
    assert.ok(signed > 4 && last > signed - 1)
    assert.deepEqual((await again.audit.stats()).losses, [])
    const keys = (await linesOf(again.folder)).filter(({ type }) => type === 'audit.checkpoint')
    assert.deepEqual(new Set(keys.map(({ data }) => data?.['key'])), new Set([to]))
  })

  it('that changed half-way is the old one, or the new one where the log tells of it', async (t) => {
    for (const told of [false, true]) {
      const opened = await startAudit(t)
      await tell(opened, 3)
      await opened.audit.close()
      const before = join(opened.state, 'before')
      await cp(opened.folder, before, { recursive: true })
      await opened.store.close()
      const other = await startAudit(t, {}, opened.state)
      await other.audit.changeKey()
      await closed(other)
      // As a crash leaves it: the pair is the old one still, and the next lies beside it.
      const next = await readFile(join(opened.folder, 'key.pem'))
      for (const name of ['key.pem', 'key.pub.pem']) await cp(join(before, name), join(opened.folder, name))
      await writeFile(join(opened.folder, 'key.next.pem'), next)
      if (!told) {
        await rm(opened.folder, { recursive: true })
        await cp(before, opened.folder, { recursive: true })
        await writeFile(join(opened.folder, 'key.next.pem'), next)
      }
      const again = await startAudit(t, {}, opened.state)
      const losses = (await again.audit.stats()).losses.length
      assert.equal(losses, told ? 0 : 1, 'without the line, the log that was put back is an older one')
      if (told) assert.deepEqual((await again.audit.verify()).faults, [])
    }
  })

  it('of somebody else is refused, even where it signs everything anew', async (t) => {
    const opened = await startAudit(t)
    await tell(opened, 3)
    await closed(opened)
    const forged = await startAudit(t)
    await tell(forged, 9)
    await closed(forged)
    await rm(opened.folder, { recursive: true })
    await cp(forged.folder, opened.folder, { recursive: true })
    assert.equal((await verifyAudit(opened.folder)).ok, true, 'by itself it cannot know')
    const again = await startAudit(t, {}, opened.state)
    assert.match((await again.audit.verify()).faults.join('\n'), /it was signed with key/)
  })
})

describe('verifying the audit log with anchors', () => {
  it('finds what was changed since a checkpoint or a head was sent away', async (t) => {
    const opened = await startAudit(t)
    await tell(opened, 3)
    await closed(opened)
    const anchor = join(opened.state, 'received')
    const checkpoint = (await linesOf(opened.folder)).find(({ type }) => type === 'audit.checkpoint')
    await writeFile(
      anchor,
      `noise\n<110>1 2026 host assistant-core - - - ${JSON.stringify(checkpoint)}\n{"a":1}\n`,
    )
    const anchors = await readAnchors(anchor)
    assert.deepEqual(
      anchors.map(({ seq }) => seq),
      [3],
    )
    assert.deepEqual((await verifyAudit(opened.folder, { anchors })).faults, [])

    const other = await startAudit(t)
    await tell(other, 9)
    await closed(other)
    const { faults } = await verifyAudit(other.folder, { anchors })
    assert.match(faults.join('\n'), /:3: this is not the line that was signed/)
    const short = await startAudit(t)
    await tell(short, 1)
    await closed(short)
    const head = await readAnchors(join(other.folder, 'head.json'))
    assert.match(
      (await verifyAudit(short.folder, { anchors: head })).faults.join('\n'),
      /the log ends at line 2, but line 10 had been signed/,
    )
  })
})
