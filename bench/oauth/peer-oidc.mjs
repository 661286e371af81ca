/**
 * A peer: oidc-provider with its in-memory adapter and open registration. Who comes is signed in at once; consent is
 * asked, as its manual does it, where the request says `prompt=consent`.
 */
import { createServer } from 'node:http'
import process from 'node:process'
import { Provider } from 'oidc-provider'

const scopes = ['openid', 'offline_access', 'email', 'all']
const account = 'ada'
const server = createServer()
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address()
  const provider = new Provider(`http://127.0.0.1:${port}`, {
    scopes,
    claims: { openid: ['sub'], email: ['email'] },
    clients: [],
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      introspection: { enabled: true },
    },
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ sub, email: `${sub}@example.com` }) }),
    issueRefreshToken: () => true,
    rotateRefreshToken: () => true,
    clientBasedCORS: () => true,
    cookies: { keys: ['k'] },
    pkce: { required: () => true },
    async loadExistingGrant({ oidc }) {
      const known = oidc.session.grantIdFor(oidc.client.clientId)
      return known ? oidc.provider.Grant.find(known) : newGrant(oidc.provider, oidc.client.clientId)
    },
  })
  const callback = provider.callback()
  server.on('request', (request, response) => {
    if (!request.url.startsWith('/interaction/')) return callback(request, response)
    interact(provider, request, response).catch((error) => response.writeHead(500).end(String(error)))
  })
  process.stdout.write(`${JSON.stringify({ msg: 'listening', port })}\n`)
})

async function newGrant(provider, clientId) {
  const grant = new provider.Grant({ clientId, accountId: account })
  grant.addOIDCScope(scopes.join(' '))
  await grant.save()
  return grant
}

async function interact(provider, request, response) {
  const { uid, prompt, params, grantId } = await provider.interactionDetails(request, response)
  if (prompt.name === 'login')
    return provider.interactionFinished(request, response, { login: { accountId: account } })
  if (request.method === 'GET')
    return response
      .writeHead(200, { 'Content-Type': 'text/html' })
      .end(
        `<!doctype html><p>${params.client_id} asks for ${params.scope}<form method="post" action="/interaction/${uid}"><button name="decision" value="approve">Allow</button></form>`,
      )
  for await (const chunk of request) void chunk
  const grant = grantId ? await provider.Grant.find(grantId) : await newGrant(provider, params.client_id)
  const consent = { grantId: await grant.save() }
  return provider.interactionFinished(request, response, { consent }, { mergeWithLastSubmission: true })
}
