/** What it takes to tell whether somebody is who they say. `node --import tsx packages/credentials/bench/proving.ts [ROUNDS]` */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import type { Proofs } from '#credentials/accounts.ts'
import { ApiKeys } from '#credentials/api-keys.ts'
import { openCredentials } from '#credentials/credentials.ts'
import type { Holder } from '#credentials/holders.ts'
import { systemClock } from '#leaf/clock.ts'
import { createLog } from '#leaf/log.ts'
import { openEmbeddedStore } from '#state/embedded/store.ts'
import { median, table } from '../../../bench/server-process.ts'

const rounds = Number(process.argv[2] ?? 20)
const folder = mkdtempSync(join(tmpdir(), 'credentials-'))
const log = createLog('error', process.stderr)
const store = await openEmbeddedStore({ folder, clock: systemClock, log })
const user = 'user@example.com'
const people = { find: (id: string) => (id === user ? { id, enabled: true } : undefined) }
const parts = { store, clock: systemClock, people: () => people, tellIn: () => undefined }
const { passwords, sessions } = openCredentials<Holder, Proofs>({
  ...parts,
  audit: { record: async () => undefined },
  publicUrl: () => 'https://assistant.example',
  sessionHours: () => 12,
  attempts: { announce: () => undefined, hear: () => undefined },
})
const apiKeys = new ApiKeys(parts)
await passwords.set(user, 'a password for benches')
const cookie = await sessions.open({ user, method: 'password', address: '192.0.2.1' })
const { key, secret } = await apiKeys.create({ user })
const proofs: Record<string, { times: number; prove: () => Promise<unknown> }> = {
  'the right password': { times: 3, prove: () => passwords.matches(user, 'a password for benches') },
  'a password of nobody': {
    times: 3,
    prove: () => passwords.matches('nobody@example.com', 'a guess at one'),
  },
  'the cookie of a session': { times: 2000, prove: () => sessions.find(cookie) },
  'an API key': { times: 2000, prove: () => apiKeys.check(key.id, secret) },
}
const spent = new Map(Object.keys(proofs).map((name) => [name, [] as number[]]))
for (let round = 0; round < rounds; round++)
  for (const [name, { times, prove }] of Object.entries(proofs)) {
    const used = process.cpuUsage()
    for (let count = 0; count < times; count++) await prove()
    const { user, system } = process.cpuUsage(used)
    spent.get(name)!.push((user + system) / times)
  }
table(
  ['', 'processor, µs'],
  [...spent].map(([name, all]) => [name, median(all).toFixed(1)]),
)
await store.close()
rmSync(folder, { recursive: true })
