/** §9.4 A site of the older layout: it runs as it stands, `migrate` rewrites its settings, and existing clients keep working. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { operate } from '../../src/cli/control.ts'
import { paths } from '../../src/oauth/urls.ts'
import { copyOfShippedSite, runCli, temporaryFolder } from '../helpers/daemon.ts'
import { mcpPath, runService, type RunningService } from './running-service.ts'

const old = `# Ours, of 2024.
assistant_core_settings:
  enable_dynamic_client_registration: 0 # by hand only
  allowed_public_client_origins: |
    https://app.example.com
    https://desk.example.com
  resource_name: Our Assistant
  supported_scopes: |
    all
    openid
  audit_log_retention_days: 30
`

/** What programs see of the settings, and that a token and a client of before still work. */
async function seen({ url, options }: RunningService, token: string, client: string): Promise<unknown> {
  const json = async (path: string, init: RequestInit = {}): Promise<Record<string, unknown>> =>
    (await (await fetch(url + path, init)).json()) as Record<string, unknown>
  const { registration_endpoint, scopes_supported } = await json(paths.authorizationServer)
  const { resource_name } = await json(paths.protectedResource)
  const origins = ['https://app.example.com', 'https://desk.example.com', 'https://evil.example.com']
  const allowed = await Promise.all(
    origins.map(async (origin) =>
      (await fetch(url + paths.token, { method: 'POST', headers: { origin } })).headers.get(
        'access-control-allow-origin',
      ),
    ),
  )
  const ping = await fetch(url + mcpPath, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
  })
  const { client_name } = (await operate(options, 'clients.show', { client_id: client })) as {
    client_name: string
  }
  return { registration_endpoint, scopes_supported, resource_name, allowed, ping: ping.status, client_name }
}

describe('a site of the older layout', () => {
  it('runs as it stands, and the same after migrate, which keeps its comments and its clients', async (t) => {
    const site = copyOfShippedSite(t)
    const file = join(site, 'config/settings.yaml')
    writeFileSync(file, old)
    const where = { site, state: join(temporaryFolder(t), 'state') }
    const options = { ...where, json: true }
    const service = await runService(t, { ...where, options })
    const made = (await operate(options, 'clients.register', {
      name: 'Portal',
      redirect_uris: ['https://portal.example.com/callback'],
      auth_method: 'client_secret_basic',
    })) as { client_id: string }
    const client = made.client_id
    const { access_token: token } = (await operate(options, 'tokens.issue', {
      user: 'sales@example.com',
      client,
    })) as { access_token: string }
    const before = await seen(service, token, client)
    assert.deepEqual(before, {
      registration_endpoint: undefined,
      scopes_supported: ['all', 'openid'],
      resource_name: 'Our Assistant',
      allowed: ['https://app.example.com', 'https://desk.example.com', null],
      ping: 200,
      client_name: 'Portal',
    })
    const checked = await runCli(['check', '--site', site])
    assert.match(checked.stdout + checked.stderr, /run "assistant-core migrate"/)

    const dry = await runCli(['migrate', '--site', site, '--dry-run'])
    assert.equal(dry.code, 0, dry.stderr)
    assert.equal(readFileSync(file, 'utf8'), old, 'a dry run writes nothing')
    const done = await runCli(['migrate', '--site', site])
    assert.equal(done.code, 0, done.stderr)
    assert.match(done.stdout, /version is now 2/)
    const text = readFileSync(file, 'utf8')
    assert.equal(text.trimEnd(), dry.stdout.trimEnd())
    assert.match(text, /# Ours, of 2024\.[^]*enable_dynamic_client_registration: false # by hand only/)
    assert.doesNotMatch(text, /assistant_core_settings/)
    await operate(options, 'site.reload', {})
    assert.deepEqual(await seen(service, token, client), before)
    assert.match((await runCli(['migrate', '--site', site])).stdout, /nothing to migrate/)
    assert.doesNotMatch((await runCli(['check', '--site', site])).stderr, /migrate/)

    await service.daemon.stop()
    assert.deepEqual(await seen(await runService(t, { ...where, options }), token, client), before)
  })
})
