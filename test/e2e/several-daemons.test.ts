/** Three real daemons on one database behind a plain proxy, each request to the next: to clients they are one service. */
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { appendFileSync, cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import process from 'node:process'
import { after, before, describe, it, type TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client'
import { auth } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { authorizeInBrowser, Browser } from '../helpers/browser.ts'
import {
  launcher,
  signForEachOther,
  startDaemon,
  temporaryFolder,
  type RunningDaemon,
} from '../helpers/daemon.ts'
import { inDatabase, noPostgres, startPostgres } from '../helpers/postgres.ts'
import { Provider } from '../helpers/provider.ts'
import { type RoundRobin, startRoundRobin } from '../helpers/round-robin.ts'
import { getStream } from '../mcp/stream.ts'
import { until } from '../../packages/state/test/state-folder.ts'
import { folders, noPython } from '../cli/running-service.ts'
import { callTool } from '../helpers/tool-calls.ts'

const admin = { username: 'admin@example.com', password: 'correct horse battery staple' }
const mcpPath = '/api/method/assistant_core.api.mcp_endpoint.handle_mcp'
const mostRegistrations = 12

describe('three daemons behind a plain proxy', { skip: noPostgres, timeout: 300_000 }, () => {
  const closers: (() => unknown)[] = []
  const context = { after: (close: () => unknown) => closers.push(close) } as unknown as TestContext
  let proxy: RoundRobin
  let daemons: RunningDaemon[]
  /** What ended of the calls that a slow service got. */
  const slow = { begun: 0, ended: 0 }
  let url: URL

  before(async () => {
    const postgres = await startPostgres(context)
    proxy = await startRoundRobin(context)
    url = new URL(proxy.url + mcpPath)
    const site = siteFor(await postgres.newDatabase(), await startSlowService())
    const start = () => startDaemon(context, { site, args: ['--public-url', proxy.url] })
    daemons = await Promise.all([start(), start(), start()])
    proxy.to(daemons.map((daemon) => daemon.url))
    const args = ['users', 'passwd', admin.username, '--password-stdin']
    assert.equal((await daemons[0]!.cli(args, admin.password)).code, 0)
  })
  after(async () => {
    for (const close of closers.reverse()) await close()
  })

  it('are signed in to by the official SDK client, whose every request another answers', async () => {
    const { client, provider } = await signedIn()
    const made = await call(client, 'create_document', { doctype: 'Note', data: { title: 'Seen by all' } })
    for (const _ of daemons) {
      const { data } = await call(client, 'get_document', { doctype: 'Note', name: made.name })
      assert.equal(data.title, 'Seen by all')
    }
    const before = provider.saved!.access_token
    assert.equal(await auth(provider, { serverUrl: url }), 'AUTHORIZED', 'by the refresh token')
    assert.notEqual(provider.saved!.access_token, before)
    await call(client, 'get_document', { doctype: 'Note', name: made.name })
    await client.close()
    assert.ok(daemons.every((daemon) => proxy.counts.get(daemon.url)! > 3))
  })

  it('show all steps of a sign-in, whichever daemon is asked for its trace', async () => {
    const { client } = await signedIn()
    await client.close()
    for (const daemon of daemons)
      await until(async () => {
        const { stdout } = await daemon.cli(['oauth', 'trace', '-n', '1', '--json'])
        const [{ steps = [], user }] = JSON.parse(stdout)
        return user === admin.username && steps[0] === 'request accepted' && steps.at(-1) === 'tokens issued'
      })
  })

  it('say which site each of them serves, and where one differs', async (t) => {
    const seen = async (): Promise<
      { this: boolean; folder: string; digest: string; commit: string | null }[]
    > => {
      const { code, stdout, stderr } = await daemons[0]!.cli(['status', '--json'])
      assert.equal(code, 0, stderr)
      return JSON.parse(stdout).daemons
    }
    const alike = await seen()
    assert.deepEqual(alike.map(({ folder }) => folder).sort(), daemons.map(({ state }) => state).sort())
    assert.equal(new Set(alike.map(({ digest }) => digest)).size, 1)
    assert.equal(alike.filter((one) => one.this).length, 1)
    assert.match((await daemons[0]!.cli(['status'])).stdout, /daemons +3 on this database, alike\n/)

    const site = join(temporaryFolder(t), 'site')
    cpSync(daemons[0]!.site, site, { recursive: true })
    appendFileSync(join(site, 'config/tools.yaml'), '# another site\n')
    const git = (...args: string[]): string =>
      execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.com', ...args], {
        cwd: site,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }).trim()
    git('init')
    git('add', '.')
    git('commit', '-m', 'another')
    const other = await startDaemon(t, { site, args: ['--public-url', proxy.url] })
    const differing = (await seen()).filter(({ digest }) => digest !== alike[0]!.digest)
    assert.deepEqual(
      differing.map(({ folder, commit }) => [folder, commit]),
      [[other.state, git('rev-parse', 'HEAD')]],
    )
    const { stdout } = await daemons[0]!.cli(['status'])
    assert.match(stdout, /daemons +4 on this database\n/)
    assert.match(
      stdout,
      new RegExp(`${other.state}: .* of commit ${differing[0]!.commit!.slice(0, 12)} +ANOTHER SITE`),
    )
    await other.stop()
    assert.equal((await seen()).length, 3, 'one that stops takes its name off')
  })

  it('let the person at the client confirm a call, once', async () => {
    const { client } = await signedIn({ elicitation: {} })
    const made = await call(client, 'create_document', { doctype: 'Note', data: { title: 'Talked about' } })
    let asked = 0
    client.setRequestHandler(ElicitRequestSchema, async () => {
      asked++
      return { action: 'accept', content: { confirm: true } }
    })
    for (let n = 1; n <= 6; n++) {
      await call(client, 'add_comment', { doctype: 'Note', name: made.name, comment: `number ${n}` })
      assert.equal(asked, n)
    }
    await client.close()
  })

  it('ask the person of a client of the newest revision in rounds, each of which another daemon takes up', async () => {
    const { provider } = await signedIn()
    const client = new ModernClient(
      { name: 'several', version: '1.0.0' },
      { capabilities: { elicitation: {} }, versionNegotiation: { mode: { pin: '2026-07-28' } } },
    )
    let asked = 0
    let says = true
    client.setRequestHandler('elicitation/create', () => {
      asked++
      return says ? { action: 'accept', content: { confirm: true } } : { action: 'decline' }
    })
    const headers = { authorization: `Bearer ${provider.saved!.access_token}` }
    await client.connect(new ModernTransport(url, { requestInit: { headers } }))
    const modernCall = async (
      name: string,
      args: Record<string, unknown>,
    ): Promise<{ isError: boolean; text: string }> => {
      const { content, isError } = await client.callTool({ name, arguments: args })
      return { isError: isError === true, text: (content as { text: string }[])[0]!.text }
    }
    const made = await modernCall('create_document', { doctype: 'Note', data: { title: 'In rounds' } })
    const { name } = JSON.parse(made.text) as { name: string }
    for (let n = 1; n <= 6; n++) {
      const { isError, text } = await modernCall('add_comment', {
        doctype: 'Note',
        name,
        comment: `round ${n}`,
      })
      assert.ok(!isError, text)
      assert.equal(asked, n)
    }
    says = false
    for (const _ of daemons)
      assert.ok((await modernCall('add_comment', { doctype: 'Note', name, comment: 'never' })).isError)
    await client.close()
  })

  it('make a report in the background once, and show its state and its result whichever is asked', async () => {
    const { client } = await signedIn()
    const ask = (report_name: string): Promise<any> => call(client, 'generate_report', { report_name })
    const all = await Promise.all(daemons.map(() => ask('Item Sales')))
    assert.deepEqual(
      all.map(({ status, made, total_count }) => [status, made, total_count]),
      all.map(() => ['done', all[0].made, all[0].total_count]),
    )
    for (const _ of daemons) assert.equal((await ask('Item Sales')).made, all[0].made)
    const begun = await Promise.all(daemons.map(() => ask('Endless')))
    assert.deepEqual(
      begun.map(({ status, started }) => [status, started]),
      begun.map(() => ['running', begun[0].started]),
    )
    await client.close()
  })

  it('let a person allow a call on a page: one approval, used up once', async () => {
    const { client, browser } = await signedIn()
    const made = await call(client, 'create_document', { doctype: 'Note', data: { title: 'To be removed' } })
    const target = { doctype: 'Note', name: made.name }
    const pages = new Set<string>()
    for (const _ of daemons)
      pages.add(
        /https?:\/\/\S+\/approvals\/[\w-]+/.exec(await refusal(client, 'delete_document', target))![0],
      )
    assert.equal(pages.size, 1)
    const page = await browser.open([...pages][0]!)
    assert.ok('html' in page && page.html.includes(made.name), JSON.stringify(page))
    const done = await browser.submit(page, { decision: 'approve' })
    assert.ok('html' in done && /approved/.test(done.html))
    await call(client, 'delete_document', target)
    assert.match(await refusal(client, 'get_document', target), /there is no Note/)
    await client.close()
  })

  it('end a call that its client takes back, whichever runs it', async () => {
    const { client } = await signedIn()
    for (const _ of daemons) {
      const begun = slow.begun
      const ended = slow.ended
      const patience = new AbortController()
      const calling = client
        .callTool({ name: 'slow', arguments: {} }, undefined, { signal: patience.signal })
        .catch((error: Error) => error)
      await until(() => slow.begun > begun)
      patience.abort()
      await calling
      await until(() => slow.ended > ended)
    }
    await client.close()
  })

  it('write once when a client sends a call again, whose answer was cut', async () => {
    const { client, provider } = await signedIn()
    const send = (key: string, title: string, how: 'header' | 'meta'): Promise<any> =>
      fetch(url, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${provider.saved!.access_token}`,
          'content-type': 'application/json',
          ...(how === 'header' && { 'idempotency-key': key }),
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: {
            name: 'create_document',
            arguments: { doctype: 'Note', data: { title } },
            ...(how === 'meta' && { _meta: { 'assistant-core/idempotencyKey': key } }),
          },
        }),
      }).then((response) => response.json())
    const notes = async (title: string): Promise<string[]> => {
      const { data } = await call(client, 'list_documents', { doctype: 'Note', filters: { title } })
      return data.map(({ name }: { name: string }) => name)
    }
    for (const how of ['header', 'meta'] as const) {
      const [key, title] = [`order-${how}`, `Sent again by ${how}`]
      proxy.cutNext()
      await assert.rejects(send(key, title, how), /fetch failed/)
      const written = await notes(title)
      assert.equal(written.length, 1, 'the daemon had written it when the answer was cut')
      for (const _ of daemons) {
        const { result } = await send(key, title, how)
        assert.equal(JSON.parse(result.content[0].text).name, written[0])
      }
      assert.deepEqual(await notes(title), written)
      const { error } = await send(key, 'Something else', how)
      assert.match(error.message, /this idempotency key was used for another call/)
      assert.deepEqual(await notes('Something else'), [])
    }
    const { error } = await send('not ascii \u00fc'.normalize(), 'Never', 'meta')
    assert.match(error.message, /assistant-core\/idempotencyKey .* must be 1 to 255 visible ASCII characters/)
    assert.deepEqual(await notes('Never'), [])
    await client.close()
  })

  it('write once when a daemon is killed before it could answer', async (t) => {
    const { client, provider } = await signedIn()
    const site = daemons[0]!.site
    const dying = await startDaemon(t, { site, args: ['--public-url', proxy.url] })
    const note = { doctype: 'Note', data: { title: 'Survives' } }
    const token = provider.saved!.access_token
    const request = (url: string) =>
      callTool({ url }, token, 'create_document', note, { 'idempotency-key': 'killed' })
    const lost = request(dying.url).catch(() => undefined)
    const found = (): Promise<any> =>
      call(client, 'list_documents', { doctype: 'Note', filters: { title: 'Survives' } })
    // As soon as others see it, whether or not the answer is on its way.
    while ((await found()).total_count === 0) await wait(1)
    await dying.stop('SIGKILL')
    await lost
    for (const daemon of daemons) assert.equal((await request(daemon.url)).status, 200)
    assert.equal((await found()).total_count, 1)
    await client.close()
  })

  it('keep one audit log: any of them tells, follows, exports and verifies what all of them did', async () => {
    const { client } = await signedIn()
    const follow = spawn(launcher, ['audit', 'tail', '-f', '-n', '0', '--json', '--doctype', 'Note'], {
      env: { ...process.env, ASSISTANT_CORE_SITE: daemons[2]!.site, ASSISTANT_CORE_STATE: daemons[2]!.state },
    })
    let followed = ''
    follow.stdout.on('data', (chunk: Buffer) => (followed += chunk.toString()))
    try {
      const create = async (): Promise<string> => {
        const made = await call(client, 'create_document', {
          doctype: 'Note',
          data: { title: 'Told to all' },
        })
        return String(made.name)
      }
      // Whoever follows has begun when something is told.
      await until(async () => {
        await create()
        await wait(100)
        return followed !== ''
      })
      const names = [
        await create(),
        await create(),
        await create(),
        await create(),
        await create(),
        await create(),
      ]
      await until(() => names.every((name) => followed.includes(name)))
      await signForEachOther(daemons)
      for (const daemon of daemons) {
        const told = async (...args: string[]): Promise<string> => {
          const { code, stdout, stderr } = await daemon.cli(['audit', ...args])
          assert.equal(code, 0, stderr)
          return stdout
        }
        const created = (await told('search', '--type', 'document.create', '--doctype', 'Note', '--json'))
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as { target: string; writer: string })
        const ours = created.filter(({ target }) => names.includes(target.slice('Note/'.length)))
        assert.equal(ours.length, names.length)
        assert.equal(new Set(ours.map(({ writer }) => writer)).size, 3, 'each wrote some of it')
        assert.match(await told('document', `Note/${names[0]!}`), /document\.create/)
        assert.ok((await told('export', '--doctype', 'Note')).includes(names[0]!))
        assert.match(await told('verify'), /^whole: \d+ lines of \d+ daemons in the database; /)
        assert.match(
          (await daemon.cli(['status'])).stdout,
          /audit +\d+ events of \d+ daemons in the database/,
        )
      }
    } finally {
      follow.kill()
      await client.close()
    }
  })

  it('lose no event of what one of them acknowledged, though it is lost with its folder', async (t) => {
    const { client, provider } = await signedIn()
    const lost = await startDaemon(t, { site: daemons[0]!.site, args: ['--public-url', proxy.url] })
    const create = async (n: number): Promise<string | undefined> => {
      const note = { doctype: 'Note', data: { title: `Lost ${n}` } }
      const asked = callTool(lost, provider.saved!.access_token, 'create_document', note)
      const response = await asked.catch(() => undefined)
      const answer: any = await response?.json().catch(() => undefined)
      return answer?.result && JSON.parse(answer.result.content[0].text).name
    }
    const acknowledged: string[] = []
    let n = 0
    const load = async (): Promise<void> => {
      for (;;) {
        const name = await create(n++)
        if (name === undefined) return
        acknowledged.push(name)
      }
    }
    const loads = Promise.all([load(), load(), load()])
    await until(() => acknowledged.length >= 20)
    await lost.stop('SIGKILL')
    await loads
    rmSync(lost.state, { recursive: true })
    const { stdout } = await daemons[1]!.cli(['audit', 'search', '--type', 'document.create', '--json'])
    for (const name of acknowledged) assert.ok(stdout.includes(`"Note/${name}"`), name)
    await signForEachOther([daemons[1]!])
    const verified = await daemons[1]!.cli(['audit', 'verify', '--json'])
    assert.deepEqual(JSON.parse(verified.stdout).faults, [])
    await client.close()
  })

  it('refuse a revoked token, all of them at once', async () => {
    const { client, provider } = await signedIn()
    const { access_token } = provider.saved!
    const ping = (): Promise<Response> =>
      fetch(url, {
        method: 'POST',
        headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping', params: {} }),
      })
    for (const _ of daemons) assert.equal((await ping()).status, 200)
    const done = await daemons[1]!.cli(['tokens', 'revoke', '--user', admin.username])
    assert.equal(done.code, 0, done.stderr)
    for (const _ of daemons) assert.equal((await ping()).status, 401)
    await client.close()
  })

  it('end the stream of an API key that is revoked, whichever of them holds it', async (t) => {
    const [holder, revoker] = [daemons[0]!, daemons[1]!]
    const cli = async (...args: string[]): Promise<Record<string, string>> => {
      const done = await revoker.cli(['api-keys', ...args, '--json'])
      assert.equal(done.code, 0, done.stderr)
      return JSON.parse(done.stdout)
    }
    const open = ({ authorization }: Record<string, string>) =>
      getStream(t, holder.url + mcpPath, { authorization: authorization! })
    const [one, other] = [
      await cli('create', '--user', admin.username),
      await cli('create', '--user', admin.username),
    ]
    const [stream, left] = [await open(one), await open(other)]
    let hasEnded = false
    void left.next().then(
      () => (hasEnded = true),
      () => undefined,
    )
    await cli('revoke', one['api_key']!)
    assert.equal(await stream.next(), undefined, 'it is over')
    assert.equal(hasEnded, false, 'that of another key goes on')
  })

  it('have one budget for registrations, not one each', async () => {
    let taken = 0
    for (;;) {
      const response = await fetch(`${proxy.url}/register`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ redirect_uris: ['http://localhost:1/callback'] }),
      })
      if (response.status === 429) break
      assert.equal(response.status, 201, await response.text())
      taken++
      // What comes within a second may exceed it.
      await wait(250)
    }
    assert.ok(taken < 2 * mostRegistrations, `${taken} of ${mostRegistrations}`)
  })

  /** A client that a person in a browser has just let in. */
  async function signedIn(
    capabilities: object = {},
  ): Promise<{ client: Client; provider: Provider; browser: Browser }> {
    const provider = new Provider()
    const browser = new Browser()
    assert.equal(await auth(provider, { serverUrl: url }), 'REDIRECT')
    const back = await authorizeInBrowser(provider.asked!.href, admin, 'approve', browser)
    assert.equal(back.searchParams.get('iss'), proxy.url)
    const authorizationCode = back.searchParams.get('code')!
    assert.equal(await auth(provider, { serverUrl: url, authorizationCode }), 'AUTHORIZED')
    const client = new Client({ name: 'several', version: '1.0.0' }, { capabilities })
    await client.connect(new StreamableHTTPClientTransport(url, { authProvider: provider }))
    return { client, provider, browser }
  }

  function siteFor(database: string, slowPort: number): string {
    const { site } = folders(context, [
      ...inDatabase(context, database),
      ['    points: 600\n    seconds: 3600', `    points: ${mostRegistrations}\n    seconds: 3600`],
      ['    # A statement that takes longer is killed.\n    timeout_seconds: 10', '    timeout_seconds: 55'],
      // What is computed in other processes is not what this is about.
      noPython,
    ])
    const tools = 'tools: { delete_document: { confirm: page }, add_comment: { confirm: client } }\n'
    writeFileSync(join(site, 'config/tools.yaml'), tools)
    writeFileSync(
      join(site, 'config/reports/endless.yaml'),
      'report: Endless\ndescription: Never comes to its end.\ntype: sql\ndoctypes: [Item]\nsql: SELECT count(*) AS n FROM range(1000000000000) WHERE range % 7 = 3\ncache_seconds: 60\n',
    )
    mkdirSync(join(site, 'config/tools'), { recursive: true })
    writeFileSync(
      join(site, 'config/tools/slow.yaml'),
      `tool: slow\ntype: http\nallow_private: true\ndescription: Asks a service that never answers.\nurl: http://127.0.0.1:${slowPort}/\ninput: { type: object, properties: {} }\n`,
    )
    return site
  }

  async function startSlowService(): Promise<number> {
    const server = createServer((_, response) => {
      slow.begun++
      response.on('close', () => void slow.ended++)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    closers.push(() => (server.closeAllConnections(), server.close()))
    return (server.address() as { port: number }).port
  }
})

async function answer(
  client: Client,
  name: string,
  args: Record<string, unknown>,
): Promise<{ isError: boolean; text: string }> {
  const { content, isError } = await client.callTool({ name, arguments: args })
  return { isError: isError === true, text: (content as { text: string }[])[0]!.text }
}

async function call(client: Client, name: string, args: Record<string, unknown>): Promise<any> {
  const { isError, text } = await answer(client, name, args)
  assert.ok(!isError, text)
  return JSON.parse(text)
}

async function refusal(client: Client, name: string, args: Record<string, unknown>): Promise<string> {
  const { isError, text } = await answer(client, name, args)
  assert.ok(isError, text)
  return text
}
