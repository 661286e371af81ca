/** RFC 8414 and RFC 9728, the metadata documents, with specification §4.1 and OpenID Connect Discovery. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { paths, resourceOf } from '../../src/oauth/urls.ts'
import { startServer, type TestServer } from '../oauth/server.ts'

async function document(server: TestServer, path: string): Promise<Record<string, unknown>> {
  const response = await fetch(server.url + path)
  assert.equal(response.status, 200, path)
  assert.match(response.headers.get('content-type') ?? '', /^application\/json/)
  const body = (await response.json()) as Record<string, unknown>
  for (const [key, value] of Object.entries(body)) assert.notEqual(value, null, key)
  return body
}

const publicUrl = 'https://assistant.example'
const base = 'https://assistant.example/api/method/platform.integrations.oauth2.'

describe('RFC 8414, RFC 9728 and specification §4.1', () => {
  it('§4.1 has every field of the specification, from the public URL and nothing else', async (t) => {
    const server = await startServer(t, {
      publicUrl,
      settings: { oauth: { client_id_metadata_documents: true } },
    })
    const body = await document(server, paths.openidConfiguration)
    const required = {
      issuer: publicUrl,
      authorization_endpoint: `${base}authorize`,
      token_endpoint: `${base}get_token`,
      userinfo_endpoint: `${base}openid_profile`,
      jwks_uri: `${base}jwks`,
      registration_endpoint: `${publicUrl}/api/method/assistant_core.api.oauth_registration.register_client`,
      revocation_endpoint: `${base}revoke_token`,
      introspection_endpoint: `${base}introspect_token`,
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      code_challenge_methods_supported: ['S256'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
      token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
      mcp_endpoint: `${publicUrl}/api/method/assistant_core.api.mcp_endpoint.handle_mcp`,
      mcp_protocol_version: '2025-06-18',
      mcp_transport: 'StreamableHTTP',
    }
    for (const [key, value] of Object.entries(required)) assert.deepEqual(body[key], value, key)
    assert.deepEqual(body['scopes_supported'], ['all', 'openid', 'profile', 'email'])
    assert.equal(body['client_id_metadata_document_supported'], true)
  })

  it('§3 of RFC 8414: the same issuer everywhere, with a member for each endpoint', async (t) => {
    const server = await startServer(t, { publicUrl })
    const body = await document(server, paths.authorizationServer)
    assert.equal(body['issuer'], publicUrl)
    assert.equal(body['authorization_response_iss_parameter_supported'], true)
    assert.deepEqual(body['token_endpoint_auth_methods_supported'], [
      'none',
      'client_secret_basic',
      'client_secret_post',
      'private_key_jwt',
    ])
    assert.deepEqual(await document(server, paths.authorizationServer + paths.mcp), body)
  })

  it('shows the registration endpoint only while registration is on', async (t) => {
    const server = await startServer(t, {
      settings: { oauth: { enable_dynamic_client_registration: false } },
    })
    for (const path of [paths.openidConfiguration, paths.authorizationServer]) {
      assert.equal('registration_endpoint' in (await document(server, path)), false)
    }
  })

  it('§2 of RFC 9728: the resource is the MCP endpoint, its authorization server is us', async (t) => {
    const server = await startServer(t, {
      publicUrl,
      settings: {
        oauth: {
          resource_name: 'Our data',
          documentation_url: 'https://docs.example/',
          policy_uri: 'https://docs.example/privacy',
          terms_of_service_uri: 'https://docs.example/terms',
          supported_scopes: 'openid\nall\n',
        },
      },
    })
    const body = await document(server, paths.protectedResource)
    assert.deepEqual(body, {
      resource: resourceOf(publicUrl),
      authorization_servers: [publicUrl],
      scopes_supported: ['all'],
      bearer_methods_supported: ['header'],
      resource_name: 'Our data',
      resource_documentation: 'https://docs.example/',
      resource_policy_uri: 'https://docs.example/privacy',
      resource_tos_uri: 'https://docs.example/terms',
    })
    // §3.1: the well-known string goes between host and path.
    assert.deepEqual(await document(server, paths.protectedResource + paths.mcp), body)
    const server_ = await document(server, paths.authorizationServer)
    assert.deepEqual(server_['scopes_supported'], ['openid', 'all'])
    assert.equal(server_['service_documentation'], 'https://docs.example/')
  })

  it('hides documents that the settings hide, as JSON', async (t) => {
    const server = await startServer(t, {
      settings: {
        oauth: { show_authorization_server_metadata: false, show_protected_resource_metadata: false },
      },
    })
    const hidden = [paths.authorizationServer, paths.protectedResource, paths.protectedResource + paths.mcp]
    for (const path of [...hidden, '/.well-known/nothing', '/.well-known/oauth-authorization-server/other']) {
      const response = await fetch(server.url + path)
      assert.equal(response.status, 404, path)
      assert.match(response.headers.get('content-type') ?? '', /^application\/json/)
      await response.json()
    }
    assert.equal((await fetch(server.url + paths.openidConfiguration)).status, 200)
  })

  it('never lets the Host header into a document', async (t) => {
    const server = await startServer(t, { publicUrl })
    for (const path of [paths.openidConfiguration, paths.authorizationServer, paths.protectedResource]) {
      const response = await fetch(server.url + path, { headers: { 'X-Forwarded-Host': 'evil.example' } })
      assert.doesNotMatch(await response.text(), /evil|localhost|127\.0/)
    }
  })
})
