import { describe, it, type TestContext } from 'node:test'
import assert from 'node:assert/strict'
import {
  appendFile,
  chmod,
  copyFile,
  cp,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  truncate,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import type { EmbeddedStore } from '#state/embedded/store.ts'
import type { Stored } from '#state/store.ts'
import { verifyStore } from '#state/verify.ts'
import { isApp } from './contract.ts'
import { during, openStore, temporaryFolder, testLog } from './state-folder.ts'

interface Pair extends Stored {
  readonly value: string
}

const spec = { name: 'test.pair', indexes: ['value'] } as const

/** What follows hits a write that was never acknowledged: nothing says that it had been there. */
async function unacknowledged(folder: string): Promise<string> {
  await rm(join(folder, 'journal.head'), { force: true })
  return folder
}

/** A closed state with so many transactions, each of two documents. */
async function written(t: TestContext, transactions: number): Promise<string> {
  const folder = await temporaryFolder(t)
  const store = await openStore(t, folder)
  for (let index = 0; index < transactions; index++) await writePair(store, index)
  await store.close()
  return folder
}

async function writePair(store: EmbeddedStore, index: number): Promise<void> {
  await store.transaction(async (transaction) => {
    await transaction.in(store.collection<Pair>(spec)).put({ id: `l${index}`, value: `ä🦊${index}` })
    await transaction.in(store.collection<Pair>(spec)).put({ id: `r${index}`, value: 'x' })
  })
}

async function journalOf(folder: string): Promise<string> {
  return join(
    folder,
    (await readdir(folder))
      .filter((name) => name.startsWith('journal-'))
      .sort()
      .at(-1)!,
  )
}

async function idsOf(store: EmbeddedStore): Promise<string[]> {
  return (await store.collection<Pair>(spec).find()).map(({ id }) => id)
}

describe('a journal whose end was torn', () => {
  it('is cut back to the last whole transaction, wherever the last line was cut', async (t) => {
    const folder = await unacknowledged(await written(t, 2))
    const journal = await journalOf(folder)
    const whole = await readFile(journal)
    const lastLine = whole.lastIndexOf(0x0a, whole.length - 2) + 1
    assert.ok(whole.length - lastLine > 50)
    for (let length = lastLine; length < whole.length; length++) {
      await writeFile(journal, whole.subarray(0, length))
      const log = testLog()
      const store = await openStore(t, folder, { log })
      assert.deepEqual(await idsOf(store), ['l0', 'r0'], `cut at ${length - lastLine}`)
      assert.equal(
        log.lines.some(({ level }) => level === 'warn'),
        length > lastLine,
      )
      await store.close()
      assert.equal((await stat(journal)).size, lastLine)
    }
  })

  it('is cut back wherever a byte of the last line was not what was written', async (t) => {
    const folder = await unacknowledged(await written(t, 2))
    const journal = await journalOf(folder)
    const whole = await readFile(journal)
    const lastLine = whole.lastIndexOf(0x0a, whole.length - 2) + 1
    for (let at = lastLine; at < whole.length; at++) {
      const damaged = Buffer.from(whole)
      damaged[at] = damaged[at]! ^ 0x01
      await writeFile(journal, damaged)
      const store = await openStore(t, folder)
      // The mark of a batch alone says nothing about the transaction behind it.
      const expected = at === lastLine && damaged[at] === 0x2d ? ['l0', 'l1', 'r0', 'r1'] : ['l0', 'r0']
      assert.deepEqual(await idsOf(store), expected, `byte ${at - lastLine}`)
      await store.close()
    }
  })

  it('loses a whole batch that never ended, but nothing before it', async (t) => {
    const folder = await written(t, 1)
    const store = await openStore(t, folder)
    await Promise.all([1, 2, 3].map((index) => writePair(store, index)))
    await store.close()
    await unacknowledged(folder)
    const journal = await journalOf(folder)
    const lines = (await readFile(journal, 'utf8')).split('\n')
    // The three were written together: only the first line of them says that all before is on disk.
    const batch = lines.findLastIndex((line) => line.startsWith('*'))
    assert.ok(lines.length - batch > 3, lines.map((line) => line[0]).join(''))
    lines[batch] = lines[batch]!.replace('ä', 'o')
    await writeFile(journal, lines.join('\n'))
    const again = await openStore(t, folder)
    assert.deepEqual((await idsOf(again)).slice(0, 1), ['l0'])
    assert.ok(!(await idsOf(again)).includes('l3'))
  })

  it('goes on behind what is left, as if the torn transaction had never been', async (t) => {
    const folder = await unacknowledged(await written(t, 2))
    const journal = await journalOf(folder)
    await truncate(journal, (await stat(journal)).size - 7)
    const store = await openStore(t, folder)
    await writePair(store, 5)
    await store.close()
    assert.deepEqual(await idsOf(await openStore(t, folder)), ['l0', 'l5', 'r0', 'r5'])
  })

  it('may be torn in its very first line, as by a crash while it was made', async (t) => {
    const folder = await written(t, 1)
    const store = await openStore(t, folder)
    await store.compact()
    await store.close()
    const journal = await journalOf(folder)
    const header = await readFile(journal)
    for (const length of [0, 1, 20, header.length - 1]) {
      await writeFile(journal, header.subarray(0, length))
      const again = await openStore(t, folder)
      assert.deepEqual(await idsOf(again), ['l0', 'r0'])
      await again.close()
    }
  })
})

describe('a journal whose acknowledged end was cut away', () => {
  const missing = (from: number, to: number): RegExp =>
    new RegExp(
      `journal-0000000\\d\\.jsonl: transactions? ${from === to ? to : `${from} to ${to}`} had been acknowledged and cannot be read any more`,
    )

  it('is told exactly and refused, wherever it was cut, and left as it is', async (t) => {
    const folder = await written(t, 8)
    const journal = await journalOf(folder)
    const whole = await readFile(journal)
    const ends: number[] = []
    for (let at = whole.indexOf(0x0a); at >= 0; at = whole.indexOf(0x0a, at + 1)) ends.push(at + 1)
    // The first line is the segment's header; each other one is a transaction.
    for (let kept = 0; kept < 8; kept++)
      for (const length of [ends[kept]!, ends[kept]! + 9, ends[kept + 1]! - 1]) {
        await writeFile(journal, whole.subarray(0, length))
        const before = await contents(folder)
        await assert.rejects(openStore(t, folder), (error: Error) => {
          assert.match(error.message, missing(kept + 1, 8))
          return isApp('invalid')(error)
        })
        const { ok, faults } = await verifyStore(folder)
        assert.ok(!ok)
        assert.match(faults.join(), missing(kept + 1, 8))
        assert.deepEqual(await contents(folder), before)
      }
    await writeFile(journal, whole)
    assert.equal((await idsOf(await openStore(t, folder))).length, 16)
  })

  it('is told when the whole last segment is gone, and opens without it when the head is removed', async (t) => {
    const folder = await written(t, 2)
    const before = await temporaryFolder(t)
    await cp(folder, before, { recursive: true })
    const store = await openStore(t, folder)
    await store.compact()
    await writePair(store, 7)
    await store.close()
    // As when the snapshot had not been made: the first segment is there, the second is gone.
    await copyFile(join(folder, 'journal.head'), join(before, 'journal.head'))
    await assert.rejects(openStore(t, before), missing(3, 3))
    await unacknowledged(before)
    assert.equal((await idsOf(await openStore(t, before))).length, 4)
  })

  it('is not believed of another state, nor of what is no line', async (t) => {
    const [many, few] = [await written(t, 5), await written(t, 1)]
    await copyFile(join(many, 'journal.head'), join(few, 'journal.head'))
    assert.equal((await idsOf(await openStore(t, few))).length, 2)
    for (const text of ['', 'nonsense', '*00000000 {"of":"x","n":"9"}\n']) {
      const folder = await written(t, 1)
      await writeFile(join(folder, 'journal.head'), text)
      const store = await openStore(t, folder)
      await writePair(store, 1)
      await store.close()
      assert.equal((await idsOf(await openStore(t, folder))).length, 4)
    }
  })

  it('goes on from a journal of before, which had no name', async (t) => {
    const folder = await unacknowledged(await written(t, 2))
    const journal = await journalOf(folder)
    const [, ...lines] = (await readFile(journal, 'utf8')).split('\n')
    const header = '{"journal":"assistant-core","format":1,"segment":1}'
    const sum = crc32(header).toString(16).padStart(8, '0')
    await writeFile(journal, [`*${sum} ${header}`, ...lines].join('\n'))
    const store = await openStore(t, folder)
    await writePair(store, 2)
    assert.ok(!(await readdir(folder)).includes('journal.head'))
    await store.compact()
    await writePair(store, 3)
    await store.close()
    await truncate(await journalOf(folder), (await stat(await journalOf(folder))).size - 5)
    await assert.rejects(openStore(t, folder), missing(4, 4))
  })
})

describe('a damaged state', () => {
  const cases: [name: string, damage: (folder: string) => Promise<void>, fault: RegExp][] = [
    [
      'a changed byte in the middle of the journal',
      async (folder) => {
        const journal = await journalOf(folder)
        const bytes = await readFile(journal)
        const second = bytes.indexOf(0x0a) + 40
        bytes[second] = bytes[second]! ^ 0x04
        await writeFile(journal, bytes)
      },
      /journal-00000001\.jsonl:2: the checksum does not match/,
    ],
    [
      'a line that is missing in the middle of the journal',
      async (folder) => {
        const journal = await journalOf(folder)
        const lines = (await readFile(journal, 'utf8')).split('\n')
        lines.splice(2, 1)
        await writeFile(journal, lines.join('\n'))
      },
      /journal-00000001\.jsonl:3: transaction 2 should stand here, not 3/,
    ],
    [
      'two lines that changed places',
      async (folder) => {
        const journal = await journalOf(folder)
        const lines = (await readFile(journal, 'utf8')).split('\n')
        ;[lines[1], lines[2]] = [lines[2]!, lines[1]!]
        await writeFile(journal, lines.join('\n'))
      },
      /journal-00000001\.jsonl:2: transaction 1 should stand here, not 2/,
    ],
    [
      'a changed byte in the snapshot',
      async (folder) => {
        const bytes = await readFile(join(folder, 'snapshot.jsonl'))
        bytes[bytes.length - 5] = bytes[bytes.length - 5]! ^ 0x01
        await writeFile(join(folder, 'snapshot.jsonl'), bytes)
      },
      /snapshot\.jsonl:2: /,
    ],
    [
      'a snapshot that was cut',
      async (folder) => {
        const path = join(folder, 'snapshot.jsonl')
        await truncate(path, (await readFile(path)).indexOf(0x0a) + 1)
      },
      /snapshot\.jsonl:1: the end is missing/,
    ],
    [
      'a missing snapshot',
      async (folder) => rm(join(folder, 'snapshot.jsonl')),
      /snapshot\.jsonl:1: the file is missing/,
    ],
    [
      'a missing journal',
      async (folder) => rm(join(folder, 'journal-00000001.jsonl')),
      /journal-00000001\.jsonl:1: the file is missing/,
    ],
    [
      'a journal under another name',
      async (folder) => {
        await copyFile(join(folder, 'journal-00000001.jsonl'), join(folder, 'journal-00000002.jsonl'))
      },
      /journal-00000002\.jsonl:1: this is segment 1 under another name/,
    ],
    [
      'something else in the place of the snapshot',
      async (folder) => writeFile(join(folder, 'snapshot.jsonl'), '{"users":[]}\n'),
      /snapshot\.jsonl:1: this is not a line of the state/,
    ],
  ]
  for (const [name, damage, fault] of cases) {
    it(`is refused for ${name}, naming file and line, and stays as it is`, async (t) => {
      const folder = await written(t, 4)
      await damage(folder)
      const before = await contents(folder)
      await assert.rejects(
        openStore(t, folder),
        (error) => isApp('invalid')(error) && fault.test(String(error)),
      )
      const { ok, faults } = await verifyStore(folder)
      assert.equal(ok, false)
      assert.match(faults.join('\n'), fault)
      assert.deepEqual(await contents(folder), before)
    })
  }

  it('is refused when a newer version wrote it', async (t) => {
    const folder = await written(t, 1)
    const path = join(folder, 'snapshot.jsonl')
    const { crc32 } = await import('node:zlib')
    const [header, ...rest] = (await readFile(path, 'utf8')).split('\n')
    const json = header!.slice(10).replace('"format":1', '"format":2')
    await writeFile(path, [`*${crc32(json).toString(16).padStart(8, '0')} ${json}`, ...rest].join('\n'))
    await assert.rejects(
      openStore(t, folder),
      /snapshot\.jsonl has format 2, but this version of assistant-core knows formats up to 1/,
    )
  })
})

describe('compaction', () => {
  it('leaves one snapshot and one journal, and loses nothing that is written meanwhile', async (t) => {
    const folder = await temporaryFolder(t)
    const store = await openStore(t, folder)
    let count = 0
    const writer = async (stop: AbortSignal): Promise<void> => {
      while (!stop.aborted) await Promise.all([0, 1, 2].map(() => writePair(store, count++)))
    }
    await during(writer, async () => {
      for (let round = 0; round < 20; round++) await store.compact()
    })
    await store.compact()
    assert.ok(count > 20)
    const expected = await idsOf(store)
    assert.equal(expected.length, count * 2)
    await store.close()
    assert.deepEqual((await readdir(folder)).map((name) => name.replace(/\d+/, 'N')).sort(), [
      'journal-N.jsonl',
      'journal.head',
      'snapshot.jsonl',
    ])
    assert.deepEqual(await idsOf(await openStore(t, folder)), expected)
  })

  it('happens by itself when the journal has outgrown the snapshot', async (t) => {
    const folder = await temporaryFolder(t)
    const store = await openStore(t, folder, { compactBytes: 5_000 })
    for (let index = 0; index < 100; index++) await writePair(store, index % 5)
    await store.compact()
    assert.ok(!(await readdir(folder)).includes('journal-00000001.jsonl'))
    assert.equal((await idsOf(store)).length, 10)
  })

  it('cut off at any step leaves a state that opens whole', async (t) => {
    const folder = await written(t, 3)
    const before = join(folder, '..', `${folder.split('/').at(-1)}-before`)
    t.after(() => rm(before, { recursive: true, force: true }))
    await cp(folder, before, { recursive: true })
    const store = await openStore(t, folder)
    await store.compact()
    await store.close()
    const steps: [name: string, files: (mixed: string) => Promise<void>][] = [
      [
        'the new segment is there',
        async (mixed) =>
          copyFile(join(folder, 'journal-00000002.jsonl'), join(mixed, 'journal-00000002.jsonl')),
      ],
      ['half a snapshot is there', async (mixed) => writeFile(join(mixed, 'snapshot.jsonl.new'), 'half')],
      [
        'the snapshot has its name, the old segment is there',
        async (mixed) => copyFile(join(folder, 'snapshot.jsonl'), join(mixed, 'snapshot.jsonl')),
      ],
    ]
    const mixed = await temporaryFolder(t)
    await cp(before, mixed, { recursive: true })
    for (const [name, step] of steps) {
      await step(mixed)
      const copy = await temporaryFolder(t)
      await cp(mixed, copy, { recursive: true })
      const opened = await openStore(t, copy)
      assert.equal((await idsOf(opened)).length, 6, name)
      await writePair(opened, 9)
      await opened.close()
      assert.equal((await idsOf(await openStore(t, copy))).length, 8, name)
      assert.ok(!(await readdir(copy)).includes('snapshot.jsonl.new'))
    }
  })
})

describe('the files of the state', () => {
  it('belong to their owner alone', async (t) => {
    const folder = await written(t, 1)
    assert.equal((await stat(folder)).mode & 0o777, 0o700)
    for (const name of await readdir(folder))
      assert.equal((await stat(join(folder, name))).mode & 0o777, 0o600, name)
  })

  it('are tightened with a warning when others could read them', async (t) => {
    const folder = await written(t, 1)
    await chmod(folder, 0o755)
    await chmod(join(folder, 'snapshot.jsonl'), 0o644)
    const log = testLog()
    await openStore(t, folder, { log })
    assert.deepEqual(
      log.lines
        .filter(({ level }) => level === 'warn')
        .map(({ fields }) => [fields?.['was'], fields?.['now']]),
      [
        ['755', '700'],
        ['644', '600'],
      ],
    )
    assert.equal((await stat(join(folder, 'snapshot.jsonl'))).mode & 0o777, 0o600)
  })

  it('are refused when everybody could have changed them', async (t) => {
    const folder = await written(t, 1)
    await chmod(folder, 0o777)
    await assert.rejects(openStore(t, folder), isApp('invalid'))
    assert.equal((await stat(folder)).mode & 0o777, 0o777)
  })

  it('are made anew when a crash came before the first of them was whole', async (t) => {
    const folder = await written(t, 0)
    const fresh = join(await temporaryFolder(t), 'state')
    await mkdir(fresh)
    await rename(join(folder, 'journal-00000001.jsonl'), join(fresh, 'journal-00000001.jsonl'))
    const store = await openStore(t, fresh)
    await writePair(store, 1)
    await store.close()
    await appendFile(join(fresh, 'journal-00000001.jsonl'), '')
    assert.equal((await idsOf(await openStore(t, fresh))).length, 2)
  })
})

async function contents(folder: string): Promise<Record<string, string>> {
  const names = (await readdir(folder)).sort()
  return Object.fromEntries(
    await Promise.all(
      names.map(async (name) => [name, await readFile(join(folder, name), 'base64')] as const),
    ),
  )
}
