/** What an operator sees of a running service: readiness, metrics, log lines, shed load, forwarded events. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { pbkdf2 } from 'node:crypto'
import { createServer, get, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { operate } from '../../src/cli/control.ts'
import { folders, mcpPath, noPython, runService, type RunningService } from '../cli/running-service.ts'
import { freePort } from '../helpers/free-port.ts'
import { until } from '../../packages/state/test/state-folder.ts'

interface Ready {
  readonly status: string
  readonly checks: readonly { readonly name: string; readonly status: string; readonly detail: string }[]
}

const closing: (() => unknown)[] = []
let service: RunningService
let token: string
const hookBodies: string[] = []
const syslogLines: string[] = []

before(async () => {
  const t = { after: (close: () => unknown) => void closing.push(close) }
  const hook = createServer((incoming, response) => {
    let body = ''
    incoming.on('data', (chunk: Buffer) => (body += chunk.toString()))
    incoming.on('end', () => {
      hookBodies.push(body)
      response.end()
    })
  })
  await new Promise<void>((listening) => hook.listen(0, '127.0.0.1', listening))
  closing.push(() => hook.close())
  const hookPort = (hook.address() as AddressInfo).port
  const metricsPort = await freePort()
  const syslog = createSocket('udp4', (message) => void syslogLines.push(message.toString()))
  syslog.bind(0, '127.0.0.1')
  await once(syslog, 'listening')
  closing.push(() => syslog.close())
  const where = folders(t, [
    noPython,
    ['max_concurrent_requests: 1000', 'max_concurrent_requests: 3'],
    ['  syslog: null', `  syslog: udp://127.0.0.1:${syslog.address().port}`],
    ['  webhook: null', `  webhook: http://127.0.0.1:${hookPort}/events`],
    ['  listen: null', `  listen: 127.0.0.1:${metricsPort}`],
  ])
  service = await runService(t, { ...where, analysis: true })
  const issued = await operate(service.options, 'tokens.issue', {
    user: 'sales@example.com',
  })
  token = issued.access_token
})

after(async () => {
  for (const close of closing.reverse()) await close()
})

describe('addresses', () => {
  it('say which methods they have to who uses another', async () => {
    const base = `${service.url}/api/method/platform.integrations.oauth2`
    for (const path of [`${base}.get_token`, `${base}.revoke_token`, `${service.url}/register`]) {
      const response = await fetch(path)
      assert.equal(response.status, 405)
      const { error, message } = (await response.json()) as Record<string, string>
      assert.deepEqual(
        [error, message],
        ['method_not_allowed', 'GET is not possible at this address; use POST'],
      )
    }
  })

  it('have the pictures that clients are told of, and one for browsers', async () => {
    const call = (method: string, params: object): Promise<any> =>
      fetch(service.url + mcpPath, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${token}`,
          'Content-Type': 'application/json',
          Accept: 'application/json',
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      }).then((response) => response.json())
    const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } }
    const { result } = await call('initialize', hello)
    const icons = result.serverInfo.icons as { src: string; mimeType: string }[]
    assert.equal(icons.length, 2)
    for (const { src, mimeType } of [
      ...icons,
      { src: `${service.url}/favicon.ico`, mimeType: 'image/png' },
    ]) {
      const response = await fetch(src.replace(/^https?:\/\/[^/]+/, service.url))
      assert.deepEqual([response.status, response.headers.get('content-type')], [200, mimeType], src)
      assert.ok((await response.arrayBuffer()).byteLength > 100)
    }
    const older = await call('initialize', { ...hello, protocolVersion: '2025-06-18' })
    assert.equal(older.result.serverInfo.icons, undefined)
  })
})

describe('readiness', () => {
  it('is a question of its own: whether the service lives is answered while the disk does not answer', async () => {
    const { hostname, port } = new URL(service.url)
    // Whatever waits for the disk waits behind these.
    const busy = Array.from({ length: 8 }, () =>
      promisify(pbkdf2)('password', 'salt', 400_000, 64, 'sha512').then(() => 'the disk'),
    )
    const health = new Promise<string>((done, failed) => {
      // An address needs no look-up, which would wait, too.
      const address = hostname === 'localhost' ? '127.0.0.1' : hostname
      get({ host: address, port, path: '/healthz' }, (response) => {
        response.resume()
        done(`healthz ${response.statusCode}`)
      }).on('error', failed)
    })
    const first = Promise.race([health, Promise.all(busy.slice(0, 4)).then(() => 'the disk')])
    assert.equal(await first, 'healthz 200')
    await Promise.all(busy)
  })

  it('is 200 with every check while requests are served', async () => {
    const response = await fetch(`${service.url}/readyz`)
    assert.equal(response.status, 200)
    const { checks } = (await response.json()) as Ready
    assert.deepEqual(
      checks.map(({ name }) => name),
      [
        'stopping',
        'switch',
        'site',
        'store',
        'room',
        'clock',
        'audit',
        'audit_log',
        'audit_forward',
        'analysis',
        'own_tools',
        'clients',
        'client_documents',
      ],
    )
    assert.equal(checks.find(({ name }) => name === 'store')?.status, 'ok')
  })

  it('says degraded, and still 200, while a rejected edit leaves an older site in use', async () => {
    const path = join(service.site, 'config/roles.yaml')
    const good = readFileSync(path, 'utf8')
    writeFileSync(path, `${good}\nrolls: []\n`)
    await service.daemon.services.site.reload('test')
    const response = await fetch(`${service.url}/readyz`)
    const { status, checks } = (await response.json()) as Ready
    assert.deepEqual(
      [response.status, status, checks.find(({ name }) => name === 'site')?.status],
      [200, 'degraded', 'degraded'],
    )
    const metrics = await metricsText()
    assert.match(metrics, /^assistant_core_site_faults 1$/m)
    assert.match(metrics, /^assistant_core_site_reloads_total\{outcome="rejected"\} \d+$/m)
    writeFileSync(path, good)
    await service.daemon.services.site.reload('test')
    assert.match(await metricsText(), /^assistant_core_site_faults 0$/m)
  })

  it('is 503 with Retry-After while the server is switched off, and pages and health go on', async () => {
    const path = join(service.site, 'config/settings.yaml')
    const good = readFileSync(path, 'utf8')
    writeFileSync(path, good.replace(/^( {2}enabled: )true/m, '$1false'))
    await service.daemon.services.site.reload('test')
    const ready = await fetch(`${service.url}/readyz`)
    assert.deepEqual([ready.status, ((await ready.json()) as Ready).status], [503, 'not_ready'])
    assert.ok(ready.headers.get('retry-after'))
    assert.equal((await callTool('list_doctypes')).status, 503)
    assert.equal((await fetch(`${service.url}/sign-in`)).status, 200)
    assert.equal((await fetch(`${service.url}/healthz`)).status, 200)
    writeFileSync(path, good)
    await service.daemon.services.site.reload('test')
    assert.equal((await fetch(`${service.url}/readyz`)).status, 200)
  })
})

describe('the metrics', () => {
  it('count requests and tool calls by what is known, never by what a caller makes up', async () => {
    assert.equal((await callTool('list_doctypes')).status, 200)
    await callTool('made_up_tool_name')
    await (await fetch(`${service.url}/made/up/path`)).text()
    await (await fetch(`${service.url}/documents/Customer`, { redirect: 'manual' })).text()
    await until(async () => /endpoint="other",method="GET",status="404"/.test(await metricsText()))
    await until(async () => /endpoint="pages",method="GET",status="303"/.test(await metricsText()))
    const text = await metricsText()
    assert.match(text, /assistant_core_http_requests_total\{endpoint="mcp",method="POST",status="200"\} \d+/)
    assert.match(text, /assistant_core_tool_calls_total\{tool="list_doctypes",status="ok"\} 1/)
    assert.match(text, /assistant_core_audit_events_total\{type="token\.issue",status="ok"\}|type="cli\.run"/)
    assert.doesNotMatch(text, /made_up|made\/up/)
  })

  it('tell how long requests and tools took, in buckets', async () => {
    assert.equal((await callTool('list_doctypes')).status, 200)
    const text = await metricsText()
    for (const name of ['http_request_seconds', 'tool_call_seconds']) {
      const label = name.startsWith('tool') ? 'tool="list_doctypes"' : 'endpoint="mcp"'
      const read = (what: string): number =>
        Number(new RegExp(`^assistant_core_${name}_${what}\\} (\\S+)$`, 'm').exec(text)?.[1])
      const count = read(`count\\{${label}`)
      assert.ok(count > 0, name)
      assert.ok(read(`sum\\{${label}`) > 0, name)
      assert.equal(read(`bucket\\{le="\\+Inf",${label}`), count, name)
    }
  })

  it('tell what any process of Node can, by the names that dashboards know', async () => {
    const text = await metricsText()
    const cpu = ['cpu_user_seconds_total', 'cpu_system_seconds_total', 'cpu_seconds_total']
    const bytes = ['resident_memory_bytes', 'virtual_memory_bytes', 'heap_bytes']
    const names = [...cpu, ...bytes, 'start_time_seconds', 'open_fds', 'max_fds'].map(
      (name) => `process_${name}`,
    )
    const lag = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'].map((name) => `lag_${name}_seconds`)
    const ofNode = [
      ...['lag_seconds', ...lag].map((name) => `eventloop_${name}`),
      ...['resources', 'handles', 'requests'].map((name) => `active_${name}_total`),
      ...['size_total', 'size_used'].map((name) => `heap_${name}_bytes`),
      'external_memory_bytes',
    ].map((name) => `nodejs_${name}`)
    for (const name of [...names, ...ofNode]) assert.match(text, new RegExp(`^${name} [\\d.e+-]+$`, 'm'))
    for (const size of ['total', 'used', 'available'])
      assert.match(text, new RegExp(`^nodejs_heap_space_size_${size}_bytes\\{space="old"\\} \\d+$`, 'm'))
    assert.match(text, /^nodejs_active_resources\{type="\w+"\} \d+$/m)
    assert.ok(text.includes(`nodejs_version_info{version="${process.version}",major="`))
    assert.match(text, /^# TYPE nodejs_gc_duration_seconds histogram$/m)
  })

  it('count credentials by kind, and what runs in the sandboxes', async () => {
    const before = Number(/^assistant_core_tokens\{kind="access"\} (\d+)$/m.exec(await metricsText())?.[1])
    await operate(service.options, 'tokens.issue', { user: 'sales@example.com' })
    const text = await metricsText()
    assert.match(text, new RegExp(`^assistant_core_tokens\\{kind="access"\\} ${before + 1}$`, 'm'))
    assert.match(text, /^assistant_core_tokens\{kind="session"\} 0$/m)
    assert.match(text, /^assistant_core_analysis_jobs\{part="files",state="running"\} 0$/m)
    assert.doesNotMatch(text, /analysis_jobs\{part="python"/, 'Python is switched off here')
  })

  it('are served on the control socket and at the address of metrics.listen, and nowhere else', async () => {
    const { listen } = service.daemon.services.site.current().settings.metrics
    const second = await fetch(`http://${listen}/metrics`)
    assert.match(await second.text(), /assistant_core_info\{version="/)
    assert.equal((await fetch(`http://${listen}/healthz`)).status, 404)
    assert.equal((await fetch(`${service.url}/metrics`)).status, 404)
    const overSocket = await new Promise<string>((done, failed) => {
      request({ socketPath: join(service.state, 'control.sock'), path: '/metrics' }, (response) => {
        let body = ''
        response.on('data', (chunk: Buffer) => (body += chunk.toString()))
        response.on('end', () => done(body))
      })
        .on('error', failed)
        .end()
    })
    assert.match(overSocket, /^assistant_core_store_up 1$/m)
  })

  it('are what the dashboard shows: every name of it exists', async () => {
    const text = await metricsText()
    const known = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map((match) => match[1]))
    const dashboard = readFileSync(
      resolve(import.meta.dirname, '../../systemd/grafana-dashboard.json'),
      'utf8',
    )
    const { panels } = JSON.parse(dashboard) as { panels: { targets: { expr: string }[] }[] }
    const names = panels
      .flatMap(({ targets }) => targets)
      .flatMap(({ expr }) => [...expr.matchAll(/(?:assistant_core|process|nodejs)_[a-z0-9_]+/g)])
      .map(([name]) => name)
    assert.ok(names.length > 15)
    const missing = names.filter(
      (name) => !known.has(name) && !known.has(name.replace(/_(bucket|sum|count)$/, '')),
    )
    assert.deepEqual(missing, [])
    const shown = new Set(names.map((name) => name.replace(/_(bucket|sum|count)$/, '')))
    const unseen = [...known].filter((name) => name?.startsWith('assistant_core_') && !shown.has(name))
    assert.deepEqual(unseen, ['assistant_core_info'])
  })
})

describe('the log', () => {
  it('has a line for each request with its id, trace, user and client, and no secret in it', async () => {
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
    const response = await callTool('list_doctypes', { traceparent: `00-${trace}-00f067aa0ba902b7-01` })
    const id = response.headers.get('x-request-id')
    assert.ok(id)
    await until(() => service.lines.some((line) => line['msg'] === 'request' && line['request_id'] === id))
    const line = service.lines.find((one) => one['msg'] === 'request' && one['request_id'] === id)
    assert.equal(line?.['user'], 'sales@example.com')
    assert.equal(line?.['trace_id'], trace)
    assert.equal(line?.['path'], mcpPath)
    assert.equal(line?.['status'], 200)
    assert.ok(line?.['client'])
    await fetch(`${service.url}/made-up?access_token=${token}`)
    await delay(50)
    const all = JSON.stringify(service.lines)
    assert.ok(!all.includes(token), 'the token is in the log')
  })

  it('takes what is not a traceparent for none', async () => {
    for (const traceparent of [
      'ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
      `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
      'x\u0020y',
    ]) {
      const response = await callTool('list_doctypes', { traceparent })
      const id = response.headers.get('x-request-id')
      await until(() => service.lines.some((line) => line['msg'] === 'request' && line['request_id'] === id))
      const line = service.lines.find((one) => one['msg'] === 'request' && one['request_id'] === id)
      assert.equal(line?.['trace_id'], undefined, traceparent)
    }
  })
})

describe('too many requests at once', () => {
  it('are refused with 503 and Retry-After while health answers, and room comes back', async () => {
    const held = [0, 1, 2].map(() => service.daemon.services.places.take('192.0.2.1', 'somebody', 0))
    const refused = await callTool('list_doctypes')
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '1'])
    assert.equal((await fetch(`${service.url}/healthz`)).status, 200)
    assert.equal((await fetch(`${service.url}/readyz`)).status, 200)
    for (const one of held) one?.leave()
    assert.equal((await callTool('list_doctypes')).status, 200)
    assert.match(await metricsText(), /^assistant_core_requests_shed_total 1$/m)
  })
})

describe('audit.syslog', () => {
  it('of the settings gets every event, as RFC 5424 has it', async () => {
    await callTool('list_doctypes')
    await until(() => syslogLines.some((line) => line.includes('"tool.call"')))
    const line = syslogLines.find((one) => one.includes('"tool.call"'))
    assert.match(line!, /^<\d+>1 \d{4}-\d{2}-\d{2}T[\d:.]+Z \S+ assistant-core \d+ tool\.call /)
    assert.ok(!syslogLines.join('').includes(token))
  })
})

describe('audit.webhook', () => {
  it('of the settings gets every event', async () => {
    await callTool('list_doctypes')
    await until(() => /"tool\.call"/.test(hookBodies.join('')))
    assert.doesNotMatch(hookBodies.join(''), new RegExp(token))
  })
})

function callTool(name: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(service.url + mcpPath, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } }),
  })
}

function metricsText(): Promise<string> {
  return service.daemon.services.metrics.text()
}
