/** Connected apps: everything that acts for the user, what it may do, and taking it away at once. */
import type { AuditEvent } from '../audit/event.ts'
import { AppError } from '../core/errors.ts'
import type { PowersOf } from '../core/powers.ts'
import type { Grants } from '../oauth/grants.ts'
import { originOf } from '../oauth/http-middleware.ts'
import type { Family, Grant } from '../oauth/records.ts'
import type { Tokens } from '../oauth/tokens.ts'
import { paths } from '../oauth/urls.ts'
import type { TokenUsage } from '../oauth/usage.ts'
import type { ApiKey, ApiKeys } from '../users/api-keys.ts'
import type { OwnPage, OwnPageDeps } from './own-page.ts'

/** What the page works with. */
export interface ConnectedAppsDeps extends OwnPageDeps {
  readonly grants: Grants
  readonly tokens: Tokens
  readonly apiKeys: ApiKeys
  readonly usage: TokenUsage
  readonly powers: PowersOf
}

/** One thing that acts for the user: an app they allowed, a token that an operator issued, or an API key. */
interface Access {
  readonly kind: 'grant' | 'token' | 'key'
  readonly id: string
  readonly view: Readonly<Record<string, unknown>>
  /** Ends it; answers what is audited. */
  readonly end: () => Promise<Pick<AuditEvent, 'type' | 'client' | 'target'>>
}

/** The page: all that acts for the user, apps first. */
export function connectedAppsPage(deps: ConnectedAppsDeps): OwnPage {
  return {
    path: paths.connectedApps,
    view: 'connected-apps',
    show: async ({ user }) => ({
      apps: (await accessesOf(user.id, deps)).map(({ kind, id, view }) => ({ kind, id, ...view })),
    }),
    deeds: {
      // One access, or all. Another user's does not exist.
      revoke: {
        run: async ({ ctx, user }, form) => {
          const all = await accessesOf(user.id, deps)
          const chosen = form.get('all') === '1' ? all : all.filter(({ kind, id }) => form.get(kind) === id)
          if (chosen.length === 0) throw new AppError('not_found', 'there is no such app')
          for (const { end } of chosen)
            await deps.audit.record({ ...(await end()), status: 'ok', user: user.id, ...originOf(ctx) })
          return undefined
        },
      },
    },
  }
}

async function accessesOf(user: string, deps: ConnectedAppsDeps): Promise<Access[]> {
  const families = await deps.tokens.families({ user })
  const now = deps.clock.now()
  const isLive = ({ revokedAt, expiresAt }: Pick<ApiKey, 'revokedAt' | 'expiresAt'>): boolean =>
    revokedAt === undefined && (expiresAt === undefined || expiresAt > now)
  const issued = families.filter((family) => family.grant === undefined && isLive(family))
  const keys = (await deps.apiKeys.list(user)).filter(isLive)
  return [
    ...(await Promise.all(
      (await deps.grants.list({ user })).map((grant) =>
        app(
          grant,
          families.filter(({ grant: of }) => of === grant.id),
          isLive,
          deps,
        ),
      ),
    )),
    ...(await Promise.all(issued.map((family) => token(family, deps)))),
    ...(await Promise.all(keys.map((key) => apiKey(key, deps)))),
  ]
}

async function app(
  grant: Grant,
  families: readonly Family[],
  isLive: (family: Family) => boolean,
  deps: ConnectedAppsDeps,
): Promise<Access> {
  const client = { id: grant.client, name: grant.clientName }
  const state = families.some(isLive) ? '' : families.length === 0 ? 'apps.waiting' : 'apps.ended'
  const view = {
    label: grant.clientName,
    host: grant.redirectHost,
    state,
    since: grant.approvedAt,
    ...(await useOf(
      families.map(({ id }) => id),
      deps,
    )),
    readOnly: grant.readOnly ?? false,
    powers: deps.powers(grant.user, client, grant),
  }
  const end: Access['end'] = async () => {
    await deps.tokens.revoke({ grant: grant.id }, 'the user revoked it')
    return { type: 'grant.revoke', client: grant.client, target: grant.id }
  }
  return { kind: 'grant', id: grant.id, view, end }
}

async function token(family: Family, deps: ConnectedAppsDeps): Promise<Access> {
  const view = {
    label: family.label ?? family.clientName,
    made: family.vouchedBy === undefined ? 'apps.by_operator' : 'apps.by_provider',
    host: family.vouchedBy === undefined ? '' : new URL(family.vouchedBy).host,
    ends: family.expiresAt,
    addresses: family.addresses ?? [],
    since: family.createdAt,
    ...(await useOf([family.id], deps)),
    powers: deps.powers(family.user, { id: family.client, name: family.clientName }, family),
  }
  const end: Access['end'] = async () => {
    await deps.tokens.revoke({ family: family.id }, 'the user revoked it')
    return { type: 'token.revoke', client: family.client, target: family.id }
  }
  return { kind: 'token', id: family.id, view, end }
}

async function apiKey(key: ApiKey, deps: ConnectedAppsDeps): Promise<Access> {
  const view = {
    title: key.label === '' ? 'apps.key' : 'apps.key_named',
    label: key.label,
    made: 'apps.key_by_operator',
    ends: key.expiresAt,
    addresses: key.addresses ?? [],
    since: key.createdAt,
    ...(await useOf([`key:${key.id}`], deps)),
    powers: deps.powers(key.user, undefined, {}),
  }
  const end: Access['end'] = async () => {
    await deps.apiKeys.revoke(key.id)
    return { type: 'api_key.revoke', target: key.id }
  }
  return { kind: 'key', id: key.id, view, end }
}

async function useOf(
  ids: readonly string[],
  { usage }: ConnectedAppsDeps,
): Promise<{ readonly lastUsed: number | undefined; readonly calls: number }> {
  const { lastUsedAt, calls } = await usage.of(ids)
  return { lastUsed: lastUsedAt, calls }
}
