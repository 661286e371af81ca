/** Who asks, told to services behind tools of the site: what they hear, what they can check, and that silence is the rule. */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { join } from 'node:path'
import process from 'node:process'
import { describe, it } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { decodeJwt, type JWTPayload } from 'jose'
import { copyOfShippedSite, projectRoot, startDaemon, temporaryFolder } from '../../helpers/daemon.ts'
import { plain } from '../../documents/trading-company.ts'
import { blocksOf } from '../../helpers/readme.ts'
import { faultsOf, listen, open } from './own-office.ts'
import { textOfCall, tokenOf } from '../../helpers/tool-calls.ts'

const manual = blocksOf(readFileSync(join(projectRoot, 'config/README.md'), 'utf8'))
const blockWith = (words: string): string => manual.find(({ text }) => text.includes(words))!.text

describe('who asks', () => {
  it('is told as the manual says, for a minute, and can be checked by what we publish; nothing is said unasked', async (t) => {
    const heard: IncomingHttpHeaders[] = []
    const port = await listen(t, ({ headers }, body) => {
      const { id, method, params } = JSON.parse(body || '{}') as Record<string, any>
      if (method === undefined || method === 'tools/call') heard.push(headers)
      const tools = [{ name: 'ask', description: 'Asks.', inputSchema: { type: 'object' } }]
      const said = JSON.stringify(params?.['_meta'] ?? {})
      const result = method === 'tools/list' ? { tools } : { content: [{ type: 'text', text: said }] }
      return {
        text: JSON.stringify({ jsonrpc: '2.0', id, result }),
        headers: { 'content-type': 'application/json' },
      }
    })
    const service = `http://127.0.0.1:${port}`
    const here = (text: string) => text.replaceAll('https://erp.example.com', service)
    const site = copyOfShippedSite(t)
    mkdirSync(join(site, 'config/tools'))
    const documented = `${here(blockWith('tool: open_orders'))}\nallow_private: true\n`
    const child = [
      process.execPath,
      '--import',
      import.meta.resolve('tsx'),
      fileURLToPath(new URL('./upstream-server.ts', import.meta.url)),
    ]
    const own: Record<string, string> = {
      orders: documented,
      silent: documented.replace('open_orders', 'silent').replace(/^assertion.*$/m, ''),
      web: `type: mcp\nupstream: Web\nurl: ${service}/mcp\nallow_private: true\nassertion: { header: Authorization, meta: com.example/caller, audience: erp }\n`,
      child: `type: mcp\nupstream: Child\ncommand: ${JSON.stringify(child)}\nassertion: { meta: com.example/caller }\n`,
    }
    for (const [name, text] of Object.entries(own))
      writeFileSync(join(site, `config/tools/${name}.yaml`), text)
    const settings = join(site, 'config/tools.yaml')
    const offered = ['open_orders', 'silent', 'web_*', 'child_*']
      .map((name) => `      - "${name}"\n`)
      .join('')
    writeFileSync(settings, readFileSync(settings, 'utf8').replace('    tools:\n', `    tools:\n${offered}`))
    const daemon = await startDaemon(t, { site })
    const token = await tokenOf(daemon, 'sales@example.com')
    const call = (name: string, args = {}) => textOfCall(daemon, token, name, args)

    // As the manual's service reads it, with the names of this test in the places of its own.
    const checking = join(temporaryFolder(t), 'who-asks.mjs')
    const words = here(blockWith('whoAsks')).replace('https://assistant.example.com', daemon.url)
    writeFileSync(checking, words.replace("'jose'", `'${import.meta.resolve('jose')}'`))
    const { whoAsks } = (await import(pathToFileURL(checking).href)) as {
      whoAsks: (headers: IncomingHttpHeaders) => Promise<JWTPayload>
    }

    await call('open_orders')
    const [first] = heard.splice(0)
    const said = await whoAsks(first!)
    assert.deepEqual(
      { sub: said.sub, name: said['name'], roles: said['roles'], client: said['client_id'] },
      {
        sub: 'sales@example.com',
        name: 'Sam Sales',
        roles: ['Assistant User', 'Sales User'],
        client: 'assistant-core-cli',
      },
    )
    assert.equal(said.exp! - said.iat!, 60)
    await call('open_orders')
    const [second] = heard.splice(0)
    assert.notEqual((await whoAsks(second!)).jti, said.jti)
    // What was changed is not taken, nor (below) what was said to another.
    const [head, , mark] = String(first!['x-assistant-user']).split('.')
    const changed = JSON.stringify({ ...said, sub: 'admin@example.com' })
    const forged = `${head}.${Buffer.from(changed).toString('base64url')}.${mark}`
    await assert.rejects(whoAsks({ 'x-assistant-user': forged }), /signature verification failed/)

    await call('silent')
    const [unasked] = heard.splice(0)
    assert.doesNotMatch(JSON.stringify(unasked), /eyJ/)
    assert.equal(unasked!['x-assistant-user'], undefined)

    const answer = await call('web_ask')
    const [upstream] = heard.splice(0)
    const bearer = /^Bearer (.*)$/.exec(upstream!.authorization!)![1]!
    assert.deepEqual(decodeJwt(bearer).aud, 'erp')
    await assert.rejects(whoAsks({ 'x-assistant-user': bearer }), /unexpected "aud"/)
    assert.ok(answer.includes(bearer), 'the same in _meta')
    const byChild = / by (eyJ[\w.-]+)/.exec(await call('child_echo', { message: 'hi' }))![1]!
    assert.deepEqual([decodeJwt(byChild).aud, decodeJwt(byChild).sub], ['Child', 'sales@example.com'])

    const log = daemon.output().stdout + (await daemon.cli(['audit', 'search', '--json'])).stdout
    for (const secret of [mark!, bearer.split('.')[2]!]) assert.ok(!log.includes(secret), 'it is in no log')
  })

  it('that cannot be signed for is not asked for at all', async (t) => {
    let calls = 0
    const port = await listen(t, () => (calls++, { text: '{}' }))
    const yaml = `type: http\ntool: orders\ndescription: The open orders of who asks.\nurl: http://127.0.0.1:${port}/\nallow_private: true\nassertion: { header: X-User }\ninput: { type: object }`
    const { call, events } = await open(t, { 'config/tools/o.yaml': yaml })
    const { text, isError } = await call(plain, 'orders')
    assert.deepEqual([isError, calls], [true, 0])
    assert.match(text, /nobody signs here who asks/)
    assert.deepEqual(
      events.map(({ target, status }) => [target, status]),
      [['orders', 'error']],
    )
  })

  it('is refused with places where it is written wrong', async () => {
    const tool = `type: http\ntool: orders\ndescription: The open orders of who asks.\nurl: https://erp.example.com/\ninput: { type: object }\n`
    const faults = await faultsOf({
      'config/tools/a.yaml': `${tool}headers: { x-user_file: a }\nassertion: { header: X-User }`,
      'config/tools/b.yaml': 'type: mcp\nupstream: b\ncommand: [b]\nassertion: { header: X-User }',
      'config/tools/c.yaml': 'type: mcp\nupstream: c\nurl: https://c.example.com\nassertion: { audience: c }',
    })
    assert.deepEqual(faults, [
      'config/tools/a.yaml:7:22 assertion.header: "X-User" is among the headers already',
      'config/tools/b.yaml:4:22 assertion.header: a command is sent no headers; name a key of _meta with "meta"',
      'config/tools/c.yaml:4:12 assertion: names neither a header nor, with "meta", a key of _meta',
    ])
  })
})
