/** An update of one daemon after the other on one database: from the first newer one on, the older writes nothing and loses nothing. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { copyOfProgram, type RunningDaemon, startDaemon } from '../helpers/daemon.ts'
import { inDatabase, noPostgres, startPostgres } from '../helpers/postgres.ts'
import { until } from '../../packages/state/test/state-folder.ts'
import { folders, noPython } from '../cli/running-service.ts'
import { callTool, tokenOf } from '../helpers/tool-calls.ts'

const person = 'sales@example.com'

/** What a release does that changes the shape of what is stored. */
const step = `[{
  to: 1,
  title: 'notes say that they were brought along',
  run: (documents) => {
    for (const note of documents.all('document.note'))
      documents.put('document.note', { ...note, title: note['title'] + ' (brought along)' })
  },
}]`

describe('daemons of two versions on one database', { skip: noPostgres, timeout: 300_000 }, () => {
  it('the older serves until the newer has migrated the state, and from then on refuses to write and says why', async (t) => {
    const site = await siteOn(t)
    const [one, two] = [await startDaemon(t, { site }), await startDaemon(t, { site })]
    const token = await tokenOf(one, person)
    const before = await notes(one, token)
    /** What the people of both were told that it is kept. */
    const kept = new Map<string, string>()
    const refused: string[] = []
    const over = new AbortController()
    const writer = async (daemon: RunningDaemon, name: string): Promise<void> => {
      for (let n = 0; !over.signal.aborted; n++) {
        const title = `${name} ${n}`
        const { status, text, result } = await call(daemon, token, 'create_document', {
          doctype: 'Note',
          data: { title },
        })
        if (result) kept.set(String(result['name']), title)
        else refused.push(`${status} ${text}`)
      }
    }
    const writers = [writer(one, 'one'), writer(two, 'two')]
    await until(() => kept.size >= 6)
    assert.deepEqual(refused, [])

    const program = newerProgram(t)
    const newer = await startDaemon(t, { site, program })
    assert.match(newer.output().stdout, /the state is brought up to date/)
    await until(() => refused.length >= 4)
    over.abort()
    await Promise.all(writers)
    const atMigration = new Map(kept)
    for (const text of refused) assert.match(text, /schema version 1|not available/)

    // Within the next look at the database, which is every five seconds.
    for (const daemon of [one, two]) {
      await until(async () => (await fetch(`${daemon.url}/readyz`)).status === 503)
      const status = await daemon.cli(['status'])
      assert.match(status.stdout, /state fault: .*schema version 1.*newer version/)
    }
    assert.equal((await fetch(`${newer.url}/readyz`)).status, 200)
    const added = await call(newer, token, 'create_document', {
      doctype: 'Note',
      data: { title: 'by the newer' },
    })
    assert.ok(added.result, added.text)
    const found = await notes(newer, token)
    assert.equal(
      found.size,
      before.size + atMigration.size + 1,
      'what was refused was not kept, and what was kept is there',
    )
    for (const [name, title] of atMigration) assert.equal(found.get(name), `${title} (brought along)`)

    // The state as it was lies beside that of the daemon that migrated it, and the older version cannot begin on the new one.
    assert.ok(readFileSync(join(newer.state, 'before-schema-1.backup')).length > 0)
    assert.equal(await one.stop(), 0)
    await assert.rejects(startDaemon(t, { site, state: one.state }), /schema version 1.*use a newer version/)
    const updated = await startDaemon(t, { site, state: one.state, program })
    assert.ok(
      (await call(updated, token, 'create_document', { doctype: 'Note', data: { title: 'both' } })).result,
    )
  })

  async function siteOn(t: TestContext): Promise<string> {
    const url = await (await startPostgres(t)).newDatabase()
    return folders(t, [...inDatabase(t, url), noPython]).site
  }
})

/** This program with one more migration, as the next release would have it. */
function newerProgram(t: TestContext): string {
  const folder = copyOfProgram(t)
  const file = join(folder, 'packages/state/src/migrations.ts')
  const text = readFileSync(file, 'utf8')
  const changed = text.replace('readonly Migration[] = []', () => `readonly Migration[] = ${step}`)
  assert.notEqual(changed, text, 'there is a migration now: this test is to add the one after it')
  writeFileSync(file, changed)
  return join(folder, 'start.mjs')
}

/** Titles by name. */
async function notes(daemon: RunningDaemon, token: string): Promise<Map<string, string>> {
  const { result } = await call(daemon, token, 'list_documents', {
    doctype: 'Note',
    fields: ['name', 'title'],
    limit: 1000,
  })
  const { columns, rows } = result!['data'] as { columns: string[]; rows: [string, string][] }
  assert.deepEqual(columns, ['name', 'title'])
  return new Map(rows)
}

interface Answer {
  readonly status: number
  readonly text: string
  readonly result?: Record<string, unknown>
}

async function call(
  daemon: RunningDaemon,
  token: string,
  name: string,
  args: Record<string, unknown>,
): Promise<Answer> {
  const response = await callTool(daemon, token, name, args)
  const { status } = response
  const text = await response.text()
  if (status !== 200) return { status, text }
  const { result } = JSON.parse(text) as { result?: { isError?: boolean; content: { text: string }[] } }
  if (!result || result.isError) return { status, text }
  return { status, text, result: JSON.parse(result.content[0]!.text) as Record<string, unknown> }
}
