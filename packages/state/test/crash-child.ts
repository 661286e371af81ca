/**
 * A process that writes until it is killed, and says on standard output what has been acknowledged.
 * Every transaction moves an amount between two accounts, counts itself, and inserts a receipt; so a half
 * of one would show in the sum, in the count, or in the receipts.
 */
import process from 'node:process'
import { systemClock } from '#leaf/clock.ts'
import { openEmbeddedStore } from '#state/embedded/store.ts'
import { accounts, accountCount, firstBalance, receipts, totals } from './crash-data.ts'
import { say, testLog } from './state-folder.ts'

const [folder = '', first = '0'] = process.argv.slice(2)
const store = await openEmbeddedStore({ folder, clock: systemClock, log: testLog(), compactBytes: 20_000 })
const balance = store.collection(accounts)
const receipt = store.collection(receipts)
const total = store.collection(totals)

await store.transaction(async (transaction) => {
  if ((await transaction.in(balance).count()) > 0) return
  for (let index = 0; index < accountCount; index++) {
    await transaction.in(balance).put({ id: `a${index}`, amount: firstBalance })
  }
  await transaction.in(total).put({ id: 'receipts', count: 0 })
})

let number = Number(first)

async function writer(): Promise<never> {
  for (;;) {
    const mine = number++
    await store.transaction(async (transaction) => {
      const from = `a${mine % accountCount}`
      const to = `a${(mine * 7 + 1) % accountCount}`
      await transaction.in(balance).update(from, (account) => ({ ...account, amount: account.amount - 1 }))
      if (mine % 3 === 0) await new Promise((resolve) => setImmediate(resolve))
      await transaction.in(balance).update(to, (account) => ({ ...account, amount: account.amount + 1 }))
      await transaction.in(receipt).insert({ id: `r${mine}`, filler: 'x'.repeat(mine % 400) })
      await transaction
        .in(total)
        .update('receipts', (document) => ({ ...document, count: document.count + 1 }))
    })
    say(`${mine}`)
  }
}

async function compactor(): Promise<never> {
  for (;;) {
    await store.compact()
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

await Promise.all([writer(), writer(), writer(), writer(), compactor()])
