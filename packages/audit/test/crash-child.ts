/**
 * A process that tells events inside and outside of transactions until it is killed, with files so small
 * that the log changes its file all the time, and says on standard output what has been acknowledged.
 */
import { join } from 'node:path'
import process from 'node:process'
import { systemClock } from '#leaf/clock.ts'
import { openAudit } from '#audit/open-audit.ts'
import { openEmbeddedStore } from '#state/embedded/store.ts'
import { say, testLog } from '../../state/test/state-folder.ts'

const [folder = '', first = '0'] = process.argv.slice(2)
const log = testLog()
const store = await openEmbeddedStore({ folder, clock: systemClock, log, compactBytes: 20_000 })
const audit = await openAudit({
  folder: join(folder, 'audit'),
  store,
  clock: systemClock,
  log,
  settings: { max_file_bytes: 4000 },
})
const notes = store.collection({ name: 'test.note' })
let number = Number(first)

async function writer(): Promise<never> {
  for (;;) {
    const id = `d${number++}`
    await store.transaction(async (transaction) => {
      await transaction.in(notes).insert({ id })
      await audit.recordIn(transaction, { type: 'document.create', status: 'ok', target: id })
    })
    say(id)
  }
}

async function teller(): Promise<never> {
  for (;;) {
    const id = `r${number++}`
    await audit.record({ type: 'tool.call', status: 'ok', target: id })
    say(id)
  }
}

await Promise.all([writer(), writer(), teller(), teller()])
