import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import assert from 'node:assert/strict'
import { type Migration, planMigrations } from '#state/migrate.ts'
import type { Stored } from '#state/store.ts'
import { verifyBackup } from '#state/verify.ts'
import { isApp } from './contract.ts'
import { openStore, temporaryFolder } from './state-folder.ts'

const steps: readonly Migration[] = [
  {
    to: 1,
    title: 'names get a last name',
    run: (documents) => {
      for (const person of documents.all('test.person')) {
        const { name, ...rest } = person as Stored & { name: string }
        documents.put('test.person', { ...rest, first: name, last: '' } as Stored)
      }
    },
  },
  {
    to: 2,
    title: 'notes move to remarks',
    run: (documents) => {
      for (const note of documents.all('test.note')) {
        documents.put('test.remark', note)
        documents.remove('test.note', note.id)
      }
    },
  },
]

async function oldState(t: TestContext): Promise<string> {
  const folder = await temporaryFolder(t)
  const store = await openStore(t, folder)
  await store.collection<Stored & { name: string }>({ name: 'test.person' }).put({ id: 'a', name: 'Ann' })
  await store.collection({ name: 'test.note' }).put({ id: 'n' })
  await store.collection({ name: 'test.note' }).put({ id: 'm' })
  await store.close()
  return folder
}

describe('migrations', () => {
  it('can be looked at before they are run, and change nothing then', async (t) => {
    const folder = await oldState(t)
    const names = await readdir(folder)
    assert.deepEqual(await planMigrations(folder, steps), {
      from: 0,
      to: 2,
      steps: [
        { to: 1, title: 'names get a last name', written: 1, removed: 0 },
        { to: 2, title: 'notes move to remarks', written: 2, removed: 2 },
      ],
    })
    assert.deepEqual(await readdir(folder), names)
    const store = await openStore(t, folder)
    assert.equal(await store.collection({ name: 'test.note' }).count(), 2)
  })

  it('bring an older state up to date once, and leave a backup of it', async (t) => {
    const folder = await oldState(t)
    const store = await openStore(t, folder, { migrations: steps })
    const people = { name: 'test.person' } as const
    const expected = [{ id: 'a', first: 'Ann', last: '' }]
    assert.deepEqual(await store.collection(people).find(), expected)
    assert.equal(await store.collection({ name: 'test.remark' }).count(), 2)
    assert.equal(await store.collection({ name: 'test.note' }).count(), 0)
    await store.close()
    const backup = await verifyBackup(join(folder, 'before-schema-2.backup'))
    assert.equal(backup.schema, 0)
    assert.deepEqual(backup.documents, { 'test.note': 2, 'test.person': 1 })
    const again = await openStore(t, folder, { migrations: steps })
    assert.deepEqual(await again.collection(people).find(), expected)
  })

  it('are not run on a state that is made new', async (t) => {
    const folder = await temporaryFolder(t)
    const never = steps.map((step) => ({ ...step, run: () => assert.fail('run') }))
    await (await openStore(t, folder, { migrations: never })).close()
    await openStore(t, folder, { migrations: never })
  })

  it('that fail leave the state as it was', async (t) => {
    const folder = await oldState(t)
    const failing: Migration = {
      to: 3,
      title: 'fails',
      run: () => {
        throw new Error('cannot')
      },
    }
    await assert.rejects(openStore(t, folder, { migrations: [...steps, failing] }), /cannot/)
    const store = await openStore(t, folder)
    assert.equal(await store.collection({ name: 'test.note' }).count(), 2)
  })

  it('refuse a state that a newer version has migrated', async (t) => {
    const folder = await oldState(t)
    await (await openStore(t, folder, { migrations: steps })).close()
    await assert.rejects(
      openStore(t, folder, { migrations: steps.slice(0, 1) }),
      (error) => isApp('invalid')(error) && /schema version 2.*up to 1/.test(String(error)),
    )
    await (await openStore(t, folder, { migrations: steps })).close()
  })
})
