import { isoTime } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import { commandLineClient } from '../oauth/clients.ts'
import { defaultScopes } from '../oauth/scopes.ts'
import type { AccessToken } from '../oauth/records.ts'
import { thisServer } from '../oauth/urls.ts'
import { defineOperation, type Needs } from './operation.ts'
import { objectWith } from '../core/object-schema.ts'

/** Issues tokens to a user without a browser, for scripts and service identities. */
export const issueTokens = defineOperation({
  name: 'tokens.issue',
  writes: true,
  input: objectWith(
    { user: { type: 'string' } },
    {
      client: { type: 'string' },
      seconds: { type: 'integer', minimum: 1 },
      scopes: { type: 'array', items: { type: 'string' } },
      addresses: { type: 'array', items: { type: 'string' } },
      label: { type: 'string', maxLength: 200 },
    },
  ),
  run: async (params, { site, clients, tokens }: Needs<'site' | 'clients' | 'tokens'>) => {
    const { people, settings } = site.current()
    const user = people.find(params.user)
    if (!user) throw new AppError('not_found', `no user ${params.user}`)
    // A client of its own, so that these tokens can be listed, and ended, as what they are.
    const clientId = params.client ?? commandLineClient.id
    const client = await clients.find(clientId)
    if (!client) throw new AppError('not_found', `no client ${clientId}`)
    // As the token endpoint does it: such tokens are listed, refreshed and revoked like all others.
    const issued = await tokens.issue({
      user: user.id,
      client: client.id,
      clientName: client.name,
      scopes: params.scopes ?? defaultScopes(settings),
      // The audience: such a token is good for this server and no other (RFC 8707).
      resource: thisServer,
      accessSeconds: params.seconds,
      addresses: params.addresses,
      label: params.label,
    })
    return {
      access_token: issued.accessToken,
      refresh_token: issued.refreshToken,
      token_type: 'Bearer',
      expires_in: issued.expiresIn,
      scope: issued.scopes.join(' '),
    }
  },
})

/** The newest access tokens that are known, or those after one of them, without the tokens themselves. */
export const listTokens = defineOperation({
  name: 'tokens.list',
  input: objectWith(
    {},
    {
      user: { type: 'string' },
      client: { type: 'string' },
      limit: { type: 'integer', minimum: 1, maximum: 1000 },
      after: { type: 'string' },
    },
  ),
  run: async (
    { user, client, limit = 100, after },
    { tokens, usage, clock }: Needs<'tokens' | 'usage' | 'clock'>,
  ) => {
    const found = await tokens.list(of(user, client), { limit, after })
    return Promise.all(
      found.map(async (token) => {
        const { lastUsedAt, calls } = await usage.of([token.family])
        return { ...tokenView(token, clock.now()), last_used: lastUsedAt ? isoTime(lastUsedAt) : null, calls }
      }),
    )
  },
})

/** What users allowed apps; ended by `tokens.revoke` with its user and client. */
export const listGrants = defineOperation({
  name: 'grants.list',
  input: objectWith({}, { user: { type: 'string' }, client: { type: 'string' } }),
  run: async ({ user, client }, { grants }: Needs<'grants'>) =>
    (await grants.list(of(user, client))).map((grant) => ({
      grant: grant.id,
      user: grant.user,
      client: grant.client,
      client_name: grant.clientName,
      redirect_host: grant.redirectHost,
      read_only: grant.readOnly ?? false,
      allowed: isoTime(grant.approvedAt),
    })),
})

/** Ends tokens, with everything that was or could be refreshed from them. */
export const revokeTokens = defineOperation({
  name: 'tokens.revoke',
  writes: true,
  input: {
    ...objectWith(
      {},
      {
        user: { type: 'string' },
        client: { type: 'string' },
        token: { type: 'string' },
        all: { type: 'boolean', enum: [true] },
      },
    ),
    minProperties: 1,
  },
  run: async (params, { tokens, people }: Needs<'tokens' | 'people'>) => {
    const families = await tokens.revoke(
      {
        ...params,
        ...(params.user && { user: params.user.toLowerCase() }),
        ...(params.token && { token: await tokenId(params.token) }),
      },
      'the operator revoked it',
    )
    // Who cuts a person off must not take a mistyped address for success. Somebody who left may still have tokens.
    const user = params.user?.toLowerCase()
    if (families.length === 0 && user !== undefined && !people().users.has(user))
      throw new AppError('not_found', `no user ${user}`)
    return { revoked: families.length, users: [...new Set(families.map((family) => family.user))] }

    /** The id of a token, given either as its id or as the token itself. */
    async function tokenId(text: string): Promise<string> {
      // Asked for with the token itself, an operator need not know its id.
      const found = await tokens.find(text)
      return found.kind === 'unknown' ? text : found.token.id
    }
  },
})

/** Users are kept in lower case; people type addresses as they like. */
function of(user: string | undefined, client: string | undefined) {
  return { ...(user && { user: user.toLowerCase() }), ...(client && { client }) }
}

function tokenView(token: AccessToken, now: number) {
  return {
    token: token.id,
    user: token.user,
    client: token.client,
    client_name: token.clientName,
    // Expiry is not written anywhere (specification §3.1): it is seen when somebody looks.
    status: token.status === 'Active' && token.expiresAt < now ? 'Expired' : token.status,
    scope: token.scopes.join(' '),
    issued: isoTime(token.issuedAt),
    expires: isoTime(token.expiresAt),
    addresses: token.addresses ?? [],
  }
}
