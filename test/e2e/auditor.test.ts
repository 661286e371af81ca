/** The Auditor audits without a shell: a page, an export and a tool, by role, and all of it told in the log. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { Browser } from '../helpers/browser.ts'
import { copyOfShippedSite, startDaemon } from '../helpers/daemon.ts'
import { callTool, tokenOf } from '../helpers/tool-calls.ts'

const password = 'correct horse battery staple'
const [auditor, sales] = ['audit@example.com', 'sales@example.com']

describe('an auditor', () => {
  it('finds who read a document, exports it, mistypes a filter and keeps it, and nobody else does', async (t) => {
    const site = copyOfShippedSite(t)
    const users = join(site, 'config/users.yaml')
    writeFileSync(
      users,
      `${readFileSync(users, 'utf8').trimEnd()}\n  - { email: ${auditor}, full_name: Ada Audit, roles: [Assistant User, Auditor], assistant_enabled: 1 }\n`,
    )
    const daemon = await startDaemon(t, { site })
    for (const user of [auditor, sales]) {
      const set = await daemon.cli(['users', 'passwd', user, '--password-stdin'], password)
      assert.equal(set.code, 0, set.stderr)
    }
    const call = async (user: string, name: string, args: object): Promise<any> =>
      (await callTool(daemon, await tokenOf(daemon, user), name, args)).json()
    const listed = await call(sales, 'list_documents', { doctype: 'Customer', limit: 1 })
    const [{ name }] = JSON.parse(listed.result.content[0].text).data as [{ name: string }]
    const document = `Customer/${name}`

    const found = await call(auditor, 'search_audit', { document })
    const { events } = JSON.parse(found.result.content[0].text) as {
      events: { user: string; target: string }[]
    }
    assert.deepEqual(
      events.map((event) => [event.user, event.target]),
      [[sales, 'list_documents']],
    )
    const refused = await call(sales, 'search_audit', { document })
    assert.ok(refused.error, JSON.stringify(refused))
    const wrong = await call(auditor, 'search_audit', { document: 'Customer', since: 'whenever' })
    assert.match(wrong.result.content[0].text, /document: must be.*since: must be/)

    const theirs = await signedIn(daemon.url, auditor)
    const home = await theirs.open(daemon.url)
    assert.ok('html' in home && home.html.includes('href="/audit"'))
    const query = new URLSearchParams({ document }).toString()
    const page = await theirs.open(`${daemon.url}/audit?${query}`)
    assert.ok(
      'html' in page && page.status === 200 && page.html.includes('list_documents'),
      JSON.stringify(page),
    )
    assert.ok(page.html.includes('assistant-core command line'), 'a client by its name')
    assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'/)
    const mistyped = await theirs.open(`${daemon.url}/audit?user=${auditor}&since=whenever`)
    assert.ok('html' in mistyped && mistyped.status === 400)
    assert.match(mistyped.html, new RegExp(`name="user" value="${auditor}"`))
    assert.match(mistyped.html, /name="since" value="whenever"[^]*?must be a date/)
    const csv = await theirs.open(`${daemon.url}/audit/export.csv?${query}`)
    assert.ok('html' in csv && csv.html.startsWith('seq,time,type,'), JSON.stringify(csv))
    assert.match(csv.headers.get('content-disposition') ?? '', /attachment; filename="audit.csv"/)
    const lines = await theirs.open(`${daemon.url}/audit/export.jsonl?${query}`)
    assert.ok('html' in lines)
    assert.equal((JSON.parse(lines.html.split('\n')[0]!) as { user: string }).user, sales)

    const other = await signedIn(daemon.url, sales)
    for (const path of ['/audit', '/audit/export.csv']) {
      const shut = await other.open(daemon.url + path)
      assert.ok('status' in shut && shut.status === 403, JSON.stringify(shut))
    }
    const told = (await daemon.cli(['audit', 'search', '--type', 'audit.', '--json'])).stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; user: string; status: string })
      .map(({ type, user, status }) => `${type} ${user} ${status}`)
    assert.deepEqual(told, [
      `audit.view ${auditor} ok`,
      `audit.view ${auditor} error`,
      `audit.export ${auditor} ok`,
      `audit.export ${auditor} ok`,
      `audit.view ${sales} denied`,
      `audit.export ${sales} denied`,
    ])
    const table = await daemon.cli(['audit', 'export', '--format', 'csv', '--document', document])
    assert.match(table.stdout, /^seq,time,type,.*\r\n/)

    // However much there is, a page stays small, and the older events are a page further.
    for (let count = 0; count < 60; count++)
      await call(sales, 'search_documents', { query: `"'<&>${count}`.repeat(40) })
    const seen = new Set<number>()
    let older: string | undefined = '/audit'
    for (let pages = 0; older !== undefined; pages++) {
      const shown = await theirs.open(daemon.url + older)
      assert.ok('html' in shown && pages < 20)
      assert.ok(Buffer.byteLength(shown.html) < 100_000, String(Buffer.byteLength(shown.html)))
      for (const [, seq] of shown.html.matchAll(/aria-label="Event (\d+)"/g)) seen.add(Number(seq))
      older = /<a href="(\/audit\?[^"]*)">Older events/.exec(shown.html)?.[1]?.replaceAll('&amp;', '&')
      assert.ok(pages > 0 || older !== undefined, 'there is more than one page')
    }
    const newest = Math.max(...seen)
    assert.deepEqual(
      Array.from({ length: newest }, (_, index) => index + 1).filter((seq) => !seen.has(seq)),
      [],
    )
  })
})

async function signedIn(url: string, username: string): Promise<Browser> {
  const browser = new Browser()
  const form = await browser.open(`${url}/sign-in`)
  assert.ok('html' in form)
  await browser.submit(form, { username, password })
  return browser
}
