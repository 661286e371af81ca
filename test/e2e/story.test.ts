/** The whole story against the real program: what an AI client does that knows only the URL. */
import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client'
import { auth } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import * as openid from 'openid-client'
import { authorizeInBrowser } from '../helpers/browser.ts'
import { startDaemon, type RunningDaemon } from '../helpers/daemon.ts'
import { Provider } from '../helpers/provider.ts'

const person = { username: 'sales@example.com', password: 'correct horse battery staple' }
const mcpPath = '/api/method/assistant_core.api.mcp_endpoint.handle_mcp'

describe('the story', () => {
  let daemon: RunningDaemon
  let end: () => void
  // One daemon for all: its own context, which ends when the last test did.
  before(async () => {
    const closers: (() => unknown)[] = []
    daemon = await startDaemon({
      after: (close: () => unknown) => closers.push(close),
    } as unknown as TestContext)
    end = () => closers.reverse().forEach((close) => void close())
    const set = await daemon.cli(
      ['users', 'passwd', person.username, '--password-stdin'],
      `${person.password}\n`,
    )
    assert.equal(set.code, 0, set.stderr)
  })
  after(() => end())

  it('is walked by the official SDK client from the URL to a created document, and the audit log tells it', async () => {
    const url = new URL(daemon.url + mcpPath)
    const provider = new Provider()
    assert.equal(await auth(provider, { serverUrl: url }), 'REDIRECT')
    const back = await authorizeInBrowser(provider.asked!.href, person)
    assert.equal(back.searchParams.get('state'), provider.stateSent)
    assert.equal(back.searchParams.get('iss'), daemon.url)
    assert.equal(
      await auth(provider, { serverUrl: url, authorizationCode: back.searchParams.get('code')! }),
      'AUTHORIZED',
    )

    const client = new Client({ name: 'story', version: '1.0.0' })
    await client.connect(new StreamableHTTPClientTransport(url, { authProvider: provider }))
    const { tools } = await client.listTools()
    for (const name of ['list_documents', 'get_document', 'create_document'])
      assert.ok(
        tools.some((tool) => tool.name === name),
        name,
      )

    const listed = await call(client, 'list_documents', { doctype: 'Customer', limit: 3 })
    assert.equal(listed.data.length, 3)
    assert.ok(listed.total_count > 3)
    const name = String(listed.data[0].name)
    assert.equal((await call(client, 'get_document', { doctype: 'Customer', name })).data.name, name)
    const created = await call(client, 'create_document', { doctype: 'Task', data: { subject: 'Call back' } })
    assert.equal(
      (await call(client, 'get_document', { doctype: 'Task', name: created.name })).data.subject,
      'Call back',
    )

    const { prompts } = await client.listPrompts()
    assert.ok(prompts.some((prompt) => prompt.name === 'sales_analysis'))
    const prompt = await client.getPrompt({
      name: 'sales_analysis',
      arguments: { analysis_focus: 'customer_analysis' },
    })
    assert.match((prompt.messages[0]!.content as { text: string }).text, /customer/i)
    const { resources } = await client.listResources()
    assert.ok(resources.length >= 5)
    const read = await client.readResource({ uri: resources[0]!.uri })
    assert.ok('text' in read.contents[0]! && read.contents[0].text.length > 100)
    await client.close()

    const tail = await daemon.cli(['audit', 'tail', '-n', '100', '--json'])
    const events = tail.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; target?: string; user?: string })
    const types = events.map((event) => event.type)
    for (const type of [
      'client.register',
      'sign_in.ok',
      'token.issue',
      'tool.call',
      'document.create',
      'prompt.get',
      'skill.read',
    ])
      assert.ok(types.includes(type), `${type} in ${types.join(' ')}`)
    assert.ok(
      events.some(
        (event) =>
          event.type === 'tool.call' && event.target === 'create_document' && event.user === person.username,
      ),
    )
    const secrets = [
      provider.saved!.access_token,
      provider.saved!.refresh_token!,
      person.password,
      back.searchParams.get('code')!,
    ]
    for (const secret of secrets)
      for (const text of [tail.stdout, daemon.output().stdout, daemon.output().stderr])
        assert.ok(!text.includes(secret))
  })

  it('is walked by openid-client, an independent OAuth client, with refresh and revocation', async () => {
    const config = await openid.dynamicClientRegistration(
      new URL(daemon.url),
      {
        client_name: 'openid-client',
        redirect_uris: ['http://127.0.0.1:5555/callback'],
        token_endpoint_auth_method: 'none',
      },
      openid.None(),
      { execute: [openid.allowInsecureRequests], algorithm: 'oidc' },
    )
    const verifier = openid.randomPKCECodeVerifier()
    const state = openid.randomState()
    const nonce = openid.randomNonce()
    const asked = openid.buildAuthorizationUrl(config, {
      redirect_uri: 'http://127.0.0.1:5555/callback',
      scope: 'openid',
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
      resource: daemon.url + mcpPath,
    })
    const back = await authorizeInBrowser(asked.href, person)
    const tokens = await openid.authorizationCodeGrant(config, back, {
      pkceCodeVerifier: verifier,
      expectedState: state,
      expectedNonce: nonce,
    })
    assert.equal(tokens.claims()?.sub, person.username)
    const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token!)
    assert.notEqual(refreshed.access_token, tokens.access_token)
    assert.equal((await post(daemon, refreshed.access_token, 'ping')).status, 200)
    await openid.tokenRevocation(config, refreshed.refresh_token!)
    assert.equal((await post(daemon, refreshed.access_token, 'ping')).status, 401)
  })

  it('is walked by the v2 SDK client at the newest revision', async () => {
    const issued = JSON.parse(
      (await daemon.cli(['tokens', 'issue', '--user', person.username, '--json'])).stdout,
    ) as { access_token: string }
    const transport = new ModernTransport(new URL(daemon.url + mcpPath), {
      requestInit: { headers: { authorization: `Bearer ${issued.access_token}` } },
    })
    const client = new ModernClient(
      { name: 'story', version: '1.0.0' },
      { versionNegotiation: { mode: { pin: '2026-07-28' } } },
    )
    await client.connect(transport)
    const { tools } = await client.listTools()
    assert.ok(tools.some((tool) => tool.name === 'list_documents'))
    await client.close()
  })

  it('sends state back unchanged when the user denies', async () => {
    const provider = new Provider()
    await auth(provider, { serverUrl: new URL(daemon.url + mcpPath) })
    const back = await authorizeInBrowser(provider.asked!.href, person, 'deny')
    assert.equal(back.searchParams.get('error'), 'access_denied')
    assert.equal(back.searchParams.get('state'), provider.stateSent)
    assert.equal(back.searchParams.get('code'), null)
  })

  it('takes an API key, and cuts it off at once when it is revoked', async () => {
    const key = JSON.parse(
      (await daemon.cli(['api-keys', 'create', '--user', person.username, '--json'])).stdout,
    ) as { api_key: string; api_secret: string }
    const authorization = `token ${key.api_key}:${key.api_secret}`
    assert.equal((await post(daemon, authorization, 'ping')).status, 200)
    assert.equal((await daemon.cli(['api-keys', 'revoke', key.api_key])).code, 0)
    assert.equal((await post(daemon, authorization, 'ping')).status, 401)
  })

  it('answers 403 to a user whose assistant access is not enabled', async () => {
    const issued = JSON.parse(
      (await daemon.cli(['tokens', 'issue', '--user', 'disabled@example.com', '--json'])).stdout,
    ) as { access_token: string }
    const response = await post(daemon, issued.access_token, 'ping')
    assert.equal(response.status, 403)
    assert.equal(((await response.json()) as { error: string }).error, 'forbidden')
  })
})

async function call(client: Client, name: string, args: Record<string, unknown>): Promise<any> {
  const result = await client.callTool({ name, arguments: args })
  const [block] = result.content as { type: string; text: string }[]
  assert.equal(result.isError ?? false, false, block!.text)
  return JSON.parse(block!.text)
}

function post(daemon: RunningDaemon, token: string, method: string): Promise<Response> {
  return fetch(daemon.url + mcpPath, {
    method: 'POST',
    headers: {
      authorization: token.startsWith('token ') ? token : `Bearer ${token}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: {} }),
  })
}
