/** A peer: oidc-provider with its in-memory adapter and open registration; everybody is signed in by one POST. */
import { createServer } from 'node:http'
import process from 'node:process'
import { Provider } from 'oidc-provider'

const server = createServer()
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address()
  const issuer = `http://127.0.0.1:${port}`
  const provider = new Provider(issuer, {
    scopes: ['openid', 'offline_access', 'email'],
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
      if (known) return oidc.provider.Grant.find(known)
      const grant = new oidc.provider.Grant({
        clientId: oidc.client.clientId,
        accountId: oidc.session.accountId,
      })
      grant.addOIDCScope('openid offline_access email')
      await grant.save()
      return grant
    },
  })
  const callback = provider.callback()
  server.on('request', (request, response) => {
    if (!request.url.startsWith('/interaction/')) return callback(request, response)
    provider
      .interactionFinished(request, response, { login: { accountId: 'ada' } })
      .catch((error) => response.writeHead(500).end(String(error)))
  })
  process.stdout.write(`${JSON.stringify({ msg: 'listening', port })}\n`)
})
