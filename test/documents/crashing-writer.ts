/** A process that changes documents in tables of others, and is killed on the way: what it leaves is what a crash leaves. */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { openEmbeddedStore } from '#state/embedded/store.ts'
import type { Documents } from '../../src/documents/documents.ts'
import { readPlatform } from '../../src/documents/platform/read-platform.ts'
import { createDocumentMemory } from '../../src/documents/memory.ts'
import { noSql } from '../../src/documents/reports/run-sql.ts'
import { SiteTables } from '../../src/documents/sources/site-tables.ts'
import type { Tables } from '../../src/documents/tables-of-others.ts'
import { createDocument } from '../../src/documents/writing/creating.ts'
import { Once } from '../../src/documents/writing/once.ts'
import { deleteDocument, updateDocument } from '../../src/documents/writing/updating.ts'
import { readSources } from '../../src/settings/sources.ts'
import { readPeople } from '../../src/users/read-people.ts'
import { siteOver } from './erp.ts'
import { item, lot } from './erp-stock.ts'
import { silent, someone } from './trading-company.ts'

/** The moments at which it can be killed, in their order. */
export const moments = ['intended', 'changed', 'noted', 'committed', 'recorded'] as const
type Moment = (typeof moments)[number]

/** The events that a process before it wrote, by its folder. */
export const eventsFile = (folder: string): string => join(folder, 'events.jsonl')

/** Opens documents whose process dies at a moment of the next change; without one they live. */
export async function openWriter(
  address: string,
  folder: string,
  { dies, more = '' }: { dies?: Moment; more?: string } = {},
): Promise<Documents & { close(): Promise<void> }> {
  const at = (moment: Moment): void => {
    if (moment === dies) process.kill(process.pid, 'SIGKILL')
  }
  const files = siteOver(new URL(address), {
    user: 'writer',
    more,
    files: { 'config/doctypes/item.yaml': item, 'config/doctypes/lot.yaml': lot },
  })
  const platform = readPlatform(files, [], readPeople(files, []))
  const clock = { now: () => Date.now() }
  const store = await openEmbeddedStore({ folder: join(folder, 'state'), clock, log: silent })
  const site = new SiteTables({ log: silent, clock, serves: false, secretOf: () => Promise.resolve('') })
  const opened = await site.open({ files, platform, sources: readSources(files, []) })
  const tables: Tables = {
    ...opened,
    change: async (doctype, of, how, work) => {
      const last = async (): Promise<void> => {
        at('changed')
        await how.last()
        at('noted')
      }
      const value = await opened.change(doctype, of, { ...how, last }, work)
      at('committed')
      return value
    },
  }
  const write = (event: object): void => appendFileSync(eventsFile(folder), `${JSON.stringify(event)}\n`)
  const audit: Documents['audit'] = {
    record: (event) => Promise.resolve(write(event)),
    recordIn: (tx, event) =>
      Promise.resolve(
        tx.onCommit(() => {
          write(event)
          at(event.type === 'document.intend' ? 'intended' : 'recorded')
        }),
      ),
    requireWritable: () => undefined,
  }
  const quota = { max_documents_per_user: 0, max_bytes_per_user: 0 }
  const memory = createDocumentMemory()
  const close = async (): Promise<void> => {
    await site.close()
    await store.close()
  }
  return { platform, store, audit, clock, memory, runSql: noSql, quota, tables, close }
}

const boss = someone('boss@example.com', 'Boss')

/** The changes that it makes, by name. */
export const deeds = {
  create: (documents: Documents) => createDocument(documents, boss, 'Item', { title: 'Bolt' }),
  update: (documents: Documents) => updateDocument(documents, boss, 'Item', '1', { title: 'nut' }),
  delete: (documents: Documents) => deleteDocument(documents, boss, 'Item', '1'),
} as const
type Deed = keyof typeof deeds

/** The documents of one call, which may be sent again. */
export function called(documents: Documents): Documents {
  return { ...documents, once: new Once(documents, { id: 'the-call', call: 'same' }, 'somebody') }
}

const [address, folder, deed, moment, more] = process.argv.slice(2)
if (address !== undefined && process.argv[1] === import.meta.filename) {
  const documents = await openWriter(address, folder!, {
    dies: moment as Moment,
    ...(more !== undefined && { more }),
  })
  await deeds[deed as Deed](called(documents))
  await documents.close()
}
