/** Documents that lie in a database of others, at every door of the service: each shows what its caller may see, and no more. */
import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { Client as Database } from 'pg'
import { initSite } from '../../src/house/new-site.ts'
import { paths } from '../../src/oauth/urls.ts'
import { address, customer, erp, invoice } from '../documents/erp.ts'
import { type RunningDaemon, projectRoot, startDaemon, temporaryFolder } from '../helpers/daemon.ts'
import { noPostgres, startPostgres } from '../helpers/postgres.ts'
import { tokenOf } from '../helpers/tool-calls.ts'

const people = { ann: 'ann@example.com', bob: 'bob@example.com', boss: 'boss@example.com' }
type Name = keyof typeof people

const files: Readonly<Record<string, string>> = {
  'config/doctypes/address.yaml': address,
  'config/doctypes/invoice.yaml': invoice.replace('[read], when', '[read, report], when'),
  'config/tools.yaml': '{}\n',
  'config/roles.yaml': 'roles: [{ name: Clerk }, { name: Boss }]\n',
  'config/users.yaml': `users:
  - { email: ${people.ann}, full_name: Ann, assistant_enabled: 1, roles: [Assistant User, Clerk] }
  - { email: ${people.bob}, full_name: Bob, assistant_enabled: 1, roles: [Assistant User, Clerk] }
  - { email: ${people.boss}, full_name: Boss, assistant_enabled: 1, roles: [Assistant User, Boss] }
`,
  // Whoever may read documents with a comment may also assign them; files are kept by those who may change.
  'config/doctypes/customer.yaml': customer
    .replace('fields:\n', '  write: { change: [customer_name] }\nfields:\n')
    .replace('[read, report, comment], if_owner', '[read, report, comment, assign, write], if_owner'),
  'config/reports/owed.yaml': `report: Owed
type: sql
doctypes: [Customer, Invoice]
filters: [{ name: least, type: number, default: 0 }]
sql: |
  SELECT c.country, count(*) AS invoices, sum(i.total) AS total FROM customer c JOIN invoice i ON i.customer = c.name
  WHERE i.total >= $least GROUP BY c.country ORDER BY c.country
`,
  'config/reports/secrets.yaml': `report: Secrets
type: sql
doctypes: [Customer]
sql: SELECT name, secret, credit FROM customer ORDER BY creation LIMIT 3
`,
  'config/reports/germans.yaml': `report: Germans
type: declarative
doctype: Customer
where: { country: DE }
columns: [{ name: name }, { name: customer_name }]
order_by: creation
`,
  'config/reports/companies.yaml': `report: Companies
type: declarative
doctype: Customer
where: { kind: company }
columns: [{ name: name }, { name: customer_name }, { name: secret }]
order_by: creation
`,
  'config/tools/credit.yaml': `tool: credit_of
type: sql
description: What a customer of whoever asks may owe.
source: erp
sql: SELECT c.id, credit FROM erp.customer c JOIN erp.staff s ON s.id = rep WHERE c.id = $id AND email = current_setting('assistant.user')
input: { type: object, additionalProperties: false, required: [id], properties: { id: { type: integer } } }
`,
  'prompts/sales/visit.md': `---
prompt_id: visit
title: Visit a customer
status: Published
visibility: Public
owner: ${people.boss}
rendering_engine: Jinja2
arguments:
  - { argument_name: customer, argument_type: link, doctype: Customer, is_required: 1 }
---
Prepare a visit to {{ customer }}.
`,
}

describe('documents in a database of others', { skip: noPostgres }, () => {
  const steps: (() => unknown)[] = []
  const t = { after: (step: () => unknown) => void steps.push(step) } as unknown as TestContext
  let daemon: RunningDaemon
  let owner: Database
  let site: string
  const clients = new Map<Name, Client>()

  before(async () => {
    const server = await startPostgres(t)
    const url = new URL(await server.newDatabase())
    owner = new Database({ connectionString: url.href })
    owner.on('error', () => undefined)
    await owner.connect()
    await owner.query(`${erp}; GRANT UPDATE (name) ON erp.customer TO reader`)
    const folder = temporaryFolder(t)
    site = join(folder, 'office')
    initSite(site, 'minimal')
    const source = `{ type: postgres, host: 127.0.0.1, port: ${url.port}, database: ${url.pathname.slice(1)}, user: reader }`
    for (const [file, text] of Object.entries({
      ...files,
      'config/sources.yaml': `sources: { erp: ${source} }\n`,
    })) {
      mkdirSync(dirname(join(site, file)), { recursive: true })
      writeFileSync(join(site, file), text)
    }
    for (const one of ['dashboard', 'dashboard-item', 'dashboard-chart'])
      copyFileSync(
        join(projectRoot, `config/doctypes/${one}.yaml`),
        join(site, `config/doctypes/${one}.yaml`),
      )
    const settings = join(site, 'config/settings.yaml')
    writeFileSync(settings, readFileSync(settings, 'utf8').replace('drain_seconds: 3', 'drain_seconds: 0'))
    daemon = await startDaemon(t, { site, state: join(folder, 'state') })
    for (const [name, user] of Object.entries(people) as [Name, string][]) {
      const token = await tokenOf(daemon, user)
      const client = new Client({ name: 'office', version: '1.0.0' })
      const requestInit = { headers: { Authorization: `Bearer ${token}` } }
      await client.connect(
        new StreamableHTTPClientTransport(new URL(daemon.url + paths.mcp), { requestInit }),
      )
      clients.set(name, client)
    }
  })
  after(async () => {
    for (const client of clients.values()) await client.close()
    await owner.end()
    for (const step of steps.toReversed()) await step()
  })

  /** What a tool answers: JSON, or the words of a refusal. */
  async function ask(who: Name, tool: string, args: Record<string, unknown> = {}): Promise<any> {
    const answer = (await clients.get(who)!.callTool({ name: tool, arguments: args })) as {
      content: { type: string; text?: string }[]
      isError?: boolean
    }
    const text = answer.content.flatMap((one) => one.text ?? []).join('\n')
    return answer.isError ? { refused: text } : JSON.parse(text)
  }

  const report = (who: Name, name: string, filters = {}) =>
    ask(who, 'generate_report', { report_name: name, filters })

  it('are what reports in SQL compute over, each from what its reader may see', async () => {
    const expected = async (more: string) => {
      const text = `SELECT country, count(*)::int AS invoices, sum(total)::float8 AS total FROM erp.customer c
        JOIN erp.staff s ON s.id = rep JOIN erp.invoice i ON i.customer_id = c.id WHERE total >= 50 ${more}
        GROUP BY country ORDER BY country`
      return (await owner.query<{ country: string; invoices: number; total: number }>(text)).rows
    }
    const found = async (who: Name) =>
      (await report(who, 'Owed', { least: 50 })).data.map((row: { total: unknown }) => ({
        ...row,
        total: Number(row.total),
      }))
    const ofAnn = await expected(`AND NOT paid AND email = '${people.ann}'`)
    assert.ok(ofAnn.length > 0)
    assert.deepEqual(await found('ann'), ofAnn)
    assert.deepEqual(await found('bob'), await expected(`AND NOT paid AND email = '${people.bob}'`))
    assert.deepEqual(await found('boss'), await expected(''))
  })

  it('keep from reports in SQL, and statements of callers, what is masked for them', async () => {
    for (const answer of [
      await report('ann', 'Secrets'),
      await ask('ann', 'query_and_analyze', { query: 'SELECT secret FROM customer' }),
    ]) {
      assert.match(answer.refused, /secret/)
      assert.doesNotMatch(answer.refused, /word\d/)
    }
    assert.deepEqual(
      (await report('boss', 'Secrets')).data.map(({ name, secret, credit }: Record<string, unknown>) => [
        name,
        secret,
        Number(credit),
      ]),
      [
        ['1', 'word1', 10.25],
        ['2', 'word2', 20.5],
        ['3', 'word3', 30.75],
      ],
    )
    const counted = await ask('ann', 'query_and_analyze', { query: 'SELECT count(*) AS n FROM customer' })
    assert.deepEqual(counted.data, [{ n: 20 }])
  })

  it('are listed by reports under the rules of their reader, who is refused a column that is masked', async () => {
    const names = async (who: Name, name: string) => {
      const { data } = await report(who, name)
      return (data.rows as string[][]).map((row) => row[0])
    }
    assert.deepEqual(
      await names('ann', 'Germans'),
      Array.from({ length: 20 }, (_, at) => String(2 * at + 2)),
    )
    assert.deepEqual((await report('bob', 'Germans')).total_count, 0)
    assert.deepEqual(await names('boss', 'Germans'), await names('ann', 'Germans'))
    assert.match((await report('ann', 'Companies')).refused, /secret is masked for you/)
    const { data } = await report('boss', 'Companies')
    assert.deepEqual(data.rows[0], ['2', 'Customer 2', 'word2'])
  })

  it('are charts and dashboards that show each viewer numbers of their own', async () => {
    const chart = {
      chart_name: 'By country',
      chart_type: 'bar',
      doctype: 'Customer',
      aggregate_function: 'Count',
      based_on: 'country',
    }
    assert.equal((await ask('boss', 'create_dashboard_chart', chart)).success, true)
    const dashboard = { dashboard_name: 'Sales', chart_names: ['By country'], share_with: ['Clerk'] }
    assert.equal((await ask('boss', 'create_dashboard', dashboard)).success, true)
    const points = async (who: Name) =>
      (await ask(who, 'list_user_dashboards', { dashboard: 'Sales' })).charts[0].points
    const [german, french] = [
      { label: 'DE', value: 20 },
      { label: 'FR', value: 20 },
    ]
    assert.deepEqual(await points('boss'), [german, french])
    assert.deepEqual(await points('ann'), [german])
    assert.deepEqual(await points('bob'), [french])
    for (const field of ['credit', 'secret']) {
      const sum = { ...chart, chart_name: 'Sum', aggregate_function: 'Sum', value_based_on: field }
      assert.match((await ask('ann', 'create_dashboard_chart', sum)).refused, /may read|masked|number/)
    }
    const made = await ask('boss', 'list_documents', { doctype: 'Dashboard Chart' })
    assert.equal(made.total_count ?? made.data.length, 1, 'what was refused is not kept')
  })

  it('have comments, assignments and files here, for those who may, and nobody else learns of them', async () => {
    const two = { doctype: 'Customer', name: '2' }
    const unknown = /there is no Customer "2" that you may read/
    assert.equal(
      (await ask('ann', 'add_comment', { ...two, comment: 'pays late' })).comment.text,
      'pays late',
    )
    assert.match((await ask('bob', 'add_comment', { ...two, comment: 'mine' })).refused, unknown)
    const given = await ask('ann', 'assign', { ...two, user: people.boss, note: 'call' })
    assert.deepEqual(
      given.assigned_to.map(({ user, by, note }: Record<string, unknown>) => [user, by, note]),
      [[people.boss, people.ann, 'call']],
    )
    const stranger = await ask('ann', 'assign', { ...two, user: people.bob })
    assert.match(stranger.refused, /there is no user "bob@example.com" who may read Customer "2"/)
    assert.match(
      (await ask('boss', 'assign', { ...two, user: 'me' })).refused,
      /may read .* but not assign it/,
    )
    const file = { ...two, file_name: 'a.txt', text: 'agreed on Monday' }
    assert.equal((await ask('ann', 'attach_file', file)).attachment.file_name, 'a.txt')
    assert.match((await ask('boss', 'attach_file', file)).refused, /but not write it/)
    assert.match((await ask('bob', 'attach_file', file)).refused, unknown)
    assert.match((await ask('bob', 'list_attachments', two)).refused, unknown)
    const { attachments } = await ask('boss', 'list_attachments', two)
    assert.deepEqual(
      attachments.map(({ file_name, user }: Record<string, unknown>) => [file_name, user]),
      [['a.txt', people.ann]],
    )
    const view = await ask('boss', 'get_document', { ...two, include_comments: true })
    assert.match(JSON.stringify(view), /pays late/)
    assert.match(JSON.stringify(view), /"call"/)
    const read = { operation: 'extract', ...two, file_name: 'a.txt' }
    assert.match(JSON.stringify(await ask('boss', 'extract_file_content', read)), /agreed on Monday/)
    assert.match((await ask('bob', 'extract_file_content', read)).refused, unknown)
    const types = ['comment', 'assign', 'attach'].map((one) => `document.${one}`)
    for (const type of types) {
      const { stdout } = await daemon.cli(['audit', 'search', '--type', type, '--json'])
      const users = stdout
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { user: string }).user)
      assert.deepEqual(users, [people.ann], `${type}: only what was done is noted`)
    }
    const { rows } = await owner.query('SELECT name FROM erp.customer WHERE id = 2')
    assert.deepEqual(rows, [{ name: 'Customer 2' }], 'nothing of it lies there')
  })

  it('are asked by SQL tools of the site, whose statement knows who asks', async () => {
    assert.deepEqual((await ask('ann', 'credit_of', { id: 2 })).data, [{ id: 2, credit: '20.50' }])
    assert.deepEqual((await ask('bob', 'credit_of', { id: 2 })).data, [])
    assert.deepEqual((await ask('boss', 'credit_of', { id: 2 })).data, [])
  })

  it('are arguments of prompts for those who may read them, suggested and taken', async () => {
    const ref = { type: 'ref/prompt' as const, name: 'visit' }
    const suggested = async (who: Name, value: string) =>
      (await clients.get(who)!.complete({ ref, argument: { name: 'customer', value } })).completion.values
    assert.deepEqual(await suggested('ann', '2'), ['2', '20', '22', '24', '26', '28'])
    assert.deepEqual(await suggested('bob', '2'), ['21', '23', '25', '27', '29'])
    const prompt = (who: Name) => clients.get(who)!.getPrompt({ name: 'visit', arguments: { customer: '2' } })
    assert.match(JSON.stringify(await prompt('ann')), /Prepare a visit to 2\./)
    await assert.rejects(prompt('bob'), /customer: there is no Customer/)
  })

  it('leave as exports with what their reader may see, and that is noted', async () => {
    const exported = async (who: Name) => {
      const { stdout } = await daemon.cli(['documents', 'export', 'Customer', '--user', people[who]])
      return stdout.trim().split('\r\n')
    }
    const [head, ...lines] = await exported('ann')
    assert.equal(head, 'name,owner,creation,customer_name,kind,country,secret')
    assert.equal(lines.length, 20)
    assert.ok(lines.every((line) => line.endsWith(',DE,[masked]') && line.includes(people.ann)))
    const all = await exported('boss')
    assert.match(all[0]!, /,credit,/)
    assert.equal(all.length, 41)
    assert.ok(all.some((line) => line.includes('word40')))
    assert.match(
      (await daemon.cli(['audit', 'search', '--type', 'document.export', '--json'])).stdout,
      /ann@example.com/,
    )
  })
})
