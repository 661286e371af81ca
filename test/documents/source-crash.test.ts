/** What a crash leaves of a change in a table of others, at each of its steps, and how it is settled. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { describe, it, type TestContext } from 'node:test'
import type { AuditEvent } from '#audit/audit.ts'
import { historyEntries } from '../../src/documents/history.ts'
import { changesOnDisk } from '../../src/documents/told-outcomes.ts'
import { openIntentions, settleIntentions } from '../../src/documents/writing/intentions.ts'
import { called, deeds, eventsFile, moments, openWriter } from './crashing-writer.ts'
import { openOffice } from './erp.ts'
import { item, keysTable, kinds, lot } from './erp-stock.ts'

const writer = join(import.meta.dirname, 'crashing-writer.ts')
const files = { 'config/doctypes/item.yaml': item, 'config/doctypes/lot.yaml': lot }

for (const kind of kinds)
  describe(`a crash while ${kind.name} of others is changed`, { skip: kind.skip }, () => {
    const server = kind.suite()

    /** Has a process killed at a moment of a change, and opens what it left. */
    async function crash(
      t: TestContext,
      deed: keyof typeof deeds,
      moment: (typeof moments)[number],
      { sql = kind.needsKeys && kind.makesKeys, more = kind.needsKeys } = {},
    ) {
      const office = await openOffice(t, server, {
        user: 'writer',
        more,
        before: `${kind.stock}; ${sql}`,
        files,
      })
      const folder = await mkdtemp(join(tmpdir(), 'crash-'))
      t.after(() => rm(folder, { recursive: true, force: true }))
      const child = spawn(
        process.execPath,
        ['--import', 'tsx', writer, office.url.href, folder, deed, moment, more],
        {
          stdio: 'inherit',
        },
      )
      const [, signal] = (await once(child, 'exit')) as [number | null, string | null]
      assert.equal(signal, 'SIGKILL', 'it was killed, and did not end by itself')
      const { unknown } = await changesOnDisk(join(folder, 'state'), { now: () => Date.now() + 120_000 })
      const documents = await openWriter(office.url.href, folder, { more })
      t.after(() => documents.close())
      const doctype = documents.platform.doctypes.get('Item')!
      const events = (): AuditEvent[] =>
        readFileSync(eventsFile(folder), 'utf8')
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as AuditEvent)
      return {
        documents,
        office,
        unknown,
        events,
        told: () => events().map(({ type, status, target }) => `${type} ${status} ${target}`),
        items: async () =>
          (await office.ask('SELECT id, name FROM erp.item ORDER BY id')).map((row) =>
            Object.values(row).join(' '),
          ),
        history: async () =>
          (await historyEntries(documents.store).find()).map(
            ({ action, document, user }) => `${user} ${action} ${document}`,
          ),
        forget: async () => {
          const kept = documents.store.collection<{ id: string; expiresAt: number }>({
            name: 'platform.once',
            expires: 'expiresAt',
          })
          for (const { id } of await kept.find()) await kept.delete(id)
        },
        settle: async () => {
          // The server sees that a connection is gone when it has time to.
          while ((await openIntentions(documents.store)).length > 0)
            await settleIntentions(documents, doctype)
        },
      }
    }

    const before_ = ['1 Washer', '2 Screw']
    const become = { create: [...before_, '3 Bolt'], update: ['1 Nut', '2 Screw'], delete: ['2 Screw'] }
    const names = { create: '3', update: '1', delete: '1' }
    for (const deed of ['create', 'update', 'delete'] as const)
      for (const moment of moments)
        it(`${deed}, ${moment}: is settled as the database has it, with one event of its end`, async (t) => {
          const left = await crash(t, deed, moment)
          const isDone = moment === 'committed' || moment === 'recorded'
          const open = (await openIntentions(left.documents.store)).length
          assert.equal(open, moment === 'recorded' ? 0 : 1)
          // What doctor says while no daemon runs.
          assert.equal(left.unknown.length, open)
          for (const named of left.unknown)
            assert.match(named, /^whether it was done in the source "erp" is not known: \w+ of Item/)
          await left.settle()
          await left.settle()
          assert.deepEqual(await left.items(), isDone ? become[deed] : before_)
          const isNamed = deed !== 'create' || isDone || moment === 'noted'
          const target = isNamed ? `Item/${names[deed]}` : 'Item'
          assert.deepEqual(left.told(), [
            `document.intend waiting ${deed === 'create' ? 'Item' : target}`,
            `document.${deed} ${isDone ? 'ok' : 'error'} ${target}`,
          ])
          assert.equal(left.events()[1]!.data!['intention'], left.events()[0]!.data!['intention'])
          assert.equal(left.events()[1]!.user, 'boss@example.com')
          assert.deepEqual(await left.history(), isDone ? [`boss@example.com ${deed} ${names[deed]}`] : [])
          if (isDone && deed === 'update')
            assert.ok(
              left.events()[1]!.changes!.some(({ field, to }) => field === 'title' && to === 'Nut'),
              'what the trigger made of it',
            )
          // The same call, sent again because its answer was lost.
          const again = deeds[deed](called(left.documents))
          if (moment === 'recorded' || (isDone && kind.isMaria)) await again
          else if (isDone) await assert.rejects(again, /it was done; its answer was lost: read the document/)
          else await again
          assert.deepEqual(
            (await left.items()).map((one) => one.replace('4 Bolt', '3 Bolt')),
            become[deed],
          )
        })

    const kept = { sql: kind.makesKeys, more: `, write_keys: ${keysTable}` }
    const crashes = [
      ...moments.map((moment) => ['create', moment] as const),
      ['update', 'committed'],
      ['delete', 'committed'],
    ] as const
    for (const [deed, moment] of crashes)
      it(`${deed}, ${moment}: sent again gives what the first gave, once, where the source keeps the keys of calls`, async (t) => {
        const left = await crash(t, deed, moment, kept)
        const wasDone = moment === 'committed' || moment === 'recorded'
        // A number that was drawn stays used.
        const name = deed !== 'create' ? '1' : wasDone || moment === 'intended' ? '3' : '4'
        const row = { create: [...before_, `${name} Bolt`], update: become.update, delete: become.delete }[
          deed
        ]
        const end = `document.${deed} ok Item/${name}`
        const first = (ends: string): string[] => {
          const target =
            deed === 'create' && !wasDone && moment !== 'noted' ? 'Item' : `Item/${wasDone ? name : '3'}`
          return [
            `document.intend waiting ${deed === 'create' ? 'Item' : target}`,
            ...(ends === '' ? [] : [`document.${deed} ${ends} ${target}`]),
          ]
        }
        const second = ['document.intend waiting Item', end]
        // At once, before anything is settled; after that; and from a state that has lost what it kept.
        const once = called(left.documents)
        const answer = await deeds[deed](once)
        assert.equal(once.once!.repeats, true)
        assert.deepEqual(await left.items(), row)
        const isRecorded = moment === 'recorded'
        assert.deepEqual(left.told(), [...first(isRecorded ? 'ok' : ''), ...(wasDone ? [] : second)])
        await left.settle()
        assert.deepEqual(
          left.told().sort(),
          [...first(wasDone ? 'ok' : 'error'), ...(wasDone ? [] : second)].sort(),
        )
        assert.deepEqual(await deeds[deed](called(left.documents)), answer)
        await left.forget()
        const anew = called(left.documents)
        assert.deepEqual(await deeds[deed](anew), answer)
        assert.equal(anew.once!.repeats, true)
        assert.deepEqual(await left.items(), row)
        assert.equal(left.told().length, wasDone ? 2 : 4)
        if (deed === 'delete') return assert.equal(answer, undefined)
        const { document } = answer as { document: Record<string, unknown> }
        assert.deepEqual([document['name'], document['title']], [name, deed === 'create' ? 'Bolt' : 'Nut'])
      })
  })
