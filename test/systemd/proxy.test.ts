/** The example configuration of nginx before the service, met by a real MCP client over TLS and by `doctor --public`. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { examinePublic } from '../../src/control/doctor/public.ts'
import type { Finding } from '../../src/control/doctor/finding.ts'
import { operate } from '../../src/cli/control.ts'
import { folders, mcpPath, runService } from '../cli/running-service.ts'
import {
  projectRoot,
  runCli,
  type RunningDaemon,
  signForEachOther,
  startDaemon,
  temporaryFolder,
} from '../helpers/daemon.ts'
import { inDatabase, noPostgres, startPostgres } from '../helpers/postgres.ts'
import { nginxMissing, startNginx } from './nginx.ts'
import { freePort } from '../helpers/free-port.ts'
import { callerOf } from '../helpers/tool-calls.ts'

const missing = nginxMissing()

describe('behind nginx', () => {
  it(
    'as the example has it, the official client works over TLS and doctor finds nothing wrong',
    { skip: missing },
    async (t) => {
      const port = await freePort()
      const origin = `https://localhost:${port}`
      const where = folders(t, [['trusted_proxies: []', 'trusted_proxies: [127.0.0.1]']])
      const service = await runService(t, where, origin)
      const folder = temporaryFolder(t)
      const authority = await startNginx(t, folder, { port, upstream: service.daemon.address.port })
      const { access_token: token } = await operate(service.options, 'tokens.issue', {
        user: 'sales@example.com',
      })
      const env = { NODE_EXTRA_CA_CERTS: authority }
      const client = await output(
        ['--import', 'tsx', join(import.meta.dirname, 'mcp-over-tls-child.ts'), origin + mcpPath, token],
        env,
      )
      const { tools, called } = JSON.parse(client) as { tools: number; called: { isError?: boolean } }
      assert.ok(tools > 5)
      assert.notEqual(called.isError, true)

      const args = ['doctor', '--public', origin, '--json', '--site', service.site, '--state', service.state]
      const doctor = await runCli(args, { env })
      const { findings } = JSON.parse(doctor.stdout) as { findings: Finding[] }
      const bad = findings.filter(
        ({ check, status }) => check.startsWith('public.') && (status === 'failure' || status === 'warning'),
      )
      assert.deepEqual(bad, [])
      const known = findings.filter(({ check, status }) => check.startsWith('public.') && status === 'ok')
      assert.ok(known.length >= 19, known.map(({ check }) => check).join())
    },
  )

  it(
    'spoiled in five ways, each is named by its slug with a cause and a remedy',
    { skip: missing },
    async (t) => {
      const port = await freePort()
      const service = await runService(t, folders(t), `http://localhost:${port}`)
      await startNginx(t, temporaryFolder(t), { port, upstream: service.daemon.address.port }, (text) =>
        text
          .replace(/ ssl http2;/, ';')
          .replace(/ssl_.*\n/g, '')
          .replace('client_max_body_size 4m;', '')
          .replace('proxy_set_header Host $http_host;', 'proxy_set_header Authorization "";')
          .replace(
            'proxy_buffering off;',
            'proxy_ignore_headers X-Accel-Buffering; gzip on; gzip_proxied any; gzip_min_length 0; gzip_types text/event-stream; proxy_hide_header WWW-Authenticate;',
          )
          .replace('proxy_hide_header', 'add_header Access-Control-Allow-Origin * always; proxy_hide_header'),
      )
      const { probe } = service.daemon.services
      const found = await examinePublic(`http://localhost:${port}`, {
        publicUrl: service.daemon.services.publicUrl(),
        expect: () => Promise.resolve(probe.expect()),
        arrival: (nonce) => Promise.resolve(probe.arrival(nonce) ?? null),
      })
      const bad = found.filter(({ status }) => status === 'failure' || status === 'warning')
      assert.deepEqual(
        bad.map(({ check }) => check).sort(),
        [
          'public.body_limit',
          'public.challenge',
          'public.cors',
          'public.host',
          'public.proxy_headers',
          'public.streaming',
        ],
        JSON.stringify(found.filter(({ check }) => check === 'public.streaming')),
      )
      assert.ok(bad.every(({ cause, remedy }) => cause && remedy))
    },
  )
})

describe('several daemons on one machine', () => {
  it(
    'of the unit that install wrote share a database behind nginx, which passes over one that has ended',
    { skip: missing || noPostgres },
    async (t) => {
      const root = join(temporaryFolder(t), 'root')
      assert.equal((await runCli(['install', '--systemd', '--root', root])).code, 0)
      const unit = readFileSync(join(root, 'etc/systemd/system/assistant-core@.service'), 'utf8')
      const database = await (await startPostgres(t)).newDatabase()
      const { site } = folders(t, inDatabase(t, database))
      const port = await freePort()
      const ports = [await freePort(), await freePort()] as const
      const start = (own: number): Promise<RunningDaemon> => {
        const instance = unit.replaceAll('%i', String(own))
        const [, state] = /^Environment=ASSISTANT_CORE_STATE=(.+)$/m.exec(instance)!
        const [, args] = /^ExecStart=\S+ serve (.+)$/m.exec(instance)!
        const options = { site, state: join(root, state!) }
        return startDaemon(t, {
          ...options,
          args: [...args!.split(' '), '--public-url', `http://localhost:${port}`],
        })
      }
      // One after the other: the first makes the state.
      const daemons = [await start(ports[0]), await start(ports[1])]
      assert.deepEqual(
        daemons.map(({ url }) => Number(new URL(url).port)),
        ports,
      )
      await signForEachOther(daemons)
      await startNginx(t, temporaryFolder(t), { port, upstream: ports[0] }, (text) =>
        text
          .replace(/ ssl http2;/, ';')
          .replace(/ssl_.*\n/g, '')
          .replace('#server 127.0.0.1:8788;', `server 127.0.0.1:${ports[1]};`),
      )
      const through = { ...daemons[0]!, url: `http://localhost:${port}` }
      const call = await callerOf(through, 'sales@example.com')
      const create = () => call('create_document', { doctype: 'Note', data: { title: 'Kept' } })
      for (let n = 0; n < 4; n++) await create()
      for (const daemon of daemons)
        assert.match((await daemon.cli(['metrics'])).stdout, /tool="create_document"/, daemon.url)
      await daemons[0]!.stop('SIGKILL')
      for (let n = 0; n < 4; n++) await create()
      const ended = await daemons[1]!.cli(['audit', 'search', '--tool', 'create_document', '--json'])
      assert.equal(ended.stdout.match(/"tool\.call"/g)?.length, 8, 'each once, whoever answered')
    },
  )
})

describe('doctor --public', () => {
  it('names an address that is none, one where nothing listens, and one of another name', async (t) => {
    const port = await freePort()
    const slugs = async (url: string): Promise<string[]> =>
      (await examinePublic(url, undefined))
        .filter(({ status }) => status === 'failure')
        .map(({ check }) => check)
    assert.deepEqual(await slugs('assistant.example.com'), ['public.url'])
    assert.deepEqual(await slugs('https://assistant.example.com/mcp'), ['public.url'])
    assert.deepEqual(await slugs(`http://localhost:${port}`), ['public.reachable'])
    const service = await runService(t)
    const other = await slugs(service.url.replace('localhost', '127.0.0.1'))
    assert.deepEqual(other, [
      'public.issuer',
      'public.endpoints',
      'public.resource',
      'public.authorization_servers',
      'public.challenge',
    ])
  })
})

function output(args: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: projectRoot, env: { ...process.env, ...env } })
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
    child.on('close', (code) => (code === 0 ? resolve(stdout) : reject(new Error(stderr))))
  })
}
