/** From an empty folder and a database that a company has already to a right answer in an AI client, commands counted. */
import assert from 'node:assert/strict'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { Client as Asking } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { Client } from 'pg'
import { paths } from '../../src/oauth/urls.ts'
import { erp } from '../documents/erp.ts'
import { runCli, startDaemon, temporaryFolder } from '../helpers/daemon.ts'
import { noPostgres, startPostgres } from '../helpers/postgres.ts'

const ann = 'ann@example.com'

describe('a company with a database of its own', { skip: noPostgres }, () => {
  it('asks an AI client about it six commands after an empty folder', { timeout: 240_000 }, async (t) => {
    const server = await startPostgres(t)
    const url = new URL(await server.newDatabase())
    const owner = new Client({ connectionString: url.href })
    await owner.connect()
    // The server stops before this test has ended the connection, when it fails.
    owner.on('error', () => undefined)
    await owner.query(erp)
    const folder = temporaryFolder(t)
    const [site, state] = [join(folder, 'office'), join(folder, 'state')]
    const env = { ASSISTANT_CORE_SITE: site, ASSISTANT_CORE_STATE: state }
    let commands = 0
    const run = async (...args: readonly string[]): Promise<string> => {
      commands++
      const { code, stdout, stderr } = await runCli(args, { env })
      assert.equal(code, 0, `${args.join(' ')}: ${stdout}${stderr}`)
      return stdout
    }
    const place = ['--port', url.port, '--database', url.pathname.slice(1)]

    await run('init', site)
    await run('sources', 'add', 'erp', ...place, '--user', 'reader')
    await run('doctypes', 'from', 'erp', 'erp.*', '--write')
    // What nobody but the company can know: who works here, and who may see what.
    const users = join(site, 'config/users.yaml')
    const person = `users:\n  - { email: ${ann}, full_name: Ann, assistant_enabled: 1, roles: [Assistant User, Clerk] }\n`
    writeFileSync(users, readFileSync(users, 'utf8').replace('users: []\n', person))
    appendFileSync(join(site, 'config/roles.yaml'), '  - name: Clerk\n')
    const customers = join(site, 'config/doctypes/customer.yaml')
    const drafted = readFileSync(customers, 'utf8')
    assert.doesNotMatch(drafted, /^permissions/m, 'nobody may read what was drafted')
    const rep =
      '  - { fieldname: rep_mail, type: text, column: email, through: { column: rep, table: erp.staff } }\n'
    const rule =
      'permissions:\n  - { role: Clerk, actions: [read, report], when: "doc.rep_mail = user.id" }\n'
    writeFileSync(customers, `${drafted.trimEnd()}\n${rep}${rule}`)
    const checked = await run('check')
    assert.match(checked, /no faults/)
    const daemon = await startDaemon(t, { site, state })
    commands++
    const issued = JSON.parse(await run('tokens', 'issue', '--user', ann, '--json')) as {
      access_token: string
    }
    assert.equal(commands, 6)

    const client = new Asking({ name: 'story', version: '1.0.0' })
    const headers = { Authorization: `Bearer ${issued.access_token}` }
    await client.connect(
      new StreamableHTTPClientTransport(new URL(daemon.url + paths.mcp), { requestInit: { headers } }),
    )
    t.after(() => client.close())
    const ask = async (name: string, args: Record<string, unknown>): Promise<string> => {
      const { content } = (await client.callTool({ name, arguments: args })) as {
        content: { text: string }[]
      }
      return content.map(({ text }) => text).join('\n')
    }
    const answer = JSON.parse(
      await ask('aggregate', {
        doctype: 'Customer',
        group_by: ['country'],
        metrics: [{ function: 'sum', field: 'credit' }, { function: 'count' }],
      }),
    ) as { data?: unknown; rows?: unknown }
    const { rows } = await owner.query<object>(
      'SELECT country, sum(credit)::text AS sum_credit, count(*)::int AS count FROM erp.customer JOIN erp.staff s ON s.id = rep WHERE email = $1 GROUP BY country ORDER BY 2 DESC',
      [ann],
    )
    assert.ok(rows.length > 0)
    assert.deepEqual(answer.data ?? answer.rows, rows)
    assert.match(
      await ask('list_documents', { doctype: 'Invoice' }),
      /unknown doctype|may/,
      'nobody opened these',
    )
    const one = await ask('get_document', { doctype: 'Customer', name: '2' })
    assert.match(one, /Customer 2/)
    assert.match(one, /Paris/)

    // The table changes: that doctype says so, everywhere, and comes back by itself.
    await owner.query('ALTER TABLE erp.customer RENAME credit TO credit_limit')
    for (;;) if (/has changed/.test(await ask('get_document', { doctype: 'Customer', name: '2' }))) break
    const named = /customer\.yaml:\d+:\d+/
    assert.match(await (await fetch(`${daemon.url}/readyz`)).text(), named)
    assert.match((await daemon.cli(['status'])).stdout, /erp\.customer has no column "credit"/)
    assert.match((await daemon.cli(['doctor'])).stdout, /erp\.customer has no column "credit"/)
    assert.match(daemon.output().stdout, /doctypes of the site do not work/)
    await owner.query('ALTER TABLE erp.customer RENAME credit_limit TO credit')
    for (;;) if (/Customer 2/.test(await ask('get_document', { doctype: 'Customer', name: '2' }))) break
    assert.doesNotMatch((await daemon.cli(['status'])).stdout, /has no column/)
    await owner.end()
  })
})
