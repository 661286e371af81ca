/** The Inspector under a company's identity provider (`--ema`): nobody signs in or consents here, the provider vouches. */
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import process from 'node:process'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { paths } from '../../src/oauth/urls.ts'
import type { Prepared } from './clients.ts'
import { mcpdo, walkWith } from './hosts.ts'
import type { Walk } from './lane.ts'

interface Provider {
  readonly issuer: string
  /** The id that the client has at the service. */
  client: string
}

/** A provider that has signed its user in already. Its certificate is one that this run made. */
export async function serveProvider(): Promise<Prepared> {
  const { privateKey, publicKey } = await generateKeyPair('RS256')
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k', alg: 'RS256', use: 'sig' }
  const provider: { issuer: string; client: string } = { issuer: '', client: '' }
  const sign = (claims: object, typ: string): Promise<string> =>
    new SignJWT({
      iss: provider.issuer,
      sub: 'u-1',
      email: 'sales@example.com',
      email_verified: true,
      ...claims,
    })
      .setProtectedHeader({ alg: 'RS256', kid: 'k', typ })
      .setIssuedAt()
      .setExpirationTime('5 minutes')
      .setJti(crypto.randomUUID())
      .sign(privateKey)
  const token = async (asked: URLSearchParams): Promise<object> =>
    asked.get('grant_type') === 'authorization_code'
      ? {
          access_token: 'none',
          token_type: 'Bearer',
          expires_in: 300,
          id_token: await sign({ aud: 'inspector' }, 'JWT'),
        }
      : {
          issued_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
          access_token: await sign(
            { aud: asked.get('audience'), resource: asked.get('resource'), client_id: provider.client },
            'oauth-id-jag+jwt',
          ),
          token_type: 'N_A',
          expires_in: 300,
        }
  const tls = process.env['MATRIX_TLS']!
  const files = { key: readFileSync(join(tls, 'key.pem')), cert: readFileSync(join(tls, 'cert.pem')) }
  const server = createServer(files, (request, response) => {
    const { issuer } = provider
    const { pathname, searchParams } = new URL(request.url!, issuer)
    const answer = (body: object): void =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (pathname === '/keys') return answer({ keys: [jwk] })
    if (pathname === '/authorize') {
      const back = new URL(searchParams.get('redirect_uri')!)
      back.search = String(
        new URLSearchParams({ code: 'c', state: searchParams.get('state') ?? '', iss: issuer }),
      )
      return void response.writeHead(302, { location: back.href }).end()
    }
    if (pathname === '/token') {
      let body = ''
      request.on('data', (part: Buffer) => (body += part.toString()))
      return void request.on('end', () => void token(new URLSearchParams(body)).then(answer))
    }
    return answer({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/keys`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  provider.issuer = `https://localhost:${(server.address() as AddressInfo).port}`
  return { settings: [], given: provider, close: async () => void server.close() }
}

export async function inspectorUnderProvider(walk: Walk, folder: string, given: unknown): Promise<void> {
  const provider = given as Provider
  const { service } = walk.lane
  // An administrator registers the client, once, and says whose word counts for it.
  const registered = await fetch(service.url + paths.register, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'Inspector',
      redirect_uris: ['http://127.0.0.1:6276/oauth/callback'],
      token_endpoint_auth_method: 'client_secret_post',
    }),
  })
  const { client_id: clientId, client_secret: clientSecret } = (await registered.json()) as Record<
    string,
    string
  >
  provider.client = clientId!
  const settings = join(service.site, 'config/settings.yaml')
  const trusted = JSON.stringify([{ issuer: provider.issuer, clients: [clientId] }])
  writeFileSync(
    settings,
    readFileSync(settings, 'utf8').replace('identity_assertions: []', `identity_assertions: ${trusted}`),
  )
  await service.daemon.services.site.reload('test')

  const [catalog, config] = [join(walk.home, 'mcp.json'), join(walk.home, 'client.json')]
  const oauth = { clientId, clientSecret, enterpriseManaged: true }
  writeFileSync(
    catalog,
    JSON.stringify({ mcpServers: { assistant: { type: 'streamable-http', url: walk.url, oauth } } }),
  )
  const idp = { issuer: provider.issuer, clientId: 'inspector', clientSecret: 'none' }
  writeFileSync(config, JSON.stringify({ enterpriseManagedAuth: { enabled: true, idp } }))
  const { ask, stop } = await mcpdo(walk, folder, {
    MCP_CATALOG_PATH: catalog,
    MCP_CLIENT_CONFIG_PATH: config,
  })
  try {
    const login = await ask('auth/ema-login')
    const [address] = /https:\/\/localhost\S+authorize\?[^\s"]+/.exec(login.output) ?? []
    if (address === undefined) throw new Error(`it wants nobody to sign in: ${login.output.slice(-800)}`)
    await fetch(address)
    await ask('connect', 'assistant', '--connection', 'x', '--ema')
    await walkWith(walk, ask)
  } finally {
    await stop()
  }
}
