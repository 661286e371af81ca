import { appendFile, copyFile, readFile, rename, rm, truncate, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import assert from 'node:assert/strict'
import { gunzipSync, gzipSync } from 'node:zlib'
import { lineHash } from '#audit/line.ts'
import { listLogFiles } from '#audit/files/log-files.ts'
import { verifyAudit } from '#audit/verifying/verify.ts'
import { during } from '../../state/test/state-folder.ts'
import { linesOf, type OpenedAudit, startAudit } from './audit-folder.ts'

/** A closed log of two files, the older one compressed. */
async function written(t: TestContext): Promise<OpenedAudit> {
  const opened = await startAudit(t)
  const tell = async (from: number): Promise<void> => {
    for (let index = from; index < from + 5; index++) {
      void opened.audit.record({
        type: 'tool.call',
        status: 'ok',
        user: 'ann@example.com',
        target: `t${index}`,
      })
    }
    await opened.audit.settled()
  }
  await tell(0)
  opened.clock.advance(86_400_000)
  await tell(5)
  await opened.audit.tidy()
  await opened.audit.close()
  await opened.store.close()
  return opened
}

async function lastFile(folder: string): Promise<string> {
  return (await listLogFiles(folder)).at(-1)!.path
}

async function editLines(path: string, edit: (lines: string[]) => string[]): Promise<void> {
  const lines = (await readFile(path, 'utf8')).trimEnd().split('\n')
  await writeFile(path, `${edit(lines).join('\n')}\n`)
}

/** Chains lines anew, as somebody would who has no key. */
function rechain(lines: string[]): string[] {
  let prev: string | undefined
  return lines.map((line) => {
    const next = prev === undefined ? line : JSON.stringify({ ...(JSON.parse(line) as object), prev })
    prev = lineHash(next)
    return next
  })
}

describe('verifying the audit log', () => {
  it('finds nothing in a log that nobody touched, and says what is signed', async (t) => {
    const { folder } = await written(t)
    const files = await listLogFiles(folder)
    assert.deepEqual(
      files.map(({ compressed }) => compressed),
      [true, false],
    )
    const found = await verifyAudit(folder)
    assert.deepEqual(found.faults, [])
    // Ten events, and a checkpoint at the end of each file.
    assert.deepEqual(
      { lines: found.lines, first: found.first, last: found.last, signed: found.signed },
      { lines: 12, first: 1, last: 12, signed: 12 },
    )
    assert.deepEqual(
      (await linesOf(folder)).filter(({ type }) => type === 'audit.checkpoint').map(({ seq }) => seq),
      [6, 12],
    )
  })

  it('finds every changed byte, and names its line', async (t) => {
    const { folder } = await written(t)
    const path = await lastFile(folder)
    const name = path.split('/').at(-1)!
    const whole = await readFile(path)
    let line = 1
    for (let at = 0; at < whole.length; at++) {
      // Each third byte, and every end of a line: the test should not take all day.
      const isEnd = whole[at] === 0x0a
      if (at % 3 === 0 || isEnd) {
        const damaged = Buffer.from(whole)
        damaged[at] = damaged[at]! ^ 0x01
        await writeFile(path, damaged)
        const { ok, faults } = await verifyAudit(folder)
        assert.ok(!ok, `byte ${at}`)
        assert.ok(
          faults[0]!.startsWith(`${name}:${line}: `),
          `byte ${at} of line ${line}: ${faults.join('\n')}`,
        )
      }
      if (isEnd) line++
    }
    assert.equal(line, 7)
  })

  const cases: [name: string, harm: (folder: string) => Promise<void>, fault: RegExp][] = [
    [
      'a line was removed',
      async (folder) => editLines(await lastFile(folder), (lines) => lines.toSpliced(2, 1)),
      /:3: line 9 is missing/,
    ],
    [
      'two lines changed places',
      async (folder) => editLines(await lastFile(folder), ([a, b, c, ...rest]) => [a!, c!, b!, ...rest]),
      /:2: line 8 is missing/,
    ],
    [
      'a line was put in between',
      async (folder) => editLines(await lastFile(folder), ([a, ...rest]) => [a!, a!, ...rest]),
      /:2: line 8 should stand here, not 7/,
    ],
    [
      'a line was changed and all after it chained anew',
      async (folder) =>
        editLines(await lastFile(folder), (lines) =>
          rechain(lines.map((line) => line.replace('"t6"', '"t0"'))),
        ),
      /:6: (this is not the line that was signed|the signature does not hold: lines 7 to 12 are not as they were)/,
    ],
    [
      'lines were cut off the end',
      async (folder) => editLines(await lastFile(folder), (lines) => lines.slice(0, 3)),
      /:4: the log ends at line 9, but line 12 had been signed/,
    ],
    [
      'the last file was emptied',
      async (folder) => truncate(await lastFile(folder), 0),
      /the log ends at line 6, but line 12 had been signed/,
    ],
    [
      'the last file was removed',
      async (folder) => unlink(await lastFile(folder)),
      /the log ends at line 6, but line 12/,
    ],
    [
      'the first file was removed',
      async (folder) => unlink((await listLogFiles(folder))[0]!.path),
      /:1: lines 1 to 6 are missing/,
    ],
    [
      'the files have each other’s content',
      async (folder) => {
        const [first, second] = await listLogFiles(folder)
        const text = gunzipSync(await readFile(first!.path))
        await writeFile(first!.path, gzipSync(await readFile(second!.path)))
        await writeFile(second!.path, text)
      },
      /:1: lines 1 to 6 are missing/,
    ],
    [
      'a byte in a compressed file was changed',
      async (folder) => {
        const [first] = await listLogFiles(folder)
        const text = gunzipSync(await readFile(first!.path))
          .toString()
          .replace('"t2"', '"t3"')
        await writeFile(first!.path, gzipSync(text))
      },
      /\.gz:3: this line was changed/,
    ],
    [
      'the head was removed',
      async (folder) => unlink(join(folder, 'head.json')),
      /head\.json: the file is missing/,
    ],
    [
      'the head was changed',
      async (folder) => {
        const head = await readFile(join(folder, 'head.json'), 'utf8')
        await writeFile(join(folder, 'head.json'), head.replace('"seq":12', '"seq":9'))
      },
      /head\.json:1: the signature does not hold/,
    ],
  ]
  for (const [name, harm, fault] of cases) {
    it(`finds that ${name}`, async (t) => {
      const { folder } = await written(t)
      await harm(folder)
      const { ok, faults } = await verifyAudit(folder)
      assert.ok(!ok)
      assert.match(faults[0]!, fault)
    })
  }

  it('finds a log that was cut together with its head, by what the state remembers', async (t) => {
    const opened = await startAudit(t)
    await opened.audit.record({ type: 'a.b', status: 'ok' })
    const second = await opened.reopen()
    const saved = join(second.state, 'saved')
    await copyFile(join(second.folder, 'head.json'), saved)
    const early = await readFile(await lastFile(second.folder))
    await second.audit.record({ type: 'a.c', status: 'ok' })
    await second.audit.close()
    await second.store.close()
    await writeFile(await lastFile(second.folder), early)
    await rename(saved, join(second.folder, 'head.json'))
    assert.deepEqual((await verifyAudit(second.folder)).faults, [])
    const third = await startAudit(t, {}, second.state)
    assert.match((await third.audit.verify()).faults[0]!, /lines were missing here|had been signed/)
    assert.ok(third.log.lines.some(({ message }) => message.includes('missing at the end of the audit log')))
    // What happened stays visible, however much is written afterwards.
    await third.audit.record({ type: 'a.d', status: 'ok' })
    const fourth = await third.reopen()
    assert.match(
      (await fourth.audit.verify()).faults.join('\n'),
      /lines were missing here: 5 had been written, 2 were found/,
    )
  })

  it('finds the signatures of another key', async (t) => {
    const { folder } = await written(t)
    const other = await written(t)
    await copyFile(join(other.folder, 'key.pub.pem'), join(folder, 'key.pub.pem'))
    const { faults } = await verifyAudit(folder)
    assert.match(faults.join('\n'), /head\.json:1: the signature does not hold/)
    assert.match(faults.join('\n'), /:6: this was signed with another key/)
  })

  it('is not troubled by a log that is being written', async (t) => {
    const { audit, folder } = await startAudit(t, { max_file_bytes: 2000 })
    const teller = async (stop: AbortSignal): Promise<void> => {
      while (!stop.aborted) await audit.record({ type: 'tool.call', status: 'ok', target: 'x'.repeat(200) })
    }
    await during(teller, async () => {
      for (let round = 0; round < 10; round++) assert.deepEqual((await verifyAudit(folder)).faults, [])
    })
    await appendFile(await lastFile(folder), '{"seq":')
    const { faults, notes } = await verifyAudit(folder)
    assert.deepEqual(faults, [])
    assert.match(notes.join('\n'), /this line is not finished/)
  })

  it('says that an empty log is whole', async (t) => {
    const { audit, folder } = await startAudit(t)
    assert.deepEqual((await audit.verify()).faults, [])
    await rm(folder, { recursive: true })
    assert.equal((await verifyAudit(folder)).ok, true)
  })
})

describe('verifying on from what was found whole', () => {
  const target = (n: number): { type: string; status: 'ok'; target: string } => ({
    type: 'tool.call',
    status: 'ok',
    target: `t${n}`,
  })

  /** A log of two files, the first of which is compressed; all of it was found whole. */
  async function verified(t: TestContext): Promise<OpenedAudit> {
    const opened = await startAudit(t)
    const { audit, clock } = opened
    for (let n = 0; n < 5; n++) await audit.record(target(n))
    clock.advance(86_400_000)
    for (let n = 5; n < 10; n++) await audit.record(target(n))
    await audit.tidy()
    assert.deepEqual((await audit.verify()).faults, [])
    return opened
  }

  it('reads the lines behind the last signed one, tells so, and gives the same numbers', async (t) => {
    const { audit, clock } = await verified(t)
    const whole = await audit.verifyOn()
    assert.deepEqual([whole.first, whole.from, whole.last, whole.signed], [1, 6, 11, 6])
    for (let n = 10; n < 15; n++) await audit.record(target(n))
    clock.advance(1_000)
    const { before, from, ...on } = await audit.verifyOn()
    assert.equal(from, 6)
    assert.match(before!, /^\d{4}-/)
    const { from: start, before: none, ...all } = await audit.verify()
    assert.deepEqual([start, none], [1, undefined])
    assert.deepEqual(on, all)
  })

  it('finds what was changed behind it, and in front of it from the start', async (t) => {
    const { audit, folder } = await verified(t)
    const [old, path] = (await listLogFiles(folder)).map((file) => file.path) as [string, string]
    const [oldBytes, bytes] = [await readFile(old), await readFile(path)]
    await writeFile(path, bytes.toString().replace('"t7"', '"tx"'))
    const { ok, faults, from } = await audit.verifyOn()
    assert.deepEqual([ok, from], [false, 1], 'all of it is read where something is wrong')
    assert.match(faults.join('\n'), /:3: this line was changed/)
    await writeFile(path, bytes)
    await writeFile(old, gzipSync(gunzipSync(oldBytes).toString().replace('"t2"', '"tx"')))
    assert.equal((await audit.verifyOn()).ok, true)
    const found = await audit.verify()
    assert.match(found.faults.join('\n'), /:3: this line was changed/)
    // And that something was wrong is not forgotten by what is told next.
    await audit.record(target(20))
    await writeFile(old, oldBytes)
    assert.equal((await audit.verify()).ok, true)
  })

  it('believes no other mark than its own key signed, and none whose line is not there', async (t) => {
    const { audit, folder } = await verified(t)
    const path = join(folder, 'verified.json')
    const text = await readFile(path, 'utf8')
    assert.equal((await audit.verifyOn()).from, 6)
    await writeFile(path, text.replace('"seq":6', '"seq":7'))
    assert.deepEqual([(await audit.verifyOn()).from, (await audit.verifyOn()).from], [1, 6])
    const [, last] = await listLogFiles(folder)
    await rm(path)
    assert.equal((await audit.verifyOn()).from, 1)
    // The first lines are gone, and nobody says that they were removed.
    await unlink((await listLogFiles(folder))[0]!.path)
    const { ok, faults } = await audit.verifyOn()
    assert.equal(ok, false)
    assert.match(faults.join('\n'), new RegExp(`${last!.name}:1: lines 1 to 6 are missing`))
  })
})
