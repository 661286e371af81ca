import { isoTime } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import type { Settings } from '../core/settings.ts'
import type { Client } from '../oauth/records.ts'
import { asks, takes } from '#commands/description.ts'
import { defineOperation } from './operation.ts'
import { columns, table } from '#commands/terminal.ts'
import { clientOf } from './whose.ts'

const client_id = '<client_id>'

/** The operations on the OAuth clients that this server knows. */
export const clientOperations = [
  defineOperation({
    name: 'clients.register',
    does: 'register a client by hand and print it, with its secret, once',
    examples: [
      'clients register --name "Report portal" --redirect-uri https://portal.example.com/callback --auth-method client_secret_basic',
    ],
    writes: true,
    // The addresses are required, because no default could be right: codes are sent there.
    input: takes({
      name: '--name <name>!: the name that users see',
      redirect_uris: '--redirect-uri <uri...>!: where codes may be sent; repeatable',
      auth_method: asks(
        '--auth-method <method>: none, client_secret_basic, client_secret_post or private_key_jwt',
        { default: 'none' },
      ),
      jwks_uri: "--jwks-uri <url>: where the client's public keys are, for private_key_jwt",
    }),
    // The rules are those of dynamic registration.
    needs: ['clients', 'settings'],
    run: async (params, { clients, settings }) => {
      const description = await describe(params, settings())
      const { client, secret } = await clients.register(description, 'operator', async () => {})
      const { registrationOf } = await import('../oauth/endpoints/registration-endpoint.ts')
      return registrationOf(client, secret)
    },
  }),
  defineOperation({
    name: 'clients.list',
    does: 'list registered clients',
    input: takes({}),
    needs: ['clients'],
    run: async (_params, { clients }) => (await clients.list()).map(clientView),
    text: columns(
      'client: client_id, name: client_name, source, method: token_endpoint_auth_method, created, last used: last_used',
    ),
  }),
  defineOperation({
    name: 'clients.show',
    does: 'show one client and who uses it',
    examples: ['clients show CLIENT_ID'],
    input: takes({ client_id }),
    needs: ['clients', 'tokens'],
    run: async (params, taken) => {
      const client = await clientOf(taken, params.client_id)
      const families = await taken.tokens.families({ client: client.id })
      // Token families whose access has ended do not count.
      const live = families.filter((family) => family.revokedAt === undefined)
      const users = [...new Set(live.map((family) => family.user))]
      return { ...clientView(client), metadata: client.metadata, users }
    },
  }),
  defineOperation({
    name: 'clients.update',
    does: 'change the name or the redirect URIs of a client',
    examples: ['clients update CLIENT_ID --name "Report portal"'],
    writes: true,
    input: takes({
      client_id,
      name: '--name <name>: the name that users see',
      redirect_uris: '--redirect-uri <uri...>: all redirect URIs, in the place of those it has; repeatable',
    }),
    needs: ['clients', 'settings'],
    run: async (params, { clients, settings }) => {
      const { id, authMethod: auth_method, ...was } = await clientOf({ clients }, params.client_id)
      const { name = was.name, redirect_uris = was.redirectUris } = params
      const described = await describe({ name, redirect_uris, auth_method }, settings())
      const changed = { name: described.name, redirectUris: described.redirectUris }
      return clientView(await clients.update(id, changed))
    },
  }),
  defineOperation({
    name: 'clients.rotate_secret',
    does: 'give a confidential client another secret; the old one ends at once',
    examples: ['clients rotate-secret CLIENT_ID'],
    writes: true,
    input: takes({ client_id }),
    needs: ['clients'],
    run: async (params, { clients }) => {
      const { client, secret } = await clients.rotateSecret(params.client_id)
      const { registrationOf } = await import('../oauth/endpoints/registration-endpoint.ts')
      return registrationOf(client, secret)
    },
  }),
  defineOperation({
    // Without a confirmation: the command line is for scripts too, and a client can be registered anew.
    name: 'clients.remove',
    does: 'remove a client and end all its tokens',
    examples: ['clients remove CLIENT_ID'],
    writes: true,
    input: takes({ client_id }),
    needs: ['clients'],
    run: async ({ client_id }, { clients }) => {
      if (!(await clients.remove(client_id))) throw new AppError('not_found', `no client ${client_id}`)
      return { removed: client_id }
    },
  }),
  defineOperation({
    name: 'clients.prune',
    does: 'remove clients that registered themselves and that nobody uses',
    examples: ['clients prune --dry-run'],
    writes: true,
    // The dry run is for operators who prune by a timer and want to see the candidates first.
    input: takes({ dry_run: '--dry-run: only say which' }),
    needs: ['clients'],
    run: async ({ dry_run = false }, { clients }) => {
      const pruned = await clients.prune({ dryRun: dry_run })
      return {
        dry_run,
        pruned: pruned.map(({ id, name, why }) => ({ client_id: id, client_name: name, why })),
      }
    },
    text: ({ pruned }) => table(pruned, ['client: client_id', 'name: client_name', 'why']),
  }),
] as const

/** Checks a client's name and metadata by RFC 7591 §2. */
async function describe(
  params: { name: string; redirect_uris: readonly string[]; auth_method?: string; jwks_uri?: string },
  settings: Settings,
) {
  const { readClientMetadata, registrationMethods, rulesOf } =
    await import('../oauth/clients/client-metadata.ts')
  const { OAuthError } = await import('../oauth/protocol.ts')
  const { name: client_name, auth_method: token_endpoint_auth_method, ...rest } = params
  try {
    // Keys are allowed for registration by hand: the operator vouches for their address.
    const rules = rulesOf(settings, [...registrationMethods, 'private_key_jwt'])
    return readClientMetadata({ client_name, token_endpoint_auth_method, ...rest }, rules)
  } catch (error) {
    // A protocol error means nothing at a command line.
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
