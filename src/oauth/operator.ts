/** What the operator does to clients, tokens, API keys and passwords: each checked, done and audited, for the command line. */
import type { Audit } from '../audit/audit.ts'
import { isoTime } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import { linesOf, type Settings } from '../core/settings.ts'
import type { ApiKey, ApiKeyRequest, ApiKeys } from '../users/api-keys.ts'
import type { Passwords } from '../users/passwords.ts'
import type { People, User } from '../users/people.ts'
import type { Sessions } from '../users/sessions.ts'
import { isNetwork } from './addresses.ts'
import { readClientMetadata, registrationMethods } from './client-metadata.ts'
import { commandLineClient, type Clients, type PrunedClient } from './clients.ts'
import type { Keys, KeyStatus } from './keys.ts'
import { OAuthError } from './protocol.ts'
import type { AuthMethod, Client } from './records.ts'
import { registrationOf } from './registration-endpoint.ts'
import { narrowScopes } from './scopes.ts'
import type { Selection, Tokens } from './tokens.ts'
import { resourceOf } from './urls.ts'
import type { Usage } from './usage.ts'

/** What the operator's work needs. */
export interface OperatorDeps {
  readonly settings: () => Settings
  readonly people: () => People
  readonly publicUrl: () => string
  readonly audit: Audit
  readonly clients: Clients
  readonly tokens: Tokens
  readonly keys: Keys
  readonly usage: Usage
  readonly apiKeys: ApiKeys
  readonly passwords: Passwords
  readonly sessions: Sessions
}

/** A client as the operator describes it. */
export interface ClientRequest {
  readonly name?: string
  readonly redirectUris?: readonly string[]
  readonly authMethod?: string
  readonly jwksUri?: string
}

const audited = { user: 'cli', status: 'ok' } as const

/** Issues tokens without a browser, for scripts and service identities; the reply is that of the token endpoint. */
export async function issueTokens(
  deps: OperatorDeps,
  request: {
    readonly user: string
    readonly client?: string
    readonly seconds?: number
    readonly scope?: string
    readonly addresses?: readonly string[]
    readonly label?: string
  },
): Promise<{
  access_token: string
  refresh_token: string
  token_type: 'Bearer'
  expires_in: number
  scope: string
}> {
  const user = requireUser(deps, request.user)
  const client = await requireClient(deps, request.client ?? commandLineClient.id)
  requireNetworks(request.addresses)
  deps.audit.requireWritable()
  const issued = await deps.tokens.issue({
    user: user.id,
    client: client.id,
    clientName: client.name,
    scopes: narrowScopes(request.scope, deps.settings()),
    resource: resourceOf(deps.publicUrl()),
    ...(request.seconds !== undefined && { accessSeconds: request.seconds }),
    ...(request.addresses && request.addresses.length > 0 && { addresses: request.addresses }),
    ...(request.label !== undefined && { label: request.label }),
  })
  await deps.audit.record({
    ...audited,
    type: 'token.issue',
    client: client.id,
    target: issued.family.id,
    data: { for: user.id, scope: issued.scopes.join(' '), expires_in: issued.expiresIn },
  })
  return {
    access_token: issued.accessToken,
    refresh_token: issued.refreshToken ?? '',
    token_type: 'Bearer',
    expires_in: issued.expiresIn,
    scope: issued.scopes.join(' '),
  }
}

/** Access tokens, newest first, with their last use. */
export async function listTokens(
  deps: OperatorDeps,
  where: { readonly user?: string; readonly client?: string },
): Promise<Record<string, unknown>[]> {
  const tokens = await deps.tokens.list(where)
  return Promise.all(
    tokens.map(async (token) => {
      const { lastUsedAt } = await deps.usage.of([token.family])
      return {
        id: token.id,
        family: token.family,
        user: token.user,
        client: token.client,
        client_name: token.clientName,
        scope: token.scopes.join(' '),
        status: token.status,
        issued: isoTime(token.issuedAt),
        expires: isoTime(token.expiresAt),
        ...(lastUsedAt !== undefined && { last_used: isoTime(lastUsedAt) }),
      }
    }),
  )
}

/** Ends tokens; answers how many families ended. AppError `invalid` when nothing is selected. */
export async function revokeTokens(deps: OperatorDeps, selection: Selection): Promise<number> {
  if (Object.values(selection).every((condition) => condition === undefined)) {
    throw new AppError('invalid', 'say which tokens: by user, client, token, or all')
  }
  const ended = await deps.tokens.revoke(selection, 'the operator revoked it')
  await deps.audit.record({
    ...audited,
    type: 'token.revoke',
    data: { ...selection, families: ended.length },
  })
  return ended.length
}

/** Registers a client; the reply is that of registration, with the secret, this once. */
export async function registerClient(
  deps: OperatorDeps,
  request: ClientRequest,
): Promise<Record<string, unknown>> {
  const description = readRequest(deps, request, {})
  const { client, secret } = await deps.clients.register(description, 'operator', async (tx, made) =>
    deps.audit.recordIn(tx, {
      ...audited,
      type: 'client.register',
      client: made.id,
      target: made.id,
      data: {
        name: made.name,
        redirect_uris: made.redirectUris,
        method: made.authMethod,
        source: 'operator',
      },
    }),
  )
  return registrationOf(client, secret)
}

/** Changes a client's name, redirect URIs or key set. */
export async function updateClient(
  deps: OperatorDeps,
  id: string,
  request: ClientRequest,
): Promise<Record<string, unknown>> {
  const known = await requireClient(deps, id)
  if (known.source === 'document' || known.source === 'built_in') {
    throw new AppError('forbidden', `client ${id} is not registered here, so it cannot be changed here`)
  }
  if (request.authMethod !== undefined && request.authMethod !== known.authMethod) {
    throw new AppError(
      'invalid',
      'the authentication method of a client cannot be changed; register another client',
    )
  }
  const { name, redirectUris, metadata } = readRequest(
    deps,
    { ...request, authMethod: known.authMethod },
    known,
  )
  const client = await deps.clients.update(id, {
    name,
    redirectUris,
    metadata: { ...known.metadata, ...metadata },
  })
  await deps.audit.record({
    ...audited,
    type: 'client.update',
    client: id,
    target: id,
    data: { name, redirect_uris: redirectUris },
  })
  return registrationOf(client)
}

/** Gives a client another secret, shown this once. */
export async function rotateClientSecret(deps: OperatorDeps, id: string): Promise<Record<string, unknown>> {
  const { client, secret } = await deps.clients.rotateSecret(id)
  await deps.audit.record({ ...audited, type: 'client.rotate_secret', client: id, target: id })
  return registrationOf(client, secret)
}

/** Removes a client and ends its tokens. AppError `not_found`. */
export async function removeClient(deps: OperatorDeps, id: string): Promise<void> {
  if (!(await deps.clients.remove(id))) throw new AppError('not_found', `no client ${id}`)
  await deps.audit.record({ ...audited, type: 'client.remove', client: id, target: id })
}

/** Clients as the operator sees them: what they registered, and their use. */
export async function listClients(deps: OperatorDeps): Promise<Record<string, unknown>[]> {
  return Promise.all((await deps.clients.list()).map((client) => describeClient(deps, client)))
}

/** One client. AppError `not_found`. */
export async function showClient(deps: OperatorDeps, id: string): Promise<Record<string, unknown>> {
  return describeClient(deps, await requireClient(deps, id))
}

async function describeClient(deps: OperatorDeps, client: Client): Promise<Record<string, unknown>> {
  const families = await deps.tokens.families({ client: client.id })
  const live = families.filter((family) => family.revokedAt === undefined)
  const { lastUsedAt } = await deps.usage.of(families.map((family) => family.id))
  return {
    ...registrationOf(client),
    source: client.source,
    users: [...new Set(live.map((family) => family.user))],
    ...(lastUsedAt !== undefined && { last_used: isoTime(lastUsedAt) }),
    ...(client.expiresAt !== undefined && { removed_unless_used_by: isoTime(client.expiresAt) }),
  }
}

/** Removes clients that nobody uses, or only says which. */
export async function pruneClients(
  deps: OperatorDeps,
  options: { readonly dryRun: boolean },
): Promise<readonly PrunedClient[]> {
  const pruned = await deps.clients.prune(options)
  if (!options.dryRun && pruned.length > 0) {
    await deps.audit.record({
      ...audited,
      type: 'client.prune',
      data: { clients: pruned.map((one) => one.id) },
    })
  }
  return pruned
}

/** Makes an API key; its secret is shown this once. */
export async function createApiKey(
  deps: OperatorDeps,
  request: ApiKeyRequest,
): Promise<Record<string, unknown>> {
  requireNetworks(request.addresses)
  const { key, secret } = await deps.apiKeys.create(request)
  await deps.audit.record({
    ...audited,
    type: 'api_key.create',
    target: key.id,
    data: { for: key.user, label: key.label },
  })
  return { ...describeApiKey(key), api_secret: secret, authorization: `token ${key.id}:${secret}` }
}

/** API keys, newest first, with their last use. */
export async function listApiKeys(deps: OperatorDeps, user?: string): Promise<Record<string, unknown>[]> {
  const keys = await deps.apiKeys.list(user)
  return Promise.all(
    keys.map(async (key) => {
      const { lastUsedAt } = await deps.usage.of([`key:${key.id}`])
      return { ...describeApiKey(key), ...(lastUsedAt !== undefined && { last_used: isoTime(lastUsedAt) }) }
    }),
  )
}

function describeApiKey(key: ApiKey): Record<string, unknown> {
  return {
    api_key: key.id,
    user: key.user,
    label: key.label,
    created: isoTime(key.createdAt),
    ...(key.expiresAt !== undefined && { expires: isoTime(key.expiresAt) }),
    ...(key.addresses && { addresses: key.addresses }),
    ...(key.revokedAt !== undefined && { revoked: isoTime(key.revokedAt) }),
  }
}

/** Ends an API key at once. AppError `not_found`. */
export async function revokeApiKey(deps: OperatorDeps, id: string): Promise<void> {
  if (!(await deps.apiKeys.revoke(id))) throw new AppError('not_found', `no API key ${id}`)
  await deps.audit.record({ ...audited, type: 'api_key.revoke', target: id })
}

/** Sets a user's password and signs all their browsers out. */
export async function setPassword(deps: OperatorDeps, email: string, password: string): Promise<void> {
  await deps.passwords.set(email, password)
  const { id } = requireUser(deps, email)
  await deps.sessions.closeAll(id)
  await deps.audit.record({ ...audited, type: 'password.set', target: id })
}

/** Makes the next signing key. */
export async function rotateKey(
  deps: OperatorDeps,
  options: { readonly atOnce: boolean },
): Promise<KeyStatus> {
  const key = await deps.keys.rotate(options)
  await deps.audit.record({
    ...audited,
    type: 'key.rotate',
    target: key.id,
    data: { at_once: options.atOnce },
  })
  return key
}

function readRequest(
  deps: OperatorDeps,
  request: ClientRequest,
  known: Partial<Client>,
): ReturnType<typeof readClientMetadata> {
  const { oauth } = deps.settings()
  const methods: readonly AuthMethod[] = [...registrationMethods, 'private_key_jwt']
  try {
    const description = readClientMetadata(
      {
        client_name: request.name ?? known.name,
        redirect_uris: request.redirectUris ?? known.redirectUris,
        token_endpoint_auth_method: request.authMethod,
      },
      {
        developerMode: oauth.developer_mode,
        nativeSchemes: linesOf(oauth.native_redirect_schemes),
        authMethods: methods,
        defaultMethod: 'none',
      },
    )
    const jwks = request.jwksUri === undefined ? {} : { jwks_uri: request.jwksUri }
    if (description.authMethod === 'private_key_jwt' && !request.jwksUri && !known.metadata?.['jwks_uri']) {
      throw new AppError('invalid', 'a client with private_key_jwt needs a jwks_uri')
    }
    return { ...description, metadata: { ...description.metadata, ...jwks } }
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    throw new AppError('invalid', error.message, { cause: error })
  }
}

function requireUser(deps: OperatorDeps, email: string): User {
  const user = deps.people().find(email)
  if (!user) throw new AppError('not_found', `no user ${email}`)
  return user
}

async function requireClient(deps: OperatorDeps, id: string): Promise<Client> {
  const client = await deps.clients.find(id)
  if (!client) throw new AppError('not_found', `no client ${id}`)
  return client
}

function requireNetworks(addresses: readonly string[] | undefined): void {
  const wrong = (addresses ?? []).filter((address) => !isNetwork(address))
  if (wrong.length > 0) throw new AppError('invalid', `not a network address: ${wrong.join(', ')}`)
}
