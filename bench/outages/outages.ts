/**
 * What has been tried to stop the service for everybody, with what people and apps leave behind in years, on both stores:
 * `node --import tsx bench/outages/outages.ts [share] [store]`, after `npm run build`; a share below 1 makes all of it that much smaller.
 * Refusals count too. It fails where `/healthz` waits for more than 250 ms, or another user's call for more than 1 s: on a
 * machine that does nothing else, that is the daemon's doing.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { noPostgres, startPostgres } from '../../test/helpers/postgres.ts'
import { openDocuments } from '../documents/answering.ts'
import { table } from '../server-process.ts'
import { heads, prepared, siteWithoutLimits, WatchedDaemon } from '../watched-daemon.ts'
import { fillAudit, fillDocuments, fillTokens, type Sizes } from './filling.ts'
import { attempts, signedIn, type Trying } from './attempts.ts'

const [share, only] = [Number(process.argv[2] ?? 1), process.argv[3]]
const most = { health: 250, other: 1000 }
const sizes: Readonly<Record<string, Sizes>> = {
  embedded: {
    documents: 100_000,
    events: 1_000_000,
    families: 100_000,
    tokens: 100_000,
    over: 100_000,
    refreshing: 3000,
  },
  PostgreSQL: {
    documents: 100_000,
    events: 200_000,
    families: 1000,
    tokens: 2000,
    over: 0,
    refreshing: 1000,
  },
}

const undo: (() => unknown)[] = []
const t = { after: (step: () => unknown) => void undo.push(step) } as never
const rows: string[][] = []
const over: string[] = []
try {
  for (const kind of Object.keys(sizes))
    if (kind === (only ?? kind) && (kind === 'embedded' || !noPostgres)) await tryOn(kind)
} finally {
  for (const step of undo.reverse()) await step()
}
table(['tried', ...heads], rows)
if (over.length > 0) {
  process.stderr.write(
    `longer than ${most.health} ms for /healthz or ${most.other} ms for another user: ${over.join('; ')}\n`,
  )
  process.exitCode = 1
}

async function tryOn(kind: string): Promise<void> {
  const url = kind === 'embedded' ? undefined : await (await startPostgres(t)).newDatabase()
  const site = siteOn(url)
  const { state, asking, other } = await prepared(t, site)
  const size = sizeOf(kind)
  const documents = await openDocuments(kind, url ?? state)
  await fillDocuments(documents, size.documents)
  await fillAudit(documents.store, state, size.events)
  const refreshing = await fillTokens(documents.store, size)
  await documents.store.close()
  const watched = await WatchedDaemon.start(t, site, { state, other })
  const trying: Trying = {
    watched,
    size,
    asking,
    refreshing,
    pages: await signedIn(watched),
    isShared: url !== undefined,
  }
  // What a start leaves to do is not what is measured.
  await watched.measure(() => watched.call(asking, 'count_documents', { doctype: 'Opportunity' }))
  for (const [what, attempt] of attempts(trying)) {
    const { cells, health, other: waited } = await watched.measure(attempt)
    const name = url === undefined ? what : `${what}, on PostgreSQL`
    rows.push([name, ...cells])
    process.stderr.write(`${rows.at(-1)!.join('   ')}\n`)
    if (health > most.health || waited > most.other) over.push(name)
  }
  rows.push([
    `the most of all${url === undefined ? '' : ', on PostgreSQL'}`,
    '',
    '',
    '',
    '',
    watched.memory('HWM'),
  ])
  await watched.daemon.stop()
}

function siteOn(url: string | undefined): string {
  const changes: [string, string][] = [['files:\n    timeout_seconds: 30', 'files:\n    timeout_seconds: 5']]
  if (url !== undefined) changes.push(['  kind: embedded\n', '  kind: postgres\n'])
  const file = join(mkdtempSync(join(tmpdir(), 'outages-')), 'database-url')
  undo.push(() => rmSync(dirname(file), { recursive: true }))
  if (url !== undefined)
    changes.push(
      ['secrets_folder: null\n', `secrets_folder: ${dirname(file)}\n`],
      ['  url_file: null\n', '  url_file: database-url\n'],
    )
  writeFileSync(file, `${url}\n`, { mode: 0o600 })
  const site = siteWithoutLimits(t, changes)
  const users = join(site, 'config/users.yaml')
  writeFileSync(
    users,
    readFileSync(users, 'utf8').replace('- System Manager', '- System Manager\n      - Auditor'),
  )
  return site
}

function sizeOf(kind: string): Sizes {
  const whole = Object.entries(sizes[kind]!) as [keyof Sizes, number][]
  return Object.fromEntries(whole.map(([name, count]) => [name, Math.ceil(count * share)])) as never
}
