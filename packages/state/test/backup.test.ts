import { not } from '#state/questions/conditions.ts'
import { chmod, lstat, readdir, readFile, rename, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import { describe, it, type TestContext } from 'node:test'
import assert from 'node:assert/strict'
import { crc32 } from 'node:zlib'
import { restoreFrom, writeBackup } from '#state/backup.ts'
import type { EmbeddedStore } from '#state/embedded/store.ts'
import type { Stored } from '#state/store.ts'
import { type Verification, verifyBackup, verifyStore } from '#state/verify.ts'
import { isApp } from './contract.ts'
import { during, openStore, smallDisk, temporaryFolder, testLog } from './state-folder.ts'

interface Account extends Stored {
  readonly amount: number
  readonly note?: string
}

const spec = { name: 'test.account' } as const

async function filled(t: TestContext, count: number): Promise<{ folder: string; store: EmbeddedStore }> {
  const folder = join(await temporaryFolder(t), 'state')
  const store = await openStore(t, folder)
  await store.transaction(async (transaction) => {
    for (let index = 0; index < count; index++) {
      await transaction.in(store.collection<Account>(spec)).put({ id: `a${index}`, amount: 100 })
    }
  })
  return { folder, store }
}

async function sumOf(store: EmbeddedStore): Promise<number> {
  return (await store.collection<Account>(spec).find()).reduce((sum, { amount }) => sum + amount, 0)
}

describe('a backup', () => {
  it('of a store that is being written shows one moment, between two transactions', async (t) => {
    const { folder, store } = await filled(t, 3000)
    const accounts = store.collection<Account>(spec)
    let moves = 0
    const mover = async (stop: AbortSignal): Promise<void> => {
      while (!stop.aborted) {
        moves++
        await store.transaction(async (transaction) => {
          const here = transaction.in(accounts)
          // Between documents far apart, new ones and removed ones: a careless picture would count some twice.
          const from = `a${(moves * 7919) % 3000}`
          const gone = await here.get(from)
          await here.delete(from)
          await here.put({ id: `${moves % 2 ? '0' : 'z'}${from}`, amount: gone?.amount ?? 0 })
          const back = (await here.first({
            holds: not({ call: 'starts_with', of: [{ field: 'id' }, { value: 'a' }] }),
          }))!
          await here.delete(back.id)
          await here.put({ ...back, id: back.id.slice(1) })
        })
      }
    }
    const file = join(folder, '..', 'backup')
    await during(mover, async () => {
      for (let round = 0; round < 5; round++) {
        const { documents, ok } = await backupOf(store, `${file}${round}`)
        assert.ok(ok)
        assert.deepEqual(documents, { 'test.account': 3000 })
      }
    })
    assert.ok(moves > 5, `${moves} moves`)
    for (let round = 0; round < 5; round++) {
      const other = join(folder, '..', `restored${round}`)
      await restoreFrom(`${file}${round}`, other, testLog())
      const restored = await openStore(t, other)
      assert.equal(await sumOf(restored), 300_000)
      await restored.close()
    }
  })

  it('restored is the same state, and can be written, compacted and opened again', async (t) => {
    const { folder, store } = await filled(t, 10)
    await store.collection<Account>(spec).put({ id: 'text', amount: 1, note: 'a\u2028b\nc ä 🦊 \ud800' })
    const file = join(folder, '..', 'backup')
    const made = await backupOf(store, file)
    assert.equal((await stat(file)).mode & 0o777, 0o600)
    const other = join(folder, '..', 'other')
    const restored = await restoreFrom(file, other, testLog())
    assert.deepEqual(restored.documents, made.documents)
    const again = await openStore(t, other)
    assert.deepEqual(
      await again.collection<Account>(spec).find(),
      await store.collection<Account>(spec).find(),
    )
    await again.collection<Account>(spec).put({ id: 'new', amount: 5 })
    await again.compact()
    await again.close()
    assert.equal(await (await openStore(t, other)).collection(spec).count(), 12)
  })

  it('whose restore was cut off leaves a folder that is refused, not an empty state', async (t) => {
    const { folder, store } = await filled(t, 10)
    const file = join(folder, '..', 'backup')
    await backupOf(store, file)
    const other = join(folder, '..', 'other')
    await restoreFrom(file, other, testLog())
    // As a crash leaves it right before the end.
    await rename(join(other, 'snapshot.jsonl'), join(other, 'restore.unfinished'))
    const names = await readdir(other)
    await assert.rejects(openStore(t, other), /a restore was not finished/)
    assert.equal((await verifyStore(other)).ok, false)
    assert.deepEqual(await readdir(other), names)
  })

  it('that does not fit on the disk is not half restored', async (t) => {
    const disk = await smallDisk(t, 100_000)
    if ('reason' in disk) return t.skip(disk.reason)
    const { folder, store } = await filled(t, 3000)
    const file = join(folder, '..', 'backup')
    await backupOf(store, file)
    const other = join(disk.folder, 'other')
    await assert.rejects(restoreFrom(file, other, testLog()), /ENOSPC/)
    assert.deepEqual(await readdir(other), [])
  })

  it('goes to a stream as it goes to a file', async (t) => {
    const { folder, store } = await filled(t, 5)
    const chunks: Buffer[] = []
    const stream = new Writable({
      write(chunk: Buffer, _encoding, done) {
        chunks.push(chunk)
        done()
      },
    })
    await store.streamTo(stream)
    const file = join(folder, '..', 'streamed')
    await writeFile(file, Buffer.concat(chunks))
    assert.deepEqual((await verifyBackup(file)).documents, { 'test.account': 5 })
  })

  it('is readable by nobody else, whatever lay where it is written first', async (t) => {
    const { store } = await filled(t, 10)
    const aside = await temporaryFolder(t)
    const [precious, open, linked] = ['precious', 'open.backup', 'linked.backup'].map((name) =>
      join(aside, name),
    )
    await writeFile(precious!, 'precious')
    await writeFile(`${open!}.unfinished`, '', { mode: 0o666 })
    await chmod(`${open!}.unfinished`, 0o666)
    await symlink(precious!, `${linked!}.unfinished`)
    for (const path of [open!, linked!]) {
      await backupOf(store, path)
      const facts = await lstat(path)
      assert.deepEqual([facts.isFile(), facts.mode & 0o777], [true, 0o600])
    }
    assert.equal(await readFile(precious!, 'utf8'), 'precious')
  })

  it('replaces no file that is there', async (t) => {
    const { folder, store } = await filled(t, 1)
    const file = join(folder, '..', 'backup')
    await writeFile(file, 'mine')
    await assert.rejects(backupOf(store, file), isApp('conflict'))
    assert.equal(await readFile(file, 'utf8'), 'mine')
    assert.deepEqual((await readdir(join(folder, '..'))).sort(), ['backup', 'state'])
  })

  it('that is damaged is refused wherever a byte was changed, and nothing is made of it', async (t) => {
    const { folder, store } = await filled(t, 2)
    const file = join(folder, '..', 'backup')
    await backupOf(store, file)
    const bytes = await readFile(file)
    const other = join(folder, '..', 'other')
    for (let at = 0; at < bytes.length; at++) {
      const damaged = Buffer.from(bytes)
      damaged[at] = damaged[at]! ^ 0x10
      await writeFile(file, damaged)
      await assert.rejects(restoreFrom(file, other, testLog()), isApp('invalid'), `byte ${at}`)
    }
    for (const length of [0, 1, bytes.length - 1, bytes.length - 40]) {
      await writeFile(file, bytes.subarray(0, length))
      await assert.rejects(restoreFrom(file, other, testLog()), isApp('invalid'), `cut at ${length}`)
    }
    assert.ok(!(await readdir(join(folder, '..'))).includes('other'))
  })

  it('of a newer version is refused', async (t) => {
    const { folder, store } = await filled(t, 1)
    const file = join(folder, '..', 'backup')
    await backupOf(store, file)
    const [header, ...rest] = (await readFile(file, 'utf8')).split('\n')
    const json = header!.slice(10).replace('"format":1', '"format":7')
    await writeFile(file, [`*${crc32(json).toString(16).padStart(8, '0')} ${json}`, ...rest].join('\n'))
    await assert.rejects(restoreFrom(file, join(folder, '..', 'other'), testLog()), /format 7.*up to 1/)
  })

  it('of documents that only a newer version knows is refused', async (t) => {
    const { folder, store } = await filled(t, 1)
    await store.close()
    const steps = Array.from({ length: 99 }, (_, index) => ({
      to: index + 1,
      title: 'x',
      run: () => undefined,
    }))
    const newer = await openStore(t, folder, { migrations: steps })
    const file = join(folder, '..', 'backup')
    await backupOf(newer, file)
    const other = join(folder, '..', 'other')
    await assert.rejects(restoreFrom(file, other, testLog()), /schema version 99/)
    assert.ok(!(await readdir(join(folder, '..'))).includes('other'))
  })

  it('is not restored over a state, nor beside anything else', async (t) => {
    const { folder, store } = await filled(t, 1)
    const file = join(folder, '..', 'backup')
    await backupOf(store, file)
    await store.close()
    const before = await readFile(join(folder, 'snapshot.jsonl'))
    await assert.rejects(restoreFrom(file, folder, testLog()), isApp('conflict'))
    assert.deepEqual(await readFile(join(folder, 'snapshot.jsonl')), before)
  })
})

describe('verifying a store', () => {
  it('counts what is there, also while it is being written', async (t) => {
    const { folder, store } = await filled(t, 100)
    const writer = async (stop: AbortSignal): Promise<void> => {
      for (let index = 0; !stop.aborted; index++) {
        await store.collection<Account>(spec).put({ id: `a${index % 100}`, amount: index })
        if (index % 50 === 0) await store.compact()
      }
    }
    await during(writer, async () => {
      for (let round = 0; round < 20; round++) {
        const { ok, faults, documents } = await verifyStore(folder)
        assert.deepEqual(faults, [])
        assert.ok(ok)
        assert.deepEqual(documents, { 'test.account': 100 })
      }
    })
  })

  it('says so when there is nothing', async (t) => {
    await assert.rejects(verifyStore(await temporaryFolder(t)), isApp('not_found'))
  })
})

/** As the command line makes one: the store tells its state, and whoever asked writes the file. */
async function backupOf(store: EmbeddedStore, path: string): Promise<Verification> {
  const text = new PassThrough({ encoding: 'utf8' })
  store.streamTo(text).catch((error: Error) => text.destroy(error))
  return await writeBackup(text, path)
}
