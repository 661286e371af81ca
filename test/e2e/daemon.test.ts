/** The program as its operator meets it: starting, stopping, reloading, bad sites, two at once. */
import assert from 'node:assert/strict'
import { appendFileSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import {
  copyOfShippedSite,
  runCli,
  startDaemon,
  temporaryFolder,
  type RunningDaemon,
} from '../helpers/daemon.ts'
import { tokenOf } from '../helpers/tool-calls.ts'
import { until } from '../../packages/state/test/state-folder.ts'

interface Health {
  readonly status: string
  readonly site: { readonly digest: string; readonly faults: readonly string[] }
}

describe('the daemon', () => {
  it('makes one password on the first start, shows it once, and keeps only its hash', async (t) => {
    const first = await startDaemon(t)
    await until(() => /password/.test(first.output().stderr))
    const password = /password +(\S+)/.exec(first.output().stderr)?.[1]
    assert.ok(password && password.length >= 16, first.output().stderr)
    assert.match(first.output().stderr, /admin@example\.com/)
    assert.equal(await first.stop(), 0)
    const second = await startDaemon(t, { site: first.site, state: first.state })
    await until(() => /MCP endpoint/.test(second.output().stderr))
    assert.doesNotMatch(second.output().stderr, /password/)
    assert.equal((await fetch(`${second.url}/healthz`)).status, 200)
    assert.equal(await second.stop(), 0)
  })

  it('answers 503 with Retry-After when server.enabled is false, and /healthz all the same', async (t) => {
    const site = copyOfShippedSite(t)
    const settings = join(site, 'config/settings.yaml')
    writeFileSync(settings, readFileSync(settings, 'utf8').replace(/^( {2}enabled: )true/m, '$1false'))
    const daemon = await startDaemon(t, { site })
    const response = await fetch(`${daemon.url}/.well-known/openid-configuration`)
    assert.equal(response.status, 503)
    assert.ok(response.headers.get('retry-after'))
    assert.equal((await fetch(`${daemon.url}/healthz`)).status, 200)
  })

  it('ends with 78 before it listens when the site is wrong, naming every fault', async (t) => {
    const site = copyOfShippedSite(t)
    appendFileSync(join(site, 'config/settings.yaml'), '\nsevrer: {}\n')
    appendFileSync(join(site, 'config/roles.yaml'), '  - name: Surplus\n    describtion: x\n')
    const state = join(temporaryFolder(t), 'state')
    const served = await runCli(['serve', '--site', site, '--state', state, '--port', '0'])
    assert.equal(served.code, 78)
    assert.match(served.stderr, /config\/settings\.yaml:\d+:1 sevrer: unknown key; did you mean "server"\?/)
    assert.match(
      served.stderr,
      /config\/roles\.yaml:\d+:\d+ roles\[\d+\]\.describtion: unknown key; did you mean "description"\?/,
    )
    assert.doesNotMatch(served.stdout, /listening/)
    const checked = await runCli(['check', '--site', site])
    assert.equal(checked.code, 78)
    assert.equal(checked.stderr, served.stderr)
  })

  it('keeps what it acknowledged through kill -9, and opens again', async (t) => {
    const daemon = await startDaemon(t, { args: ['--public-url', 'https://assistant.example.com'] })
    const issued = await daemon.cli(['tokens', 'issue', '--user', 'sales@example.com', '--json'])
    await daemon.stop('SIGKILL')
    const again = await startDaemon(t, {
      site: daemon.site,
      state: daemon.state,
      args: ['--public-url', 'https://assistant.example.com'],
    })
    assert.equal((await call(again, issued.stdout)).status, 200)
  })

  it('says which stored documents a changed doctype does not fit, and changes none of them', async (t) => {
    const daemon = await startDaemon(t)
    assert.equal((await daemon.cli(['check', '--against-state'])).code, 0)
    // Seeds that do not fit are a fault of the site itself.
    rmSync(join(daemon.site, 'config/seeds'), { recursive: true })
    const task = join(daemon.site, 'config/doctypes/task.yaml')
    writeFileSync(
      task,
      readFileSync(task, 'utf8').replace('options: [Low, Medium, High, Urgent]', 'options: [Low, Medium]'),
    )
    const checked = await daemon.cli(['check', '--against-state'])
    assert.equal(checked.code, 1)
    assert.match(
      checked.stderr,
      /config\/doctypes\/task\.yaml:\d+ Task\.priority: .*\(\d+ documents, such as TASK-/,
    )
  })

  it('takes a token that was issued while no daemon ran, whatever address it listens at', async (t) => {
    const site = copyOfShippedSite(t)
    const state = join(temporaryFolder(t), 'state')
    const issued = await runCli([
      'tokens',
      'issue',
      '--user',
      'sales@example.com',
      '--json',
      '--site',
      site,
      '--state',
      state,
    ])
    assert.equal(issued.code, 0, issued.stderr)
    const daemon = await startDaemon(t, { site, state })
    assert.equal((await call(daemon, issued.stdout)).status, 200)
    const { refresh_token } = JSON.parse(issued.stdout) as { refresh_token: string }
    const refreshed = await fetch(`${daemon.url}/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token,
        client_id: 'assistant-core-cli',
        resource: daemon.url + mcpPath,
      }),
    })
    assert.equal(refreshed.status, 200, await refreshed.clone().text())
    assert.equal((await call(daemon, await refreshed.text())).status, 200)
  })

  it('ends a running request before it stops, and takes no new one', async (t) => {
    const daemon = await startDaemon(t)
    const token = await tokenOf(daemon, 'sales@example.com')
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
    const slow = request(`${daemon.url}${mcpPath}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'content-length': body.length,
      },
    })
    const answered = new Promise<number | undefined>((resolve, reject) =>
      slow.on('response', (response) => resolve(response.resume().statusCode)).on('error', reject),
    )
    await new Promise<void>((resolve) => slow.write(body.slice(0, 10), () => resolve()))
    await delay(200)
    const stopped = daemon.stop()
    await until(() => /"msg":"stopping"/.test(daemon.output().stdout))
    slow.end(body.slice(10))
    assert.equal(await answered, 200)
    assert.equal(await stopped, 0)
    await assert.rejects(fetch(`${daemon.url}/healthz`))
  })
})

describe('a daemon that runs', () => {
  let daemon: RunningDaemon
  const ends: (() => unknown)[] = []
  before(async () => {
    daemon = await startDaemon({ after: (end: () => unknown) => void ends.unshift(end) } as TestContext)
  })
  after(async () => {
    for (const end of ends) await end()
  })

  it('shows a person a page at an address where nothing is, and answers a program with JSON', async () => {
    const { url } = daemon
    const person = await fetch(`${url}/nothing`, { headers: { Accept: 'text/html,*/*;q=0.8' } })
    assert.equal(person.status, 404)
    assert.match(await person.text(), /nothing is at this address[^]*<a href="\/">Start page<\/a>/)
    assert.match(person.headers.get('content-security-policy') ?? '', /default-src 'none'/)
    const program = await fetch(`${url}/nothing`)
    assert.deepEqual(
      [program.status, await program.json()],
      [404, { error: 'not_found', message: 'nothing is at this address' }],
    )
  })

  it('keeps its state and its control socket to its own user', async () => {
    assert.equal(statSync(daemon.state).mode & 0o777, 0o700)
    assert.equal(statSync(join(daemon.state, 'control.sock')).mode & 0o777, 0o600)
  })

  it('refuses a second daemon on the same state, and a port that is taken', async (t) => {
    const second = await runCli(['serve', '--site', daemon.site, '--state', daemon.state, '--port', '0'])
    assert.equal(second.code, 1)
    assert.match(second.stderr, new RegExp(`process ${daemon.process.pid}`))
    assert.equal((await fetch(`${daemon.url}/healthz`)).status, 200)

    const taken = createServer().listen(0, '127.0.0.1')
    t.after(() => taken.close())
    await new Promise((resolve) => taken.once('listening', resolve))
    const { port } = taken.address() as { port: number }
    const other = await runCli([
      'serve',
      '--site',
      daemon.site,
      '--state',
      join(temporaryFolder(t), 'state'),
      '--port',
      String(port),
    ])
    assert.equal(other.code, 1)
    assert.match(other.stderr, /cannot listen on .*another program listens there/)
  })

  it('reads an edit within moments, keeps the last good site on a broken one, and names the place', async () => {
    const before = (await health(daemon)).site.digest
    const users = join(daemon.site, 'config/users.yaml')
    const good = readFileSync(users, 'utf8')
    appendFileSync(
      users,
      '  - email: new@example.com\n    full_name: New\n    assistant_enabled: 1\n    roles: [Assistant User]\n',
    )
    await until(async () => (await health(daemon)).site.digest !== before)
    const issued = await daemon.cli(['tokens', 'issue', '--user', 'new@example.com', '--json'])
    assert.equal(issued.code, 0, issued.stderr)

    appendFileSync(users, '  - email: worse@example.com\n    full_name: Worse\n    roles: [Assitant User]\n')
    await until(async () => (await health(daemon)).status === 'degraded')
    const { site } = await health(daemon)
    assert.match(
      site.faults.join('\n'),
      /config\/users\.yaml:\d+:\d+ users\[5\]\.roles\[0\]: unknown role "Assitant User"; did you mean "Assistant User"\?/,
    )
    const status = JSON.parse((await daemon.cli(['status', '--json'])).stdout) as {
      site: { faults: string[] }
    }
    assert.equal(status.site.faults.length, site.faults.length)
    assert.equal((await call(daemon, issued.stdout)).status, 200, 'the last good site is in use')

    writeFileSync(users, good)
    await until(async () => (await health(daemon)).status === 'ok')
    assert.equal((await call(daemon, issued.stdout)).status, 401, 'a removed user is cut off at once')
  })

  it('reloads on SIGHUP', async () => {
    const settings = join(daemon.site, 'config/settings.yaml')
    writeFileSync(
      settings,
      readFileSync(settings, 'utf8').replace(/display_name: .*/, 'display_name: Renamed'),
    )
    daemon.process.kill('SIGHUP')
    await until(async () => /Renamed/.test(await (await fetch(`${daemon.url}/sign-in`)).text()))
  })
})

const mcpPath = '/api/method/assistant_core.api.mcp_endpoint.handle_mcp'

async function health(daemon: RunningDaemon): Promise<Health> {
  return (await (await fetch(`${daemon.url}/healthz`)).json()) as Health
}

function call(daemon: RunningDaemon, issued: string): Promise<Response> {
  const { access_token } = JSON.parse(issued) as { access_token: string }
  return fetch(daemon.url + mcpPath, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${access_token}`,
      'content-type': 'application/json',
      host: new URL(daemon.url).host,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  })
}
