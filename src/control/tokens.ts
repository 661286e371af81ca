import { isoTime } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import type { AccessToken } from '../oauth/records.ts'
import { thisServer } from '../oauth/urls.ts'
import { asks, takes } from '#commands/description.ts'
import { defineOperation } from './operation.ts'
import { columns, table } from '#commands/terminal.ts'
import { knownUser } from '#credentials/holders.ts'
import { clientOf } from './whose.ts'

const user = '--user <user>: only those of this user'

/** The operations that give access without a browser, and that revoke access. */
export const tokenOperations = [
  defineOperation({
    name: 'tokens.issue',
    does: 'issue an access token and a refresh token to a user, shown once',
    examples: [
      'tokens issue --user sales@example.com',
      'tokens issue --user sales@example.com --ttl 12h --json | jq -r .access_token',
    ],
    writes: true,
    // The user has no default: a token always acts as somebody, with that user's rights.
    input: takes({
      user: '--user <user>!: whom the token acts as',
      client: '--client <id>: the client that gets it; a client of the command line without it',
      seconds: asks('--ttl <duration>: how long the access token lasts, such as 3600 (seconds) or 12h', {
        minimum: 1,
      }),
      scopes: '--scope <scope...>: scopes; repeatable',
      addresses: '--address <network...>: where it may be used from, such as 10.0.0.0/8; repeatable',
      label: asks('--label <text>: what it is for', { maxLength: 200 }),
    }),
    needs: ['settings', 'people', 'clients', 'tokens'],
    run: async (params, taken) => {
      const { commandLineClient } = await import('../oauth/clients/clients.ts')
      const { defaultScopes } = await import('../oauth/scopes.ts')
      const user = knownUser(taken.people(), params.user)
      // A client of its own, so that these tokens can be listed and revoked separately.
      const client = await clientOf(taken, params.client ?? commandLineClient.id)
      // Issued as by the token endpoint: such tokens are listed, refreshed and revoked like all others.
      const issued = await taken.tokens.issue({
        user: user.id,
        client: client.id,
        clientName: client.name,
        scopes: params.scopes ?? defaultScopes(taken.settings()),
        // The audience: the token is valid for this server and no other (RFC 8707).
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
  }),
  defineOperation({
    name: 'tokens.list',
    does: 'list access tokens, without the tokens themselves',
    examples: ['tokens list --user sales@example.com'],
    input: takes({
      user,
      client: '--client <id>: only those of this client',
      limit: asks('-n <count>: how many', { minimum: 1, maximum: 1000, default: 100 }),
      after: '--after <token>: go on after this one, the last of a list',
    }),
    needs: ['tokens', 'usage', 'clock'],
    run: async ({ user, client, limit = 100, after }, { tokens, usage, clock }) => {
      const found = await tokens.list(of(user, client), { limit, after })
      const now = clock.now()
      const view = async (token: AccessToken) => {
        const { lastUsedAt, calls } = await usage.of([token.family])
        return {
          token: token.id,
          user: token.user,
          client: token.client,
          client_name: token.clientName,
          // Expiry is stored nowhere (specification §3.1): it is computed when somebody looks.
          status: token.status === 'Active' && token.expiresAt < now ? 'Expired' : token.status,
          scope: token.scopes.join(' '),
          issued: isoTime(token.issuedAt),
          expires: isoTime(token.expiresAt),
          addresses: token.addresses ?? [],
          last_used: lastUsedAt ? isoTime(lastUsedAt) : null,
          calls,
        }
      }
      return Promise.all(found.map(view))
    },
    // A full page says how to go on.
    text: (list, { limit = 100 }) => {
      const told = columns('token, user, client: client_name, status, expires, last used: last_used, calls')
      const rows = table(list, told)
      return list.length < limit ? rows : `${rows}\n\nperhaps more: --after ${list.at(-1)!.token}`
    },
  }),
  defineOperation({
    name: 'grants.list',
    as: 'tokens grants',
    does: 'list what users allowed apps; revoke one with its user and client',
    examples: ['tokens grants --user sales@example.com'],
    input: takes({ user, client: '--client <id>: only those for this client' }),
    needs: ['grants'],
    run: async ({ user, client }, { grants }) =>
      (await grants.list(of(user, client))).map((grant) => ({
        grant: grant.id,
        user: grant.user,
        client: grant.client,
        client_name: grant.clientName,
        redirect_host: grant.redirectHost,
        read_only: grant.readOnly ?? false,
        allowed: isoTime(grant.approvedAt),
      })),
    text: columns('grant, user, client: client_name, sent to: redirect_host, allowed, only reads: read_only'),
  }),
  defineOperation({
    name: 'tokens.revoke',
    does: 'end tokens at once, with everything that could be refreshed from them',
    examples: ['tokens revoke --user sales@example.com'],
    writes: true,
    input: {
      ...takes({
        user: '--user <user>: all of this user',
        client: '--client <id>: all of this client',
        token: '--token <token>: this one, given as its id or as the token itself',
        all: asks('--all: all there are', { enum: [true] }),
      }),
      // A forgotten flag must not revoke everything.
      minProperties: 1,
    },
    needs: ['tokens', 'people'],
    run: async (params, { tokens, people }) => {
      const user = params.user?.toLowerCase()
      // With the token itself, an operator need not know its id.
      const found = params.token ? await tokens.find(params.token) : undefined
      const token = found && found.kind !== 'unknown' ? found.token.id : params.token
      const which = { ...params, ...(user !== undefined && { user }), ...(token !== undefined && { token }) }
      const families = await tokens.revoke(which, 'the operator revoked it')
      // A mistyped address must not look like success. Somebody who left may still have tokens.
      if (families.length === 0 && user !== undefined && !people().users.has(user))
        throw new AppError('not_found', `no user ${user}`)
      return { revoked: families.length, users: [...new Set(families.map((family) => family.user))] }
    },
    text: (done) => `${done.revoked} revoked`,
  }),
] as const

/** Makes a filter. Users are stored in lower case; people type addresses as they like. */
function of(user: string | undefined, client: string | undefined) {
  return { ...(user && { user: user.toLowerCase() }), ...(client && { client }) }
}
