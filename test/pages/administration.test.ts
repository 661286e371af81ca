/** The pages of the administration: what the command line answers, in the same words and with the same audit events, for two roles. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { operate, stream } from '../../src/cli/control.ts'
import { createSiteEditor } from '../../src/pages/admin/site-editor.ts'
import { fileDigest } from '#site/read-site.ts'
import { mcpPath, type RunningService } from '../cli/running-service.ts'
import { Browser, fieldsOn, type Page } from '../helpers/browser.ts'
import { runCli } from '../helpers/daemon.ts'
import {
  administered,
  assistantAdmin,
  audited,
  git,
  manager,
  page,
  password,
  sales,
  send,
  signIn,
} from './administered.ts'
import { callTool } from '../helpers/tool-calls.ts'

const pages = ['/admin', '/admin/people', '/admin/tools', '/admin/clients', '/admin/files']

async function tokenOf({ daemon }: RunningService, user: string): Promise<string> {
  const { accessToken } = await daemon.services.tokens.issue({
    user,
    client: 'assistant-core-cli',
    clientName: 'a script',
    scopes: ['all'],
    resource: 'urn:assistant-core:this-server',
  })
  return accessToken
}

async function pings({ url }: RunningService, token: string): Promise<number> {
  const response = await fetch(url + mcpPath, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
  })
  return response.status
}

const html = { headers: { accept: 'text/html' } }

/** Without what every answer has of its own. */
function plain({ status, html }: Page): string {
  return `${status} ${html.replaceAll(/Request id: <code>[\w-]+|[\w-]{20,}/g, '')}`
}

describe('the administration', () => {
  it('is not there for who has neither role, whatever they ask or send, and nothing changes', async (t) => {
    const service = await administered(t)
    const { url } = service
    const token = await tokenOf(service, manager)
    const browser = await signIn(service, sales)
    const nowhere = plain(page(await browser.open(`${url}/there-is-no-such-page`, html)))
    assert.match(nowhere, /^404 /)
    for (const path of pages) assert.equal(plain(page(await browser.open(url + path, html))), nowhere, path)
    assert.equal(plain(page(await browser.open(`${url}/admin/people?user=${sales}`, html))), nowhere)
    assert.doesNotMatch(page(await browser.open(url)).html, /\/admin/)
    const account = page(await browser.open(`${url}/account`)).html
    const csrf = /name="csrf" value="([^"]+)"/.exec(account)![1]!
    for (const action of ['people/token-revoke', 'clients/remove', 'reload', 'doctor', 'files/save']) {
      const sent = await browser.open(`${url}/admin/${action}`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', origin: url },
        body: new URLSearchParams({ csrf, id: 'x' }),
      })
      assert.ok([403, 404].includes(page(sent).status), action)
    }
    assert.equal(await pings(service, token), 200)
    assert.deepEqual(await audited(service, 'cli.run'), [])
    const stranger = page(await new Browser().open(`${url}/admin/people?user=${sales}`))
    assert.match(stranger.html, /name="next" value="\/admin\/people\?user=sales%40example\.com"/)
  })

  it('explains access with the lines that the command line names', async (t) => {
    const service = await administered(t)
    const browser = await signIn(service, manager)
    const open = async (path: string): Promise<string> => page(await browser.open(service.url + path)).html
    assert.match(await open('/admin/people'), /helper@example\.com<\/a>/)
    assert.doesNotMatch(await open('/admin/people?words=HELPER'), /sales@example\.com/)
    const shown = await open(`/admin/people?user=${sales}&subject=Sales%20Order&name=SO-00001`)
    const told: string[] = []
    for await (const one of stream(
      service.options,
      'access.explain' as 'audit.search',
      {
        user: sales,
        subject: 'Sales Order',
        name: 'SO-00001',
      } as object,
    ))
      told.push(...(one as unknown as { reasons: { source: string }[] }).reasons.map(({ source }) => source))
    assert.ok(told.length > 5)
    for (const source of told.flatMap((text) => text.split(', '))) assert.ok(shown.includes(source), source)
    assert.match(shown, /href="\/admin\/files\?file=config%2Fdoctypes%2Fsales-order\.yaml#L\d+"/)
    assert.match(
      await open(`/admin/people?user=${sales}&subject=Nonsense`),
      /neither a tool, a power nor a doctype/,
    )
    assert.match(await open('/admin/tools'), /config\/tools\.yaml:\d+/)
  })

  it('tells who keeps most, and what will leave the log, as status, doctor and /readyz do', async (t) => {
    const service = await administered(t)
    const { site, options, url } = service
    const settings = join(site, 'config/settings.yaml')
    const text = readFileSync(settings, 'utf8')
      .replace('max_documents_per_user: 250000', 'max_documents_per_user: 11')
      .replace('retention_days: 180', 'retention_days: 90')
    writeFileSync(settings, text)
    await operate(options, 'site.reload', {})
    const token = await tokenOf(service, sales)
    // Beside ten of the first documents.
    await callTool(service, token, 'create_document', { doctype: 'Note', data: { title: 'Kept' } })
    const health = page(await (await signIn(service, manager)).open(`${url}/admin`, html))
    assert.match(health.html, new RegExp(`${sales}</th><td>Note</td><td>11</td>.*class="fault">100 %`))
    const announced = /from \S+ on the log is kept for 90 days/
    assert.match(health.html, announced)
    const { stdout } = await runCli(['status', '--site', site, '--state', service.state])
    assert.match(stdout, new RegExp(`nearly full: ${sales} keeps 11 Note documents, .*: 100 % of what is`))
    assert.match(stdout, announced)
    assert.match(await (await fetch(`${url}/readyz`)).text(), announced)
    const doctor = await runCli(['doctor', '--site', site, '--state', service.state])
    assert.match(doctor.stdout, announced)
  })

  it('tells the admin of the assistant nothing of business data, and lets them edit nothing', async (t) => {
    const service = await administered(t, { edits: true })
    const browser = await signIn(service, assistantAdmin)
    const open = async (path: string): Promise<Page> => page(await browser.open(service.url + path))
    const one = await open(`/admin/people?user=${sales}&subject=Customer&name=NO-SUCH-CUSTOMER`)
    assert.doesNotMatch(one.html, /NO-SUCH-CUSTOMER"? is|there is no Customer/)
    assert.doesNotMatch(one.html, /name="name"/)
    assert.doesNotMatch((await open('/admin/files')).html, /config\/seeds/)
    assert.equal((await open('/admin/files?file=config/seeds/customer.yaml')).status, 404)
    const shown = await open('/admin/files?file=config/users.yaml&edit=1')
    assert.match(shown.html, /only a System Manager edits the site here/)
    assert.doesNotMatch(shown.html, /<textarea/)
    const before = readFileSync(join(service.site, 'config/users.yaml'), 'utf8')
    const hash = 'whatever'
    const sent = await send(service, browser, '/admin', '/admin/files/save?file=config/users.yaml', {
      text: before.replace('roles: [Assistant Admin]', 'roles: [System Manager]'),
      hash,
    })
    // The token of one page is none for another.
    assert.equal(sent.status, 403)
    assert.equal(readFileSync(join(service.site, 'config/users.yaml'), 'utf8'), before)
    assert.equal((await open('/admin/files?file=../state/lock')).status, 404)
    assert.equal((await open('/admin/files?file=prompts/x.md')).status, 404)
  })

  it('revokes what the command line revokes, after a recent sign-in, and the log says who did', async (t) => {
    const service = await administered(t)
    const token = await tokenOf(service, sales)
    const [{ id }] = (await service.daemon.services.tokens.list({ user: sales })) as unknown as [
      { id: string },
    ]
    const { secret, key } = await service.daemon.services.apiKeys.create({ user: sales, label: '<b>x</b>' })
    const browser = await signIn(service, assistantAdmin)
    const about = `/admin/people?user=${sales}`
    const revoke = (deed: string, fields: Record<string, string>): Promise<Page> =>
      send(service, browser, about, `/admin/people/${deed}?user=${sales}`, fields)

    service.pass(901)
    const asked = await revoke('token-revoke', { id })
    assert.match(asked.html, /<h1>Sign in<\/h1>/)
    assert.match(asked.html, /value="\/admin\/people\?user=sales%40example\.com"/)
    assert.equal(await pings(service, token), 200)
    assert.deepEqual(await audited(service, 'cli.run'), [])

    await browser.submit(asked, { username: assistantAdmin, password })
    const done = await revoke('token-revoke', { id })
    assert.match(done.html, /role="status" class="done">The token has ended/)
    assert.equal(await pings(service, token), 401)
    assert.match((await revoke('token-revoke', { id })).html, /role="alert"[^>]*>that had ended already/)
    assert.equal((await revoke('key-revoke', { id: 'none' })).status, 404)
    assert.match((await revoke('key-revoke', { id: key.id })).html, /The key has ended/)
    assert.ok(!('key' in (await service.daemon.services.apiKeys.check(key.id, secret))))
    assert.deepEqual(await audited(service, 'cli.run'), [
      `${assistantAdmin} tokens.revoke ok`,
      `${assistantAdmin} tokens.revoke ok`,
      `${assistantAdmin} api_keys.revoke error`,
      `${assistantAdmin} api_keys.revoke ok`,
    ])
  })

  it('shows apps by harmless names, and ends one with all that it was given', async (t) => {
    const service = await administered(t)
    const { services } = service.daemon
    const description = {
      name: '<img src=x onerror=alert(1)>\u202e',
      redirectUris: ['https://app.example/callback'],
    }
    const { client } = await services.clients.register(
      { ...description, authMethod: 'none', metadata: {} } as unknown as Parameters<
        typeof services.clients.register
      >[0],
      'operator',
      async () => {},
    )
    const { accessToken } = await services.tokens.issue({
      user: sales,
      client: client.id,
      clientName: client.name,
      scopes: ['all'],
      resource: 'urn:assistant-core:this-server',
    })
    const browser = await signIn(service, manager)
    const list = page(await browser.open(`${service.url}/admin/clients`)).html
    assert.ok(!list.includes('<img src=x'), 'escaped')
    const about = `/admin/clients?client=${client.id}`
    assert.match(page(await browser.open(service.url + about)).html, /sales@example\.com/)
    const ended = await send(service, browser, about, `/admin/clients/client-revoke?client=${client.id}`, {
      id: client.id,
    })
    assert.match(ended.html, /access through this client is left/)
    assert.equal(await pings(service, accessToken), 401)
    const removed = await send(service, browser, about, '/admin/clients/remove', { id: client.id })
    assert.match(removed.html, /The client was removed/)
    assert.equal(await services.clients.find(client.id), undefined)
    assert.equal(page(await browser.open(service.url + about)).status, 404)
  })
})

describe('the configuration', () => {
  const file = 'config/users.yaml'
  const address = `/admin/files?file=${file}&edit=1`
  const save = `/admin/files/save?file=${file}`

  async function opened(service: RunningService, browser: Browser): Promise<{ text: string; hash: string }> {
    const { html } = page(await browser.open(service.url + address))
    const text = readFileSync(join(service.site, file), 'utf8')
    return { text, hash: /name="hash" value="([0-9a-f]{64})"/.exec(html)![1]! }
  }

  it('is edited as a commit in the name of whoever edits, and is in use at once', async (t) => {
    const service = await administered(t, { edits: true })
    const browser = await signIn(service, manager)
    const { text, hash } = await opened(service, browser)
    const wanted = text.replace('Hal Helper', 'Hal "Prince" Helper-Ünal').replaceAll('\n', '\r\n')
    const done = await send(service, browser, address, save, { text: wanted, hash })
    assert.match(done.html, /The file was saved and committed/)
    assert.equal(service.daemon.services.people().find(assistantAdmin)?.fullName, 'Hal "Prince" Helper-Ünal')
    assert.match(
      git(service.site, 'log', '-1', '--format=%an <%ae> %s'),
      /<admin@example\.com> config\/users\.yaml: /,
    )
    assert.equal(git(service.site, 'status', '--porcelain'), '')
    assert.ok(!readFileSync(join(service.site, file), 'utf8').includes('\r'))
    assert.deepEqual(await audited(service, 'site.edit'), [`${manager} ${file} ok`])
  })

  it('is not overwritten by who began before another saved: they see both, and nothing typed is lost', async (t) => {
    const service = await administered(t, { edits: true })
    const [one, other] = [await signIn(service, manager), await signIn(service, manager)]
    const { text, hash } = await opened(service, one)
    await opened(service, other)
    await send(service, one, address, save, { text: text.replace('Hal Helper', 'Of one'), hash })
    const theirs = text.replace('Hal Helper', 'Of the other')
    const refused = await send(service, other, address, save, { text: theirs, hash })
    assert.equal(refused.status, 409)
    assert.match(refused.html, /changed by somebody else since you began/)
    assert.match(refused.html, /-.*Of one[^\n]*\n\+.*Of the other/)
    assert.match(refused.html, /<textarea[^>]*>[^<]*Of the other/)
    assert.match(readFileSync(join(service.site, file), 'utf8'), /Of one/)
    const again = /name="hash" value="([0-9a-f]{64})"/.exec(refused.html)![1]!
    await send(service, other, address, save, { text: theirs, hash: again })
    assert.match(readFileSync(join(service.site, file), 'utf8'), /Of the other/)
    assert.deepEqual(await audited(service, 'site.edit'), [
      `${manager} ${file} ok`,
      `${manager} ${file} error`,
      `${manager} ${file} ok`,
    ])
  })

  it('is checked whole before it is written; what is wrong is told at its line, and nothing changed', async (t) => {
    const service = await administered(t, { edits: true })
    const browser = await signIn(service, manager)
    const { text, hash } = await opened(service, browser)
    const head = git(service.site, 'rev-parse', 'HEAD')
    const wrong = text.replace('roles: [Assistant Admin]', 'roles: [Asistant Admin]')
    const line = wrong.split('\n').findIndex((one) => one.includes('Asistant')) + 1
    const refused = await send(service, browser, address, save, { text: wrong, hash })
    assert.equal(refused.status, 400)
    assert.match(refused.html, new RegExp(`Line ${line}.*did you mean &quot;Assistant Admin&quot;`))
    assert.match(refused.html, /<textarea[^>]*>[^]*Asistant Admin/)
    service.pass(901)
    const late = await send(service, browser, address, save, { text: `${text}# late`, hash })
    assert.equal(late.status, 403)
    assert.match(late.html, /sign in again/)
    assert.match(late.html, /<textarea[^>]*>[^]*# late/)
    assert.match(late.html, /<a href="\/sign-in" target="_blank">Sign in<\/a>/)
    assert.equal(readFileSync(join(service.site, file), 'utf8'), text)
    assert.equal(git(service.site, 'rev-parse', 'HEAD'), head)
    assert.equal(service.daemon.services.site.state().faults.length, 0)
    // In another tab of the same browser; what was typed in this one outlives the session in which it was begun.
    const other = page(await browser.open(`${service.url}/sign-in`))
    await browser.submit(other, { username: manager, password })
    const body = fieldsOn(late, '/admin/files/save')
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      origin: service.url,
      'sec-fetch-site': 'same-origin',
    }
    const again = page(await browser.open(service.url + save, { method: 'POST', headers, body }))
    assert.equal(again.status, 403)
    assert.match(again.html, /you have signed in again since[^]*<textarea[^>]*>[^]*# late/)
    assert.equal(git(service.site, 'rev-parse', 'HEAD'), head)
    await browser.fill(again, '/admin/files/save')
    assert.match(readFileSync(join(service.site, file), 'utf8'), /# late/)
  })

  it('is only shown where the site does not say that browsers edit it, even where prompts are committed', async (t) => {
    const service = await administered(t, { commits: true })
    const browser = await signIn(service, manager)
    const { html } = page(await browser.open(service.url + address))
    assert.match(html, /git\.edit_in_browser is off/)
    assert.doesNotMatch(html, /<textarea/)
    assert.match(html, /<li id="L1"><code>/)
    const text = readFileSync(join(service.site, file), 'utf8')
    const head = git(service.site, 'rev-parse', 'HEAD')
    const csrf = /name="csrf" value="([^"]+)"/.exec(
      page(await browser.open(`${service.url}/admin/files`)).html,
    )
    assert.equal(csrf, null, 'there is no form')
    const editor = createSiteEditor(service.daemon.services)
    const edit = { text: `${text}# more\n`, hash: fileDigest(Buffer.from(text)) }
    const user = service.daemon.services.people().find(manager)!
    await assert.rejects(editor.save(user, file, edit), {
      code: 'forbidden',
      message: /git\.edit_in_browser/,
    })
    assert.equal(readFileSync(join(service.site, file), 'utf8'), text)
    assert.equal(git(service.site, 'rev-parse', 'HEAD'), head)
  })
})
