import { AppError } from '../core/errors.ts'
import { isoTime } from '../core/clock.ts'
import { paths } from '../oauth/urls.ts'
import type { ApiKey } from '../users/api-keys.ts'
import type { OneTimeLinks } from '../users/one-time-links.ts'
import { defineOperation, type Needs } from './operation.ts'
import { objectWith } from '../core/object-schema.ts'

const user = { type: 'string', minLength: 1 } as const
const seconds = { type: 'integer', minimum: 60, maximum: 2_592_000 } as const
/** What a link is made with. */
type Linking = 'links' | 'publicUrl' | 'settings'
/** How long a link lasts when nobody says. */
const linkSeconds = 259_200

/** Who there is, and whether they have a password. */
export const listUsers = defineOperation({
  name: 'users.list',
  input: objectWith({}),
  run: async (_params, { people, passwords }: Needs<'people' | 'passwords'>) =>
    Promise.all(
      [...people().users.values()].map(async (one) => ({
        user: one.id,
        full_name: one.fullName,
        enabled: one.enabled,
        assistant_enabled: one.assistantEnabled ? 1 : 0,
        roles: [...one.roles].sort(),
        has_password: await passwords.has(one.id),
      })),
    ),
})

/** Sets a user's password and ends the browser sessions that the old one opened. */
export const setPassword = defineOperation({
  name: 'users.passwd',
  writes: true,
  input: objectWith({ user, password: { type: 'string' } }),
  run: async (params, { passwords, sessions }: Needs<'passwords' | 'sessions'>) => {
    await passwords.set(params.user, params.password)
    // A new password is often the answer to a stolen one.
    const sessions_ended = await sessions.closeAll(params.user.toLowerCase())
    return { user: params.user, sessions_ended }
  },
})

/** A link that lets a new user choose their first password, so that nobody else knows it. */
export const inviteUser = defineOperation({
  name: 'users.invite',
  writes: true,
  input: objectWith({ user }, { seconds }),
  run: async (params, taken: Needs<'passwords' | Linking>) => {
    if (await taken.passwords.has(params.user))
      throw new AppError('conflict', `${params.user} has a password already; see "users reset"`)
    return linkFor({ ...params, purpose: 'invite', secondFactor: false }, taken)
  },
})

/** A link that lets a user choose another password; until it is used, nothing changes. */
export const resetUser = defineOperation({
  name: 'users.reset',
  writes: true,
  input: objectWith({ user }, { seconds, second_factor: { type: 'boolean' } }),
  run: (params, taken: Needs<Linking>) =>
    linkFor({ ...params, purpose: 'reset', secondFactor: params.second_factor ?? false }, taken),
})

async function linkFor(
  request: Omit<Parameters<OneTimeLinks['make']>[0], 'seconds'> & { readonly seconds?: number },
  { links, publicUrl, settings }: Needs<Linking>,
) {
  if (!settings().login.passwords) throw new AppError('invalid', 'passwords are off (login.passwords)')
  const { secret, link } = await links.make({ ...request, seconds: request.seconds ?? linkSeconds })
  return {
    user: link.user,
    url: `${publicUrl()}${paths.oneTimeLink}?link=${secret}`,
    expires: isoTime(link.expiresAt),
  }
}

/** Makes an API key for a user; the secret is in the answer this once. */
export const createApiKey = defineOperation({
  name: 'api_keys.create',
  writes: true,
  input: objectWith(
    { user },
    {
      label: { type: 'string', maxLength: 200 },
      seconds: { type: 'integer', minimum: 1 },
      addresses: { type: 'array', items: { type: 'string' } },
    },
  ),
  run: async (params, { apiKeys }: Needs<'apiKeys'>) => {
    const { key, secret } = await apiKeys.create(params)
    // With the whole header of specification §5.2, which is what goes into the other program's settings.
    return { ...apiKeyView(key), api_secret: secret, authorization: `token ${key.id}:${secret}` }
  },
})

/** Every API key, without its secret. */
export const listApiKeys = defineOperation({
  name: 'api_keys.list',
  input: objectWith({}, { user }),
  run: async (params, { apiKeys }: Needs<'apiKeys'>) => (await apiKeys.list(params.user)).map(apiKeyView),
})

/** Ends an API key at once. */
export const revokeApiKey = defineOperation({
  name: 'api_keys.revoke',
  writes: true,
  input: objectWith({ api_key: { type: 'string' } }),
  run: async (params, { apiKeys }: Needs<'apiKeys'>) => {
    if (!(await apiKeys.revoke(params.api_key)))
      throw new AppError('not_found', `no API key ${params.api_key}`)
    return { revoked: params.api_key }
  },
})

/** What may be shown of a key again and again: never its secret, of which only a hash is kept. */
function apiKeyView(key: ApiKey) {
  return {
    api_key: key.id,
    user: key.user,
    label: key.label,
    created: isoTime(key.createdAt),
    expires: key.expiresAt === undefined ? null : isoTime(key.expiresAt),
    addresses: key.addresses ?? [],
    status: key.revokedAt === undefined ? 'Active' : 'Revoked',
  }
}
