/** The documents of a site on a real store in a temporary folder; what was audited is kept in a list. */
import { rmSync } from 'node:fs'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Audit, AuditEvent } from '#audit/audit.ts'
import type { Log } from '#leaf/log.ts'
import { type Principal, roleKeyOf } from '../../src/core/principal.ts'
import type { Documents } from '../../src/documents/documents.ts'
import { createDocumentMemory } from '../../src/documents/memory.ts'
import type { Platform } from '../../src/documents/platform/platform.ts'
import { readPlatform } from '../../src/documents/platform/read-platform.ts'
import { noSql, type ReadableTable, type RunSql } from '../../src/documents/reports/run-sql.ts'
import { type PlacedSeed, readSeeds } from '../../src/documents/platform/read-seeds.ts'
import { loadSeeds } from '../../src/documents/platform/seeds.ts'
import { readSite } from '#site/read-site.ts'
import { parseSource } from '#site/parse-source.ts'
import { type Fault, faultText, type SiteFiles } from '#site/site-files.ts'
import { openEmbeddedStore } from '#state/embedded/store.ts'
import { readPeople } from '../../src/users/read-people.ts'

export const root = join(import.meta.dirname, '../..')

export const silent: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  setLevel: () => undefined,
}

/** A clock that moves a second with each look, so that no two changes share a time. */
export function movingClock(start = Date.parse('2026-07-01T08:00:00Z')): {
  now(): number
  forward(ms: number): void
} {
  let time = start
  return { now: () => (time += 1000), forward: (ms) => (time += ms) }
}

export interface Company {
  readonly documents: Documents
  readonly platform: Platform
  /** What was audited, in order; `take` empties it. */
  readonly events: AuditEvent[]
  readonly clock: ReturnType<typeof movingClock>
}

/** Opens a company of the files given (or the shipped site) with its seeds. */
export async function openCompany(
  t: TestContext,
  options: { files?: SiteFiles; seeds?: boolean; runSql?: RunSql; quota?: Documents['quota'] } = {},
): Promise<Company> {
  const { platform, seeds } = options.files ? understood(options.files) : await (shipped ??= readShipped())
  const folder = await mkdtemp(join(tmpdir(), 'documents-'))
  const clock = movingClock()
  // Making the shipped documents takes longer than most tests: do it once.
  if (!options.files)
    await cp(await (seeded ??= seedOnce(platform, seeds)), join(folder, 'state'), { recursive: true })
  const store = await openEmbeddedStore({ folder: join(folder, 'state'), clock, log: silent })
  t.after(async () => {
    await store.close()
    await rm(folder, { recursive: true, force: true })
  })
  const events: AuditEvent[] = []
  const documents: Documents = {
    platform,
    store,
    audit: listAudit(events),
    clock,
    memory: createDocumentMemory(),
    runSql: options.runSql ?? noSql,
    quota: options.quota ?? unlimited,
  }
  if (options.seeds ?? true) await loadSeeds(documents, seeds)
  events.length = 0
  return { documents, platform, events, clock }
}

const unlimited = { max_documents_per_user: 0, max_bytes_per_user: 0 }

interface Understood {
  readonly platform: Platform
  readonly seeds: readonly PlacedSeed[]
}

let shipped: Promise<Understood> | undefined
let seeded: Promise<string> | undefined

async function readShipped(): Promise<Understood> {
  return understood(await readSite(root))
}

function understood(files: SiteFiles): Understood {
  const faults: Fault[] = []
  const platform = readPlatform(files, faults, readPeople(files, faults))
  const seeds = readSeeds(files, faults, platform)
  if (faults.length > 0) throw new Error(faults.map(faultText).join('\n'))
  return { platform, seeds }
}

async function seedOnce(platform: Platform, seeds: readonly PlacedSeed[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'documents-seeded-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const clock = movingClock()
  const store = await openEmbeddedStore({ folder, clock, log: silent })
  const memory = createDocumentMemory()
  await loadSeeds(
    { platform, store, audit: listAudit([]), clock, memory, runSql: noSql, quota: unlimited },
    seeds,
  )
  await store.close()
  return folder
}

/** An audit log in memory; a test reads it as a list. */
export function listAudit(events: AuditEvent[]): Audit {
  return {
    record: (event) => Promise.resolve(void events.push(event)),
    recordIn: (tx, event) => Promise.resolve(tx.onCommit(() => void events.push(event))),
    requireWritable: () => undefined,
  }
}

/** Site files of YAML texts, beside roles and users that tests need. */
export function siteOf(texts: Readonly<Record<string, string>>): SiteFiles {
  const documents = new Map()
  const faults: Fault[] = []
  const assets = new Map<string, Uint8Array>()
  for (const [file, text] of Object.entries({ ...people, ...texts })) {
    if (file.startsWith('config/seeds/')) {
      assets.set(file, Buffer.from(text))
      continue
    }
    const parsed = parseSource(file, Buffer.from(text))
    faults.push(...parsed.faults)
    if (parsed.document) documents.set(file, parsed.document)
  }
  return { folder: '/site', documents, assets, faults, digest: 'test' }
}

/** Every row of a table as a principal may read it. */
export async function allRows(table: ReadableTable): Promise<readonly (readonly unknown[])[]> {
  const rows: (readonly unknown[])[] = []
  for await (const page of (await table.read()).pages()) rows.push(...page)
  return rows
}

const people = {
  'config/roles.yaml': 'roles: [{name: Clerk}, {name: Boss}, {name: Guest}]',
  'config/users.yaml': 'users: []',
}

/** Someone with these roles. */
export function someone(user: string, ...roles: string[]): Principal {
  const set = new Set(roles)
  return {
    user,
    fullName: user,
    roles: set,
    roleKey: roleKeyOf(set),
    scopes: [],
    requestId: 'req-1',
    sessionId: 'conversation-1',
  }
}

export const admin = someone('admin@example.com', 'System Manager', 'Assistant Admin', 'Assistant User')
export const sales = someone('sales@example.com', 'Assistant User', 'Sales User')
export const salesManager = someone('boss@example.com', 'Assistant User', 'Sales Manager')
export const buyer = someone('buyer@example.com', 'Assistant User', 'Purchase User')
export const hr = someone('hr@example.com', 'Assistant User', 'HR User')
export const hrManager = someone('hrboss@example.com', 'Assistant User', 'HR Manager')
export const assistantAdmin = someone('ops@example.com', 'Assistant User', 'Assistant Admin')
export const plain = someone('plain@example.com', 'Assistant User')
export const nobody = someone('nobody@example.com')
