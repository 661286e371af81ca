// Runs beside the installed packages, in a process of its own: one library on its whole way. What a person does, and what
// happens to the service meanwhile, it asks of the process that started it.
import process from 'node:process'

const [name, url] = process.argv.slice(2)
const issuer = new URL(url).origin
const called = { doctype: 'Customer', limit: 1 }

let asked = 0
const parent = (what, about) =>
  new Promise((resolve) => {
    const id = ++asked
    const hear = (message) => {
      if (message.id !== id) return
      process.off('message', hear)
      resolve(message.answer)
    }
    process.on('message', hear)
    process.send({ id, what, about })
  })

/** What a program that uses an SDK keeps, with a person who signs in at once. */
function newProvider() {
  const kept = {}
  return {
    kept,
    redirectUrl: 'http://127.0.0.1:5555/callback',
    clientMetadata: {
      client_name: name,
      redirect_uris: ['http://127.0.0.1:5555/callback'],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    },
    state: () => 'a-state',
    storedState: () => 'a-state',
    saveState: () => undefined,
    clientInformation: () => kept.client,
    saveClientInformation: (client) => void (kept.client = client),
    tokens: () => kept.tokens,
    saveTokens: (tokens) => void (kept.tokens = tokens),
    saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
    codeVerifier: () => kept.verifier,
    invalidateCredentials: () => undefined,
    discoveryState: () => kept.discovery,
    saveDiscoveryState: (state) => void (kept.discovery = state),
    redirectToAuthorization: async (address) => {
      kept.answer = new URL(await parent('signIn', String(address))).searchParams
    },
  }
}

/** Begins, lets the person sign in, and ends what the library began. */
async function signedIn(begin, finish) {
  const provider = newProvider()
  await begin(provider).catch((error) => {
    if (!provider.kept.answer) throw error
  })
  if (!provider.kept.answer) throw new Error('nobody was asked to sign in')
  await finish(provider, provider.kept.answer.get('code'), provider.kept.answer.get('iss') ?? undefined)
  return provider
}

const info = { name, version: '1' }

async function sdk1() {
  const { Client } = await import(`${name}/client/index.js`)
  const { StreamableHTTPClientTransport } = await import(`${name}/client/streamableHttp.js`)
  const transportOf = (authProvider) => new StreamableHTTPClientTransport(new URL(url), { authProvider })
  return sdk(() => new Client(info), transportOf)
}

async function sdk2(mode) {
  const { Client, StreamableHTTPClientTransport } = await import('sdk-2.4.0')
  const transportOf = (authProvider) => new StreamableHTTPClientTransport(new URL(url), { authProvider })
  const options = mode === 'modern' ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : undefined
  return sdk(() => new Client(info, options), transportOf, mode)
}

async function sdk(newClient, transportOf, mode) {
  let first
  const provider = await signedIn(
    (provider) => newClient().connect((first = transportOf(provider))),
    (_, code, iss) => first.finishAuth(code, iss),
  )
  const client = newClient()
  await client.connect(transportOf(provider))
  return {
    lists: async () => {
      await client.listTools()
      await client.listPrompts()
      await client.listResources()
      if (mode === 'modern') await client.listen({ promptsListChanged: true })
    },
    call: async () => (await client.callTool({ name: 'list_documents', arguments: called })).isError,
    close: () => client.close(),
  }
}

/** For libraries that leave the end of a sign-in to the SDK that they are built on. */
async function throughSdk(begin, then) {
  const { auth } = await import('sdk-1.32.2/client/auth.js')
  const provider = await signedIn(begin, async (provider, authorizationCode) => {
    await auth(provider, { serverUrl: url, authorizationCode })
  })
  return then(provider)
}

const libraries = {
  'ai-sdk': async () => {
    const { auth, createMCPClient } = await import('@ai-sdk/mcp')
    const open = (authProvider) => createMCPClient({ transport: { type: 'http', url, authProvider } })
    const provider = await signedIn(open, (provider, authorizationCode, iss) =>
      auth(provider, { serverUrl: url, authorizationCode, callbackState: 'a-state', iss }),
    )
    const client = await open(provider)
    let tools
    return {
      lists: async () => {
        tools = await client.tools()
        await client.listResources()
        await client.experimental_listPrompts()
      },
      call: async () => {
        const answer = await tools.list_documents.execute(called, { toolCallId: '1', messages: [] })
        return answer.isError
      },
      close: () => client.close(),
    }
  },
  langchain: async () => {
    const { MultiServerMCPClient } = await import('@langchain/mcp-adapters')
    const open = (authProvider) =>
      new MultiServerMCPClient({ mcpServers: { assistant: { transport: 'http', url, authProvider } } })
    return throughSdk(
      (provider) => open(provider).getTools(),
      (provider) => {
        const client = open(provider)
        let tools
        return {
          lists: async () => {
            tools = await client.getTools()
            await client.listResources()
          },
          call: async () => {
            await tools.find((tool) => tool.name === 'list_documents').invoke(called)
            return false
          },
          close: () => client.close(),
        }
      },
    )
  },
  'openai-agents': async () => {
    const { MCPServerStreamableHttp } = await import('@openai/agents')
    const open = (authProvider) => new MCPServerStreamableHttp({ url, name: 'assistant', authProvider })
    return throughSdk(
      (provider) => open(provider).connect(),
      async (provider) => {
        const server = open(provider)
        await server.connect()
        return {
          lists: async () => {
            await server.listTools()
            await server.listResources()
          },
          call: async () => (await server.callToolResult('list_documents', called)).isError,
          close: () => server.close(),
        }
      },
    )
  },
  mastra: async () => {
    const { MCPClient } = await import('@mastra/mcp')
    let count = 0
    const open = (authProvider) =>
      new MCPClient({ id: `matrix-${++count}`, servers: { assistant: { url: new URL(url), authProvider } } })
    return throughSdk(
      (provider) => open(provider).listTools(),
      (provider) => {
        const client = open(provider)
        let tools
        return {
          lists: async () => {
            tools = await client.listTools()
            await client.resources.list()
            await client.prompts.list()
          },
          call: async () => {
            const answer = await tools.assistant_list_documents.execute(called, {})
            if (answer?.isError || answer?.error) throw new Error(JSON.stringify(answer).slice(0, 200))
            return false
          },
          close: () => client.disconnect(),
        }
      },
    )
  },
  'mcp-use': async () => {
    const { MCPClient } = await import('mcp-use/client')
    const open = (authProvider) => new MCPClient({ mcpServers: { assistant: { url, authProvider } } })
    return throughSdk(
      (provider) => open(provider).createSession('assistant'),
      async (provider) => {
        const client = open(provider)
        const session = await client.createSession('assistant')
        return {
          lists: async () => {
            await session.connector.listTools()
            await session.connector.listAllResources()
            await session.connector.listPrompts()
          },
          call: async () => (await session.connector.callTool('list_documents', called)).isError,
          close: () => client.closeAllSessions(),
        }
      },
    )
  },
  'openid-client': async () => {
    const client = await import('openid-client')
    const insecure = { execute: [client.allowInsecureRequests] }
    const metadata = { redirect_uris: ['http://127.0.0.1:5555/callback'], token_endpoint_auth_method: 'none' }
    const config = await client.dynamicClientRegistration(new URL(issuer), metadata, client.None(), insecure)
    const verifier = client.randomPKCECodeVerifier()
    const address = client.buildAuthorizationUrl(config, {
      redirect_uri: metadata.redirect_uris[0],
      scope: 'all openid',
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    })
    const back = new URL(await parent('signIn', address.href))
    let tokens = await client.authorizationCodeGrant(config, back, { pkceCodeVerifier: verifier })
    return bare(
      () => tokens,
      async () => (tokens = await client.refreshTokenGrant(config, tokens.refresh_token)),
    )
  },
  oauth4webapi: async () => {
    const oauth = await import('oauth4webapi')
    const insecure = { [oauth.allowInsecureRequests]: true }
    const at = new URL(issuer)
    const as = await oauth.processDiscoveryResponse(
      at,
      await oauth.discoveryRequest(at, { algorithm: 'oauth2', ...insecure }),
    )
    const metadata = { redirect_uris: ['http://127.0.0.1:5555/callback'], token_endpoint_auth_method: 'none' }
    const client = await oauth.processDynamicClientRegistrationResponse(
      await oauth.dynamicClientRegistrationRequest(as, metadata, insecure),
    )
    const verifier = oauth.generateRandomCodeVerifier()
    const address = new URL(as.authorization_endpoint)
    for (const [key, value] of Object.entries({
      client_id: client.client_id,
      redirect_uri: metadata.redirect_uris[0],
      response_type: 'code',
      scope: 'all',
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    }))
      address.searchParams.set(key, value)
    const back = new URL(await parent('signIn', address.href))
    const answer = oauth.validateAuthResponse(as, client, back)
    const redeemed = await oauth.authorizationCodeGrantRequest(
      as,
      client,
      oauth.None(),
      answer,
      metadata.redirect_uris[0],
      verifier,
      insecure,
    )
    let tokens = await oauth.processAuthorizationCodeResponse(as, client, redeemed)
    return bare(
      () => tokens,
      async () => {
        const { refresh_token: token } = tokens
        const renewed = await oauth.refreshTokenGrantRequest(as, client, oauth.None(), token, insecure)
        tokens = await oauth.processRefreshTokenResponse(as, client, renewed)
      },
    )
  },
}

/** MCP without an SDK, for libraries that speak OAuth only. */
function bare(tokens, renew) {
  const ask = async (method, params = {}) => {
    const send = () =>
      fetch(url, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${tokens().access_token}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      })
    let answer = await send()
    if (answer.status === 401) {
      await renew()
      answer = await send()
    }
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`)
    return (await answer.json()).result
  }
  return {
    lists: async () => {
      for (const noun of ['tools', 'prompts', 'resources']) await ask(`${noun}/list`)
    },
    call: async () => (await ask('tools/call', { name: 'list_documents', arguments: called })).isError,
    close: () => undefined,
  }
}

const open = name.startsWith('sdk-1')
  ? sdk1
  : name.startsWith('sdk-2')
    ? () => sdk2(process.argv[4])
    : libraries[name]
try {
  const library = await open()
  await library.lists()
  if (await library.call()) throw new Error('the call failed')
  await parent('edit')
  await parent('expire')
  if (await library.call()) throw new Error('the call failed once the token had ended')
  await parent('revoke')
  const refused = await Promise.resolve(library.call()).then(
    (isError) => isError === true,
    () => true,
  )
  if (!refused) throw new Error('what was revoked still works')
  await Promise.resolve(library.close()).catch(() => undefined)
  await parent('done')
  process.exit(0)
} catch (error) {
  process.stderr.write(`${error?.stack ?? error}\n${error?.cause ?? ''}\n`)
  process.exit(1)
}
