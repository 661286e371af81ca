import { isoTime } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import type { ApiKey } from '#credentials/api-keys.ts'
import { asks, takes } from '#commands/description.ts'
import { defineOperation } from './operation.ts'
import { columns, facts } from '#commands/terminal.ts'

/** The operations on static credentials for programs that cannot open a browser. */
export const apiKeyOperations = [
  defineOperation({
    name: 'api_keys.create',
    does: 'make an API key and print it with its secret, once',
    examples: ['api-keys create --user sales@example.com --label "nightly report" --ttl 90d'],
    writes: true,
    input: takes({
      user: asks('--user <user>!: whom the key acts as', { minLength: 1 }),
      label: asks('--label <text>: what it is for', { maxLength: 200 }),
      seconds: asks('--ttl <duration>: when it ends, such as 90d or 3600 (seconds)', { minimum: 1 }),
      addresses: '--address <network...>: where it may be used from, such as 10.0.0.0/8; repeatable',
    }),
    needs: ['apiKeys'],
    run: async (params, { apiKeys }) => {
      const { key, secret } = await apiKeys.create(params)
      // Includes the whole header of specification §5.2, for the settings of the other program.
      return { ...apiKeyView(key), api_secret: secret, authorization: `token ${key.id}:${secret}` }
    },
    text: (key) => [facts(key), '', 'The secret is shown this once.'],
  }),
  defineOperation({
    name: 'api_keys.list',
    does: 'list API keys, without their secrets',
    examples: ['api-keys list --user sales@example.com'],
    input: takes({ user: asks('--user <user>: only those of this user', { minLength: 1 }) }),
    needs: ['apiKeys'],
    run: async (params, { apiKeys }) => (await apiKeys.list(params.user)).map(apiKeyView),
    text: columns('key: api_key, user, label, status, created, expires'),
  }),
  defineOperation({
    name: 'api_keys.revoke',
    does: 'end an API key at once',
    examples: ['api-keys revoke KEY'],
    writes: true,
    input: takes({ api_key: '<api_key>' }),
    needs: ['apiKeys'],
    run: async ({ api_key }, { apiKeys }) => {
      if (!(await apiKeys.revoke(api_key))) throw new AppError('not_found', `no API key ${api_key}`)
      return { revoked: api_key }
    },
  }),
] as const

/** Returns the public part of a key: never its secret, of which only a hash is stored. */
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
