/**
 * Runs the test files: those for every day, all of them (`npm run test:all`), or those whose path contains
 * one of the words given (`npm test -- jinja oauth`). Node 20's own discovery finds no TypeScript and exits 0, so the
 * files are listed here, and finding none is a failure. `--times` tells what each file took of the processor; `--singly`
 * runs each as it runs when it is named alone, and `--part=2/12` the second twelfth of them, other ones with each commit.
 */
import { readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { Readable } from 'node:stream'
import { run } from 'node:test'
import { spec, tap } from 'node:test/reporters'
import { buildProgram, compileTests, testFolders } from './compile.ts'
import { seedOfCommit } from './helpers/commit-seed.ts'
import { recordTimes } from './times.mjs'

const project = join(import.meta.dirname, '..')

// Tests that spawn the program run what users run.
buildProgram()

/** What untrusted work tries, and what is made of its files, is an attack as well. */
const isMeant = (name: string, word: string): boolean =>
  name.includes(word) || (word === 'attacks' && name.startsWith('packages/sandbox/test/'))

/**
 * What `npm run test:all` runs besides, and who names it: what takes minutes, floods the service, drives the whole program or
 * other people's, or needs more than Node and git on the machine: PostgreSQL, a browser, Python, bubblewrap, systemd, the network.
 */
const long = [
  ...[
    'audit/test/crash',
    'audit/test/ledger',
    'audit/test/ledger-full-disk',
    'audit/test/ledger-segments',
    'audit/test/older-server',
    'audit/test/stalled',
    'sandbox/test/charts',
    'sandbox/test/cgroups',
    'sandbox/test/extracted-documents',
    'sandbox/test/files',
    'sandbox/test/python',
    'sandbox/test/python-attacks',
    'sandbox/test/sandbox',
    'sandbox/test/sql',
    'sandbox/test/sql-attacks',
    'sources/test/doors',
    'state/test/copy',
    'state/test/crash',
    'state/test/failover',
    'state/test/full-disk',
    'state/test/lacking-engine',
    'state/test/linearizable',
    'state/test/postgres',
    'state/test/postgres-upgrade',
    'state/test/property',
    'state/test/shared-time',
    'state/test/trigrams',
  ].map((name) => `packages/${name}.test.ts`),
  ...[
    'analysis/same-money',
    'analysis/same-rows',
    'attacks/announcements',
    'attacks/caller-written-templates',
    'attacks/connections',
    'attacks/event-loop',
    'attacks/fair-places',
    'attacks/few-descriptors',
    'attacks/flood',
    'attacks/full-disk',
    'attacks/full-memory',
    'attacks/kernel-memory',
    'attacks/messages-of-sandboxes',
    'attacks/near-names',
    'attacks/own-data',
    'attacks/phishing-link',
    'attacks/searches',
    'attacks/slow-bodies',
    'attacks/sql-of-one-user',
    'attacks/unrecorded-reads',
    'attacks/untrusted-work',
    'house/check-sql',
    'cli/documents',
    'house/consent-and-deed',
    'house/cut-off-elsewhere',
    'cli/old-layout',
    'cli/package',
    'conformance/command-line-clients',
    'conformance/independent-clients',
    'conformance/mcp',
    'documents/mariadb-sources',
    'documents/report-runs',
    'documents/same-answers',
    'documents/leased-numbers',
    'documents/shared-quota',
    'documents/source-crash',
    'documents/source-writing',
    'documents/sources',
    'documents/tables-answers',
    'e2e/accessible',
    'e2e/account',
    'e2e/administration',
    'e2e/approval',
    'e2e/auditor',
    'e2e/browser',
    'e2e/connect',
    'e2e/daemon',
    'e2e/desk',
    'e2e/documents',
    'e2e/host-views',
    'e2e/keyboard',
    'e2e/main-switch',
    'e2e/mariadb-company',
    'e2e/mcp-remote',
    'e2e/mixed-versions',
    'e2e/older-server',
    'e2e/pictures',
    'e2e/postgres',
    'e2e/postgres-company',
    'e2e/prompts',
    'e2e/readme',
    'e2e/several-daemons',
    'e2e/skills',
    'e2e/sources-everywhere',
    'e2e/stalled-database',
    'e2e/storm',
    'e2e/terminal',
    'e2e/your-own-database',
    'mcp/daemons',
    'mcp/early-calls',
    'mcp/resuming',
    'oauth/announcements',
    'oauth/shared-tokens',
    'systemd/debian',
    'systemd/image',
    'systemd/proxy',
    'systemd/units',
    'tools/own/module',
    'tools/own/module-types',
    'tools/own/modules',
    'tools/own/own-tools',
    'tools/own/sql-values',
  ].map((name) => `test/${name}.test.ts`),
]

const asked = process.argv.slice(2)
const everything = asked.includes('--all')
const words = asked.filter((word) => !word.startsWith('--'))
/** Each file in a process of its own, without what neighbours hold. */
const singly = asked.includes('--singly')
/** Which of so many parts of the files are run; what is in it differs with each commit. */
const partAsked = /^--part=([1-9]\d*)\/([1-9]\d*)$/.exec(
  asked.find((word) => word.startsWith('--part=')) ?? '--part=1/1',
)
if (!partAsked) throw new Error('say which part as in --part=2/12')
const [part, parts] = partAsked.slice(1).map(Number) as [number, number]
// Where all is asked, twenty times as many drawn questions are.
if (everything) process.env['SAME_ANSWERS_CASES'] ??= '20000'
const names = testFolders.flatMap((root) =>
  readdirSync(join(project, root), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => `${root}/${name}`),
)
const gone = long.filter((name) => !names.includes(name))
if (gone.length > 0) throw new Error(`test/run.ts names files that are gone: ${gone.join(', ')}`)
const files = names
  .filter((name) =>
    words.length === 0 ? everything || !long.includes(name) : words.some((word) => isMeant(name, word)),
  )
  .map((name) => join(project, name))
  .sort()
  .filter((_, index) => (index + seedOfCommit()) % parts === part % parts)

if (files.length === 0) {
  console.error(`no test file matches ${words.join(' ') || 'test/**/*.test.ts'}`)
  process.exit(1)
}

/** What watches how late the service is: after all others, one at a time, so that the machine is theirs. */
const alone = [
  'attacks/event-loop',
  'attacks/near-names',
  'attacks/own-data',
  'attacks/searches',
  'attacks/untrusted-work',
].map((name) => join(project, `test/${name}.test.ts`))
const turns = [files.filter((file) => !alone.includes(file)), files.filter((file) => alone.includes(file))]

// Files that are named run as they stand, by tsx; for all of them, translating each time would be most of the work.
const compiled = words.length === 0 && !singly
if (compiled) process.execArgv = ['--enable-source-maps']
if (asked.includes('--times')) recordTimes()
let executed = 0
async function* inTurn(): AsyncGenerator<{ type: string }> {
  for (const [turn, mine] of turns.entries()) {
    if (mine.length === 0) continue
    for await (const event of run({
      files: compiled ? await compileTests(mine, long) : mine,
      concurrency: turn > 0 ? 1 : availableParallelism(),
      timeout: 1_200_000,
    }) as AsyncIterable<{ type: string }>) {
      if (event.type === 'test:pass' || event.type === 'test:fail') executed++
      if (event.type === 'test:fail') process.exitCode = 1
      yield event
    }
  }
  if (executed === 0) process.exitCode = 1
}
const results = Readable.from(inTurn(), { objectMode: true })
if (process.stdout.isTTY) results.compose(new spec()).pipe(process.stdout)
else results.compose(tap).pipe(process.stdout)
