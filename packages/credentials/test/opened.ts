/** Credentials on a store and an audit log in a temporary folder, with a clock that stands still until it is moved. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { AuditLine } from '#audit/audit.ts'
import { openAudit } from '#audit/open-audit.ts'
import type { Proofs } from '#credentials/accounts.ts'
import { ApiKeys } from '#credentials/api-keys.ts'
import { openCredentials } from '#credentials/credentials.ts'
import type { Holder } from '#credentials/holders.ts'
import { createLog } from '#leaf/log.ts'
import { openEmbeddedStore } from '#state/embedded/store.ts'

export const sales = 'sales@example.com'
export const hr = 'hr@example.com'
export const password = 'a password for tests'
export const publicUrl = 'https://assistant.example'

/** A clock that stands still until it is moved. */
export function stoppedClock() {
  let now = Date.parse('2026-03-01T12:00:00Z')
  return { now: () => now, pass: (seconds: number) => void (now += seconds * 1000) }
}

/** Holders of those names, all of whom may sign in unless they are among the disabled. */
export function holders(ids: readonly string[], disabled: readonly string[] = []) {
  const known = new Map<string, Holder>(ids.map((id) => [id, { id, enabled: !disabled.includes(id) }]))
  return { find: (name: string) => known.get(name.toLowerCase()) }
}

/** Opens them for a test: three people with one password. */
export async function opened(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'credentials-'))
  const log = createLog('error', { write: () => undefined })
  const clock = stoppedClock()
  const store = await openEmbeddedStore({ folder: join(folder, 'state'), clock, log })
  const audit = await openAudit({ folder: join(folder, 'audit'), store, clock, log })
  t.after(async () => {
    await audit.close()
    await store.close()
    await rm(folder, { recursive: true, force: true })
  })
  const ids = [sales, hr, 'admin@example.com']
  let people = holders(ids)
  const parts = { store, clock, audit, people: () => people, publicUrl: () => publicUrl }
  const attempts = { announce: () => undefined, hear: () => undefined }
  const ended: { readonly user: string; readonly apiKey: string }[] = []
  const credentials = openCredentials<Holder, Proofs>({ ...parts, sessionHours: () => 12, attempts })
  for (const id of ids) await credentials.passwords.set(id, password)
  return {
    ...credentials,
    ...parts,
    /** The API keys whose end was told. */
    ended,
    apiKeys: new ApiKeys({ ...parts, tellIn: (_, key) => void ended.push(key) }),
    /** From now on, these may not sign in. */
    disable: (...disabled: string[]) => void (people = holders(ids, disabled)),
    /** The events of a type, oldest first. */
    auditEvents: async (type: string): Promise<AuditLine[]> => {
      await audit.settled()
      const files = (await readdir(audit.folder)).filter((file) => file.endsWith('.jsonl')).sort()
      const texts = await Promise.all(files.map((file) => readFile(join(audit.folder, file), 'utf8')))
      const lines = texts.flatMap((text) => text.split('\n')).filter((line) => line !== '')
      return lines.map((line) => JSON.parse(line) as AuditLine).filter((line) => line.type === type)
    },
  }
}
