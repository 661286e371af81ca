/** What the crash test stores. */
import type { CollectionSpec, Stored } from '#state/store.ts'

export const accountCount = 10
export const firstBalance = 1000

export const accounts: CollectionSpec<Stored & { readonly amount: number }> = { name: 'test.account' }
export const receipts: CollectionSpec<Stored & { readonly filler: string }> = { name: 'test.receipt' }
export const totals: CollectionSpec<Stored & { readonly count: number }> = { name: 'test.total' }
