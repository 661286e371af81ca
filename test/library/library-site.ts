/** Sites with prompts and skills in temporary folders, and libraries opened over real state. */
import type { RefusalOf } from '../../src/core/effects.ts'
import { offerOfEffect } from '../../src/tools/gate/offer.ts'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { roleKeyOf, type Principal } from '../../src/core/principal.ts'
import type { AuditLine } from '#audit/audit.ts'
import { FileLedger } from '#audit/files/file-ledger.ts'
import { searchAudit } from '#audit/finding/search.ts'
import type { Surroundings } from '../../src/library/check-library.ts'
import { Librarian } from '../../src/library/librarian.ts'
import type { Channels } from '../../src/library/versions/channels.ts'
import type { LinkTargets } from '../../src/library/library.ts'
import { readSite } from '#site/read-site.ts'
import { faultText, type Fault, type SiteFiles } from '#site/site-files.ts'
import type { Store } from '#state/store.ts'
import type { People, Role, User } from '../../src/users/people.ts'
import { startAudit } from '../../packages/audit/test/audit-folder.ts'
import type { TestClock } from '../../packages/state/test/state-folder.ts'

export const packageFolder = resolve(import.meta.dirname, '../..')

export const roleNames = ['System Manager', 'Assistant User', 'Sales User', 'HR User', 'beta']

const user = (id: string, fullName: string, roles: readonly string[]): User => ({
  id,
  fullName,
  enabled: true,
  assistantEnabled: true,
  roles: new Set(roles),
  source: 'config/users.yaml:1',
})

const users = [
  user('admin@example.com', 'Ada Admin', ['System Manager', 'Assistant User']),
  user('sales@example.com', 'Sam Sales', ['Assistant User', 'Sales User']),
  user('hr@example.com', 'Hedda Hr', ['Assistant User', 'HR User']),
  user('beta@example.com', 'Bea Beta', ['Assistant User', 'beta']),
]

/** The people of every site of these tests. */
export const people: People = {
  users: new Map(users.map((entry) => [entry.id, entry])),
  roles: new Map(
    roleNames.map((name): [string, Role] => [name, { name, description: '', source: 'config/roles.yaml:1' }]),
  ),
  find: (email) => users.find((entry) => entry.id === email.toLowerCase()),
}

/** A principal with a user's own roles, or with others. */
export function as(id: string, roles: readonly string[] = [...(people.find(id)?.roles ?? [])]): Principal {
  return {
    user: id,
    fullName: people.find(id)?.fullName ?? id,
    roles: new Set(roles),
    roleKey: roleKeyOf(roles),
    scopes: [],
    requestId: 'test',
  }
}

/** Front matter that makes a file a published, public template, with more or other lines. */
export function template(lines: string, body = 'Hello'): string {
  const given = new Set([...lines.matchAll(/^(\w+):/gm)].map((match) => match[1]!))
  const standard = ['title: A title', 'status: Published', 'visibility: Public'].filter(
    (line) => !given.has(line.split(':')[0]!),
  )
  return `---\n${[...standard, lines.trim()].filter((line) => line !== '').join('\n')}\n---\n${body}\n`
}

/** A folder with these files that is removed after the test. */
export async function folderWith(t: TestContext, files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'assistant-core-library-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  await write(folder, files)
  return folder
}

/** Writes files below a folder. */
export async function write(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), content)
  }
}

/** What is no tool is decided as for clients of a site that says nothing of it. */
export const refusalOf: RefusalOf = (principal, name) => {
  const { refusal, reason } = offerOfEffect(principal, name, { settings: new Map() })
  return refusal && reason
}

/** What a writer is given where nobody writes too much. */
export const unbounded = {
  refusalOf,
  secondsToWait: (): number => 0,
  bounds: () => ({ max_drafts_per_user: 200, max_draft_bytes_per_user: 5_000_000 }),
}

export const doctypeNames = new Set([
  'Customer',
  'Supplier',
  'Item',
  'Sales Order',
  'Sales Order Item',
  'Purchase Order',
  'Lead',
  'Opportunity',
  'Employee',
  'Task',
  'Note',
])

export const toolNames = new Set([
  'list_documents',
  'get_document',
  'create_document',
  'get_doctype_info',
  'list_doctypes',
  'count_documents',
  'aggregate',
  'search_documents',
  'generate_report',
  'report_list',
  'query_and_analyze',
  'analyze_business_data',
])

/** What these tests read libraries with. */
export function source(more: Partial<Surroundings> = {}): Surroundings {
  return { people, toolNames, doctypeNames, readers: [], channels: {}, packageVersion: '2.6.0', ...more }
}

/** Links to three customers, of which only sales people see one. */
export const links: LinkTargets = {
  reads: () => true,
  exists: (principal, doctype, name) =>
    Promise.resolve(doctype === 'Customer' && customersFor(principal).includes(name)),
  find: (principal, doctype, typed, limit) => {
    const names = doctype === 'Customer' ? customersFor(principal) : doctype === 'DocType' ? ['Customer'] : []
    const all = names.filter((name) => name.startsWith(typed))
    return Promise.resolve({ values: all.slice(0, limit), total: all.length })
  },
}

/** Readers who are offered every tool. */
export const lacksNothing = (): ReadonlySet<string> => noTools

const noTools: ReadonlySet<string> = new Set()

function customersFor(principal: Principal): string[] {
  return ['ACME', 'Anvil Works', ...(principal.roles.has('Sales User') ? ['Secret Ltd'] : [])]
}

export interface World {
  readonly store: Store
  readonly clock: TestClock
  readonly librarian: Librarian
  readonly audited: (type: string) => Promise<AuditLine[]>
  /** Another `Librarian` over the same state, as another start of the program has. */
  readonly again: () => Librarian
  readonly parts: ConstructorParameters<typeof Librarian>[0]
}

/** Real state for libraries, closed after the test. */
export async function world(t: TestContext): Promise<World> {
  const { audit, store, clock, folder } = await startAudit(t)
  const parts = { store, audit, clock }
  const librarian = new Librarian(parts)
  // The state may be closed before.
  t.after(() => librarian.close().catch(() => undefined))
  return {
    store,
    clock,
    librarian,
    parts,
    again: () => new Librarian(parts),
    audited: async (type) => {
      await new Promise((done) => setTimeout(done, 60))
      const lines: AuditLine[] = []
      for await (const line of searchAudit(new FileLedger(folder))) if (line.type === type) lines.push(line)
      return lines
    },
  }
}

export interface Opened {
  readonly library: Channels
  readonly files: SiteFiles
  readonly warnings: readonly string[]
}

/** Reads and opens the site in a folder; fails when it has faults. */
export async function open(
  { librarian }: Pick<World, 'librarian'>,
  folder: string,
  more: Partial<Surroundings> = {},
): Promise<Opened> {
  const files = await readSite(folder)
  const faults: Fault[] = [...files.faults]
  const warnings: Fault[] = []
  const read = await librarian.read(files, faults, warnings, source(more))
  if (faults.length > 0) throw new Error(faults.map(faultText).join('\n'))
  const library = await librarian.open(read, links, lacksNothing)
  return { library, files, warnings: warnings.map(faultText) }
}

/** A library over fresh state of a site with these files. */
export async function openWith(
  t: TestContext,
  files: Readonly<Record<string, string>>,
  more: Partial<Surroundings> = {},
): Promise<Opened & { world: World; folder: string }> {
  const folder = await folderWith(t, files)
  const opened = await world(t)
  return { ...(await open(opened, folder, more)), world: opened, folder }
}

/** Faults and warnings of a site, as text. */
export async function check(
  t: TestContext,
  files: Readonly<Record<string, string>>,
  more: Partial<Surroundings> = {},
): Promise<{ faults: string[]; warnings: string[] }> {
  const folder = await folderWith(t, files)
  const { librarian } = await world(t)
  const site = await readSite(folder)
  const faults: Fault[] = [...site.faults]
  const warnings: Fault[] = []
  await librarian.read(site, faults, warnings, source(more))
  return { faults: faults.map(faultText), warnings: warnings.map(faultText) }
}

/** How the events ended, in their order. */
export async function endings(events: Promise<readonly AuditLine[]>): Promise<string[]> {
  return (await events).map(({ status }) => status)
}

/** Runs git in a folder; the first call of a test is usually `init`. */
export async function git(folder: string, ...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('git', args, {
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_AUTHOR_NAME: 'Pat Prompt',
      GIT_AUTHOR_EMAIL: 'pat@example.com',
      GIT_COMMITTER_NAME: 'Pat Prompt',
      GIT_COMMITTER_EMAIL: 'pat@example.com',
    },
  })
  return stdout.trim()
}

/** Commits everything in the folder. */
export async function commitAll(folder: string, message: string): Promise<string> {
  await git(folder, 'add', '--all')
  await git(folder, 'commit', '--quiet', '--allow-empty', '-m', message)
  return await git(folder, 'rev-parse', 'HEAD')
}
