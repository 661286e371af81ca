/** A call that waits for its user on a page of ours: what a model cannot do for them. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { Browser } from '../helpers/browser.ts'
import { copyOfShippedSite, startDaemon, type RunningDaemon } from '../helpers/daemon.ts'
import { callTool, tokenOf } from '../helpers/tool-calls.ts'

const admin = { username: 'admin@example.com', password: 'correct horse battery staple' }
const other = { username: 'sales@example.com', password: 'another horse battery staple' }

describe('confirm: page', () => {
  it('runs exactly the call that its user allowed in the browser, once, and audits the decision', async (t) => {
    const site = copyOfShippedSite(t)
    const tools = join(site, 'config/tools.yaml')
    writeFileSync(tools, `${readFileSync(tools, 'utf8')}  delete_document:\n    confirm: page\n`)
    const daemon = await startDaemon(t, { site })
    for (const person of [admin, other]) {
      const set = await daemon.cli(['users', 'passwd', person.username, '--password-stdin'], person.password)
      assert.equal(set.code, 0, set.stderr)
    }
    const token = await tokenOf(daemon, admin.username)
    const tool = (name: string, args: object): Promise<any> => resultOf(daemon, token, name, args)
    const note = JSON.parse(
      (await tool('create_document', { doctype: 'Note', data: { title: 'To be removed' } })).content[0].text,
    ) as { name: string }
    const target = { doctype: 'Note', name: note.name }

    const waiting = await tool('delete_document', target)
    assert.equal(waiting.isError, true)
    const url = /https?:\/\/\S+\/approvals\/[\w-]+/.exec(waiting.content[0].text)?.[0]
    assert.ok(url, waiting.content[0].text)
    assert.equal((await tool('get_document', target)).isError, false, 'nothing happened yet')

    // Another user, signed in, finds nothing there.
    const stranger = new Browser()
    const form = await stranger.open(url)
    assert.ok('html' in form && /password/.test(form.html))
    const denied = await stranger.submit(form, other)
    assert.ok('status' in denied && denied.status === 404, JSON.stringify(denied))

    const browser = new Browser()
    const signIn = await browser.open(url)
    assert.ok('html' in signIn)
    const page = await browser.submit(signIn, admin)
    assert.ok('html' in page && page.html.includes(note.name), JSON.stringify(page))
    // A forged decision, without the form's own token, changes nothing.
    const forged = await browser.open(url, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'decision=approve',
    })
    assert.ok('status' in forged && forged.status === 403)
    assert.ok(page.html.includes('To be removed'), 'the document is shown by its title')
    const list = await browser.open(`${daemon.url}/approvals`)
    assert.ok('html' in list && list.html.includes(`href="${new URL(url).pathname}"`), JSON.stringify(list))
    const home = await browser.open(daemon.url)
    assert.ok('html' in home && home.html.includes(`href="${new URL(url).pathname}"`), JSON.stringify(home))
    const done = await browser.submit(page, { decision: 'approve' })
    assert.ok('html' in done && /approved/.test(done.html))

    const another = await tool('delete_document', { ...target, name: `${note.name}-2` })
    assert.equal(another.isError, true, 'other arguments need an approval of their own')
    const deleted = await tool('delete_document', target)
    assert.equal(deleted.isError, false, deleted.content[0].text)
    assert.equal((await tool('get_document', target)).isError, true)

    const events = (await daemon.cli(['audit', 'search', '--json', '--type', 'tool.approve'])).stdout
    assert.match(events, new RegExp(`"user":"${admin.username}"`))
    const seen = await daemon.cli([
      'audit',
      'search',
      '--type',
      'approval.view',
      '--document',
      `Note/${note.name}`,
    ])
    assert.match(seen.stdout, /approval\.view/, 'whoever decides about a document reads it')
  })
})

describe('the page of a call', () => {
  it('shows what changes, before and after, as far as its reader may read it', async (t) => {
    const site = copyOfShippedSite(t)
    const tools = join(site, 'config/tools.yaml')
    const page = 'confirm: page'
    writeFileSync(
      tools,
      readFileSync(tools, 'utf8')
        .replace('  create_document:\n', `  create_document:\n    ${page}\n`)
        .replace('  update_document:\n', `  update_document:\n    ${page}\n`),
    )
    const daemon = await startDaemon(t, { site })
    await daemon.cli(['users', 'passwd', other.username, '--password-stdin'], other.password)
    const token = await tokenOf(daemon, other.username)
    const tool = (name: string, args: object): Promise<any> => resultOf(daemon, token, name, args)
    const [customer] = JSON.parse(
      (
        await tool('list_documents', {
          doctype: 'Customer',
          fields: ['customer_name', 'territory'],
          limit: 1,
        })
      ).content[0].text,
    ).data as [{ name: string; customer_name: string; territory: string }]
    const browser = new Browser()
    const open = async (waiting: any): Promise<string> => {
      const address = /https?:\/\/\S+\/approvals\/[\w-]+/.exec(waiting.content[0].text)![0]
      let shown = await browser.open(address)
      if ('html' in shown && /name="?password"?/.test(shown.html)) shown = await browser.submit(shown, other)
      assert.ok('html' in shown && shown.status === 200, JSON.stringify(shown))
      return shown.html.replace(/\s+/g, ' ')
    }
    const target = { doctype: 'Customer', name: customer.name }
    const update = await open(
      await tool('update_document', { ...target, data: { territory: 'South <b>', credit_limit: 5 } }),
    )
    assert.ok(update.includes(customer.customer_name))
    assert.match(update, new RegExp(`<td>${customer.territory}</td><td>South &lt;b&gt;</td>`))
    // A sales user does not see the limit that is there, and is not told it here.
    assert.match(update, /<td>\[masked\]<\/td><td>5<\/td>/)
    const create = await open(
      await tool('create_document', { doctype: 'Note', data: { title: 'Fresh', content: 'two\nlines' } }),
    )
    assert.match(create, /a new one/)
    assert.match(create, /<td>Fresh<\/td>/)
    const missing = await open(
      await tool('update_document', { ...target, name: 'Nobody', data: { territory: 'x' } }),
    )
    assert.match(missing, /You can read no Customer of this name/)
  })
})

async function resultOf(daemon: RunningDaemon, token: string, name: string, args: object): Promise<any> {
  const response = await callTool(daemon, token, name, args, { 'mcp-protocol-version': '2025-06-18' })
  const body = (await response.json()) as { result?: unknown; error?: unknown }
  assert.ok(body.result, JSON.stringify(body))
  return body.result
}
