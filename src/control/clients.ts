import { isoTime } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import { linesOf, type Settings } from '../core/settings.ts'
import { readClientMetadata, registrationMethods } from '../oauth/client-metadata.ts'
import { OAuthError } from '../oauth/protocol.ts'
import type { Client } from '../oauth/records.ts'
import { registrationOf } from '../oauth/registration-endpoint.ts'
import { defineOperation, type Needs } from './operation.ts'
import { objectWith } from '../core/object-schema.ts'

/** The parameters of operations on one client. */
const id = objectWith({ client_id: { type: 'string' } })

/**
 * Client metadata in the words of the command line; `oauth/client-metadata.ts` checks it as RFC 7591 §2
 * wants it.
 */
const metadata = {
  name: { type: 'string' },
  redirect_uris: { type: 'array', items: { type: 'string' } },
} as const

/** Registers a client by hand, under the same rules as dynamic registration. */
export const registerClient = defineOperation({
  name: 'clients.register',
  writes: true,
  input: objectWith(
    { name: metadata.name, redirect_uris: metadata.redirect_uris },
    { auth_method: { type: 'string' }, jwks_uri: { type: 'string' } },
  ),
  run: async (params, { clients, settings }: Needs<'clients' | 'settings'>) => {
    const description = describe(params, settings())
    const { client, secret } = await clients.register(description, 'operator', async () => {})
    return registrationOf(client, secret)
  },
})

/** Every registered client. */
export const listClients = defineOperation({
  name: 'clients.list',
  input: objectWith({}),
  run: async (_params, { clients }: Needs<'clients'>) => (await clients.list()).map(clientView),
})

/** One client, with its grants. */
export const showClient = defineOperation({
  name: 'clients.show',
  input: id,
  run: async (params, { clients, tokens }: Needs<'clients' | 'tokens'>) => {
    const client = await found(clients, params.client_id)
    const families = await tokens.families({ client: client.id })
    // Those whose access has ended no longer use it.
    const live = families.filter((family) => family.revokedAt === undefined)
    return {
      ...clientView(client),
      metadata: client.metadata,
      users: [...new Set(live.map((family) => family.user))],
    }
  },
})

/** Changes the name or the redirect URIs of a client. */
export const updateClient = defineOperation({
  name: 'clients.update',
  writes: true,
  input: objectWith(
    { client_id: { type: 'string' } },
    { name: metadata.name, redirect_uris: metadata.redirect_uris },
  ),
  run: async ({ client_id, ...change }, { clients, settings }: Needs<'clients' | 'settings'>) => {
    const client = await found(clients, client_id)
    const description = describe(
      {
        name: change.name ?? client.name,
        redirect_uris: change.redirect_uris ?? [...client.redirectUris],
        auth_method: client.authMethod,
      },
      settings(),
    )
    return clientView(
      await clients.update(client.id, {
        name: description.name,
        redirectUris: description.redirectUris,
      }),
    )
  },
})

/** Gives a confidential client another secret; the old one ends at once. */
export const rotateClientSecret = defineOperation({
  name: 'clients.rotate_secret',
  writes: true,
  input: id,
  run: async (params, { clients }: Needs<'clients'>) => {
    const { client, secret } = await clients.rotateSecret(params.client_id)
    return registrationOf(client, secret)
  },
})

/** Removes a client and ends all its tokens. */
export const removeClient = defineOperation({
  name: 'clients.remove',
  writes: true,
  input: id,
  run: async (params, { clients }: Needs<'clients'>) => {
    if (!(await clients.remove(params.client_id)))
      throw new AppError('not_found', `no client ${params.client_id}`)
    return { removed: params.client_id }
  },
})

/** Removes clients that nobody uses; with `dry_run` only says which. */
export const pruneClients = defineOperation({
  name: 'clients.prune',
  writes: true,
  input: objectWith({}, { dry_run: { type: 'boolean' } }),
  run: async (params, { clients }: Needs<'clients'>) => ({
    dry_run: params.dry_run ?? false,
    pruned: (await clients.prune({ dryRun: params.dry_run ?? false })).map(
      ({ id: client_id, name, why }) => ({ client_id, client_name: name, why }),
    ),
  }),
})

/** A client by its id; AppError `not_found`. */
async function found(clients: Needs<'clients'>['clients'], clientId: string): Promise<Client> {
  const client = await clients.find(clientId)
  if (!client) throw new AppError('not_found', `no client ${clientId}`)
  return client
}

function describe(
  params: { name: string; redirect_uris: readonly string[]; auth_method?: string; jwks_uri?: string },
  { oauth }: Settings,
): ReturnType<typeof readClientMetadata> {
  try {
    return readClientMetadata(
      {
        client_name: params.name,
        redirect_uris: params.redirect_uris,
        ...(params.auth_method && { token_endpoint_auth_method: params.auth_method }),
        ...(params.jwks_uri && { jwks_uri: params.jwks_uri }),
      },
      {
        developerMode: oauth.developer_mode,
        nativeSchemes: linesOf(oauth.native_redirect_schemes),
        // By hand also keys are allowed: the operator vouches for the address they come from.
        authMethods: [...registrationMethods, 'private_key_jwt'],
        defaultMethod: 'none',
      },
    )
  } catch (error) {
    // An error of the protocol means nothing at a command line.
    if (error instanceof OAuthError) throw new AppError('invalid', error.message, { cause: error })
    throw error
  }
}

function clientView(client: Client) {
  return {
    client_id: client.id,
    client_name: client.name,
    source: client.source,
    token_endpoint_auth_method: client.authMethod,
    redirect_uris: client.redirectUris,
    created: isoTime(client.createdAt),
    last_used: client.lastUsedAt === undefined ? null : isoTime(client.lastUsedAt),
    expires: client.expiresAt === undefined ? null : isoTime(client.expiresAt),
  }
}
