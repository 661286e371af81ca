/**
 * How long a large library takes: first reading, reload of one change, lists, search.
 * Run with `node --import tsx bench/library/library.ts [TEMPLATES]`; prints one JSON object.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import process from 'node:process'
import type { Audit } from '#audit/audit.ts'
import { systemClock } from '#leaf/clock.ts'
import { createLog } from '#leaf/log.ts'
import { roleKeyOf, type Principal } from '../../src/core/principal.ts'
import { Librarian } from '../../src/library/librarian.ts'
import type { Channels } from '../../src/library/versions/channels.ts'
import { emptyCache, readSite } from '#site/read-site.ts'
import type { Fault } from '#site/site-files.ts'
import { openEmbeddedStore } from '#state/embedded/store.ts'

const count = Number(process.argv[2] ?? 10_000)
const folder = await mkdtemp(join(tmpdir(), 'assistant-core-bench-'))
const log = createLog('error', process.stderr)
const store = await openEmbeddedStore({ folder: join(folder, 'state'), clock: systemClock, log })
const audit: Audit = {
  record: () => Promise.resolve(),
  recordIn: () => Promise.resolve(),
  requireWritable: () => undefined,
}
const librarian = new Librarian({ store, audit, clock: systemClock })
const links = {
  reads: () => true,
  exists: () => Promise.resolve(true),
  find: () => Promise.resolve({ values: [], total: 0 }),
}
const roles = ['Assistant User', 'Sales User']
const principal: Principal = {
  user: 'sales@example.com',
  fullName: 'Sales',
  roles: new Set(roles),
  roleKey: roleKeyOf(roles),
  scopes: [],
  requestId: 'bench',
}
const result: Record<string, number> = { templates: count }

async function timed<T>(name: string, work: () => T | Promise<T>): Promise<T> {
  const begun = performance.now()
  const value = await work()
  result[name] = Math.round((performance.now() - begun) * 1000) / 1000
  return value
}

function text(index: number, more = ''): string {
  const visibility = ['Public', 'Private', 'Shared\nshared_with_roles: [Sales User]'][index % 3]!
  return `---
title: Template number ${index}
description: Does thing ${index % 100}
status: Published
visibility: ${visibility}
owner: hr@example.com
tags: [t${index % 50}]
arguments:
  - { argument_name: focus, argument_type: select, is_required: 1, allowed_values: 'a, b, c' }
  - { argument_name: flag, argument_type: boolean, default_value: false }
---
Look at {{ focus }} with \`list_documents\`.${more}
{% if flag %}${'Some more text that explains the work in detail. '.repeat(20)}{% endif %}
{% for step in [1, 2, 3] %}- step {{ step }} of ${index}
{% endfor %}
`
}

const cache = emptyCache()
const nothing: ReadonlySet<string> = new Set()
async function load(name: string): Promise<Channels> {
  const files = await timed(`${name}, files (ms)`, () => readSite(join(folder, 'site'), { cache }))
  const faults: Fault[] = []
  return timed(`${name}, library (ms)`, async () => {
    const read = await librarian.read(files, faults, [], {
      people: {
        users: new Map(),
        roles: new Map([['Sales User', { name: 'Sales User', description: '', source: '' }]]),
        find: () => undefined,
      },
      toolNames: new Set(['list_documents']),
      doctypeNames: new Set(),
      readers: [],
      channels: {},
      packageVersion: 'bench',
    })
    if (faults.length > 0) throw new Error(faults[0]!.message)
    return librarian.open(read, links, () => nothing)
  })
}

try {
  for (let part = 0; part < 100; part++)
    await mkdir(join(folder, 'site/prompts', `d${part}`), { recursive: true })
  const write = (index: number, more = ''): Promise<void> =>
    writeFile(join(folder, 'site/prompts', `d${index % 100}`, `p${index}.md`), text(index, more))
  for (let index = 0; index < count; index++) await write(index)

  await load('first reading')
  await write(1, ' Changed.')
  const library = await load('one change')
  await timed('first list of a role set (ms)', () => library.for(principal).prompts(principal))
  await timed('100000 further lists (ms)', () => {
    for (let round = 0; round < 100_000; round++) library.for(principal).prompts(principal)
  })
  await timed('1000 renderings (ms)', async () => {
    for (let round = 0; round < 1000; round++)
      await library.for(principal).render(principal, 'p0', { focus: 'a', flag: 'true' })
  })
  const index = await timed('search index (ms)', () => library.site.index())
  await timed('100 searches (ms)', () => {
    for (let round = 0; round < 100; round++) index.find(`number ${round}`, () => true)
  })
  result['rss (MB)'] = Math.round(process.memoryUsage().rss / 1e6)
  process.stdout.write(`${JSON.stringify(result, undefined, 2)}\n`)
} finally {
  await librarian.close()
  await store.close()
  await rm(folder, { recursive: true, force: true })
}
