/** Every command and every snippet of the manuals, as a newcomer would type them, in their order. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { appendFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, it, type TestContext } from 'node:test'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import {
  projectRoot,
  runCli,
  startDaemon,
  temporaryFolder,
  type Finished,
  type RunningDaemon,
} from '../helpers/daemon.ts'
import { noPostgres, startPostgres } from '../helpers/postgres.ts'
import { blocksOf, commandsOf, mergeSettings } from '../helpers/readme.ts'
import { callTool, tokenOf } from '../helpers/tool-calls.ts'

const readme = readFileSync(join(projectRoot, 'README.md'), 'utf8')
const blocks = blocksOf(readme)

describe('the README', () => {
  it('opens with the two commands, and CI runs all that they do on a clean clone', async (t) => {
    assert.deepEqual(
      blocks.slice(0, 2).map((block) => block.text.trim()),
      ['npm ci && npm start', 'npm ci && npm test'],
    )
    const ci = readFileSync(join(projectRoot, '.ci/run'), 'utf8')
    for (const command of [/^npm ci$/m, /^run_and_again 'npm run test:all' /m]) assert.match(ci, command)

    // On a free port: 8787 may be taken where tests run.
    const child = spawn('npm', ['start', '--', '--port', '0'], {
      cwd: projectRoot,
      env: { ...process.env, ASSISTANT_CORE_STATE: join(temporaryFolder(t), 'state') },
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    // The whole group: npm stands between.
    t.after(() => process.kill(-child.pid!, 'SIGKILL'))
    const port = await new Promise<string>((resolve, reject) => {
      child.once('exit', (code) => reject(new Error(`npm start ended with ${code}`)))
      createInterface({ input: child.stdout }).on('line', (line) => {
        const found = /"port":(\d+).*"msg":"listening"/.exec(line)?.[1]
        if (found !== undefined) resolve(found)
      })
    })
    assert.equal((await fetch(`http://localhost:${port}/healthz`)).status, 200)
  })

  it('has commands that work and snippets that check, in their order', async (t) => {
    const home = temporaryFolder(t)
    const site = join(home, 'my-site')
    const run = (command: string, env: NodeJS.ProcessEnv = {}, cwd = home): Promise<Finished> =>
      shell(command, cwd, {
        PATH: `${join(home, 'prefix/bin')}:${process.env['PATH']}`,
        npm_config_prefix: join(home, 'prefix'),
        ASSISTANT_CORE_SITE: site,
        ASSISTANT_CORE_STATE: join(home, 'state'),
        ...env,
      })
    // What the text explains in its second section is needed from its first one on, and it stays to the end.
    const before = ['npm install --global .', 'assistant-core init my-site --template trading']
    for (const line of before) {
      const done = await run(line, {}, line === before[0] ? projectRoot : home)
      assert.equal(done.code, 0, `${line}\n${done.stdout}${done.stderr}`)
    }
    const daemon = await startDaemon(t, { state: join(home, 'state'), args: ['--site', site] })
    const done = new Set([
      'npm ci && npm start',
      'npm ci && npm test',
      'assistant-core serve --site my-site',
      ...before,
    ])

    for (const { language, text } of blocks) {
      if (language === 'sh') {
        for (const line of commandsOf({ language, text })) {
          if (done.has(line)) continue
          const ran = await run(line.replace(/\bUSER\b/, 'sales@example.com'))
          assert.equal(ran.code, 0, `${line}\n${ran.stdout}${ran.stderr}`)
          const [, expected] = Object.entries(says).find(([begin]) => line.startsWith(begin)) ?? []
          assert.ok(expected, `the test does not know what this does: ${line}`)
          assert.match(ran.stdout, expected, line)
          done.add(line)
        }
      } else if (language === 'yaml' || language === 'markdown') {
        place(site, text)
        const checked = await run('assistant-core check')
        assert.equal(checked.code, 0, `${text}\n${checked.stderr}`)
        assert.equal((await run('assistant-core reload')).code, 0)
      } else if (language === 'ts') {
        symlinkSync(join(projectRoot, 'node_modules'), join(home, 'node_modules'))
        writeFileSync(join(home, 'script.mts'), text.replace('http://localhost:8787', daemon.url))
        const issued = await run('assistant-core tokens issue --user sales@example.com --json')
        const { access_token: TOKEN } = JSON.parse(issued.stdout) as { access_token: string }
        const ran = await run(`node --import ${import.meta.resolve('tsx')} script.mts`, { TOKEN })
        assert.equal(ran.code, 0, ran.stderr)
        assert.match(ran.stdout, /total_count/)
      } else {
        // The address of the endpoint and the folders of a site: nothing that could be run.
        assert.match(
          text,
          /^(http:\/\/localhost:8787\/|config\/settings\.yaml )/,
          'a block that no test runs',
        )
      }
    }
    assert.ok(done.size >= 14, `only ${[...done].join('\n')}`)
    // What the snippets say that they do, done by the person whom they add.
    const maria = await connected(daemon, 'maria@example.com')
    const vehicle = await maria('create_document', { doctype: 'Vehicle', data: { plate: 'B-AC 1' } })
    assert.match(vehicle, /"plate":"B-AC 1"/)
    assert.equal(
      await maria('read_skill', { name: 'returns' }),
      readFileSync(join(site, 'skills/returns/SKILL.md'), 'utf8'),
    )
    const { issuer } = (await (await fetch(`${daemon.url}/.well-known/openid-configuration`)).json()) as {
      issuer: string
    }
    assert.equal(issuer, 'https://assistant.example.com')
  })

  it('leads to texts whose files do what they say, on a site of init', async (t) => {
    const home = temporaryFolder(t)
    const site = join(home, 'my-site')
    const cli = async (...words: string[]): Promise<Finished> => {
      const ran = await runCli([...words, '--site', site, '--state', join(home, 'state')])
      assert.equal(ran.code, 0, `${words.join(' ')}\n${ran.stdout}${ran.stderr}`)
      return ran
    }
    assert.equal((await runCli(['init', site, '--template', 'trading'])).code, 0)
    const service = createServer((request, response) => {
      const { url, headers } = request
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ current: { url, key: headers['x-key'] }, forecast: 'not asked for' }))
    })
    await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
    t.after(() => service.close())
    const secret = (name: string, text: string): void => write(join(home, 'state/secrets'), name, `${text}\n`)
    secret('weather-key', 'the key of the service')

    const files = new Map<string, string>()
    for (const { text } of blocksOf(manual('config/README.md'))) {
      const [, file, content = ''] = /^(?:#|\/\/) (\S+)\n([^]*)$/.exec(text) ?? []
      if (file !== undefined) files.set(file, content)
      // What receives an assertion belongs to no site; `tools/own/assertions` runs it.
      else assert.match(text, /jwtVerify/, 'a block that no test runs')
    }
    const only = (file: string): string => {
      const [block, ...others] = blocksOf(manual(file))
      assert.deepEqual(others, [], `a block of ${file} that no test runs`)
      return block!.text
    }
    files.set('prompts/quarterly_review.md', only('prompts/README.md'))
    files.set('skills/monthly-closing/SKILL.md', only('skills/README.md'))
    for (const [file, text] of files) write(site, file, text)
    assert.deepEqual(
      [...files.keys()].map((file) => file.replace(/^.*\//, '')),
      [
        'weather.yaml',
        'sources.yaml',
        'stock.yaml',
        'wiki.yaml',
        'orders.yaml',
        'double.ts',
        'urgent.ts',
        'example.yaml',
        'quarterly_review.md',
        'SKILL.md',
      ],
      'a block that no test runs',
    )
    const tools = readFileSync(join(site, 'config/tools.yaml'), 'utf8')
    const named = tools.replace(
      '    tools:\n',
      '    tools:\n      - weather\n      - stock\n      - double\n      - "wiki_*"\n',
    )
    writeFileSync(join(site, 'config/tools.yaml'), named)
    await cli('check')
    await cli('prompts', 'test', 'quarterly_review')

    // What stands for the reader's own: a service, a database and another server that are here, and their secrets.
    const { port } = service.address() as AddressInfo
    const here = (file: string, changes: Readonly<Record<string, string>>): void => {
      let text = files.get(file)!
      for (const [from, to] of Object.entries(changes)) {
        assert.ok(text.includes(from), `${file} has no ${from}`)
        text = text.replace(from, to)
      }
      write(site, file, text)
    }
    here('config/tools/weather.yaml', {
      'https://api.example.com': `http://127.0.0.1:${port}`,
      'allow_private: false': 'allow_private: true',
    })
    const wiki = await startWiki(t, 'Bearer of the wiki')
    secret('wiki-authorization', 'Bearer of the wiki')
    here('config/tools/wiki.yaml', {
      'https://wiki.example.com/mcp': `${wiki}/mcp\nallow_private: true`,
    })
    if (!noPostgres) {
      const database = await startPostgres(t)
      for (const statement of [
        "CREATE USER reader PASSWORD 'of the warehouse'",
        'CREATE ROLE reporting',
        'GRANT reporting TO reader',
        'CREATE DATABASE warehouse',
      ])
        await database.admin.query(statement)
      const { Client } = await import('pg')
      const owner = new Client({
        host: '127.0.0.1',
        port: database.port,
        user: 'postgres',
        database: 'warehouse',
      })
      await owner.connect()
      await owner.query('CREATE TABLE stock (item text, place text, pieces integer)')
      await owner.query("INSERT INTO stock VALUES ('ITEM-1', 'Hall 2', 7), ('ITEM-2', 'Hall 3', 1)")
      await owner.query('GRANT SELECT ON stock TO reporting')
      await owner.end()
      secret('warehouse-password', 'of the warehouse')
      here('config/sources.yaml', {
        'db.example.com': '127.0.0.1',
        'port: 5432': `port: ${database.port}`,
        'ssl: true': 'ssl: false',
      })
      // The statement is prepared by its database; two tools are in no profile of this test.
      const told = (await cli('check')).stderr.split('\n').filter((line) => line !== '')
      assert.deepEqual(
        told.map((line) => /no profile in config\/tools.yaml names "(\w+)"/.exec(line)?.[1] ?? line),
        ['open_orders', 'make_urgent'],
      )
    }
    const daemon = await startDaemon(t, { site, state: join(home, 'state') })
    const call = await connected(daemon, 'sales@example.com')
    assert.deepEqual(JSON.parse(await call('double', { n: 21 })), { for: 'sales@example.com', twice: 42 })
    assert.deepEqual(JSON.parse(await call('weather', { city: 'São Paulo' })), {
      url: '/weather/S%C3%A3o%20Paulo',
      key: 'the key of the service',
    })
    if (!noPostgres)
      assert.deepEqual(JSON.parse(await call('stock', { item: 'ITEM-1' })).data, [
        { place: 'Hall 2', pieces: 7 },
      ])
    assert.equal(await call('wiki_read_page', {}), 'read_page was called')
    // Only for Sales Managers, and for nobody.
    await assert.rejects(call('wiki_write_page', {}), /permission denied/)
    await assert.rejects(call('wiki_delete_page', {}), /unknown tool/)
    const filters = { customer_name: 'Example Ltd' }
    assert.deepEqual(JSON.parse(await call('count_documents', { doctype: 'Customer', filters })).count, 1)
    assert.equal(
      await call('read_skill', { name: 'monthly-closing' }),
      files.get('skills/monthly-closing/SKILL.md'),
    )
    const { stdout } = await daemon.cli(['prompts', 'list', '--user', 'sales@example.com'])
    assert.match(stdout, /^quarterly_review /m)
  })
})

/** What the commands of the README print, by how they begin. */
const says: Readonly<Record<string, RegExp>> = {
  'assistant-core tokens issue': /"access_token": ?"ac_/,
  'assistant-core api-keys create': /ac_\w+/,
  'assistant-core check': /no faults/,
  'echo ': /maria@example\.com/,
  'assistant-core prompts preview': /^Write a short report of my visit to Acme\./,
  'assistant-core status': /my-site/,
  'assistant-core clients list': /[^]/,
  'assistant-core tokens list': /sales@example\.com/,
  'assistant-core users cut-off': /^Ended now: .*apps and tokens \d/,
  'assistant-core audit tail': /cli\.run/,
}

/** A program of a person's: answers what a tool says, rejects with why it did not run. */
async function connected(
  daemon: RunningDaemon,
  user: string,
): Promise<(name: string, args: object) => Promise<string>> {
  const token = await tokenOf(daemon, user)
  return async (name, args) => {
    const answer = await callTool(daemon, token, name, args)
    const { result, error } = (await answer.json()) as {
      result?: { content: { text: string }[]; isError: boolean }
      error?: { message: string }
    }
    if (error) throw new Error(error.message)
    assert.equal(result!.isError, false, `${name}: ${result!.content[0]!.text}`)
    return result!.content[0]!.text
  }
}

/** Another MCP server, with pages that can be read, written and deleted; it knows its clients by their header. */
async function startWiki(t: TestContext, authorization: string): Promise<string> {
  const tools = ['read_page', 'write_page', 'delete_page'].map((name) => ({
    name,
    description: `The tool ${name} of a wiki.`,
    inputSchema: { type: 'object' as const, properties: {} },
  }))
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.headers.authorization !== authorization) {
      response.writeHead(401).end()
      return
    }
    const mcp = new Server({ name: 'wiki', version: '1.0.0' }, { capabilities: { tools: {} } })
    mcp.setRequestHandler(ListToolsRequestSchema, () => ({ tools }))
    mcp.setRequestHandler(CallToolRequestSchema, ({ params }) => ({
      content: [{ type: 'text' as const, text: `${params.name} was called` }],
    }))
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true })
    await mcp.connect(transport)
    await transport.handleRequest(request, response)
  }
  const listening = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
  t.after(() => listening.close())
  return `http://127.0.0.1:${(listening.address() as AddressInfo).port}`
}

function manual(file: string): string {
  return readFileSync(join(projectRoot, file), 'utf8')
}

function write(site: string, path: string, content: string): void {
  mkdirSync(dirname(join(site, path)), { recursive: true })
  writeFileSync(join(site, path), content)
}

/** Puts a snippet where the README says that it belongs. */
function place(site: string, text: string): void {
  if (/^ {2}- email:/m.test(text)) appendFileSync(join(site, 'config/users.yaml'), text)
  else if (text.startsWith('doctype: ')) write(site, 'config/doctypes/vehicle.yaml', text)
  else if (/^title: Visit report/m.test(text)) write(site, 'prompts/visit_report.md', text)
  else if (/^name: returns/m.test(text)) write(site, 'skills/returns/SKILL.md', text)
  else if (text.startsWith('public_url:')) {
    const path = join(site, 'config/settings.yaml')
    writeFileSync(path, mergeSettings(readFileSync(path, 'utf8'), text))
  } else assert.fail(`the test does not know where this belongs:\n${text}`)
}

function shell(command: string, cwd: string, env: NodeJS.ProcessEnv): Promise<Finished> {
  return new Promise((resolve) => {
    const child = spawn('sh', ['-c', command], { cwd, env: { ...process.env, ...env } })
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
    child.on('close', (code) => resolve({ code, stdout, stderr }))
    child.stdin.end()
  })
}
