/** Connected apps: everything that acts for the user, what it may do, and ending it at once. */
import type { Needs } from '../../control/operation.ts'
import type { AuditEvent } from '#audit/audit.ts'
import { AppError } from '#leaf/errors.ts'
import type { PowersOf } from '../../core/powers.ts'
import { originOf } from '#ui/requests.ts'
import type { Family, Grant } from '../../oauth/records.ts'
import type { ApiKey } from '#credentials/api-keys.ts'
import type { OwnPage, OwnPageDeps } from '../own-page.ts'

/** The sources of a user's accesses. */
export type AccessDeps = Needs<'clock' | 'grants' | 'tokens' | 'apiKeys' | 'usage'> & {
  readonly powers: PowersOf
}

/** The dependencies of the page. */
export type ConnectedAppsDeps = OwnPageDeps & AccessDeps

/** An access to act for the user: an app they allowed, a token that an operator issued, or an API key. */
interface Access {
  readonly kind: 'grant' | 'token' | 'key'
  readonly id: string
  /** The data that the page shows: name, age, the addresses where it was made and used, and more. */
  readonly view: Readonly<Record<string, unknown>>
  /** Ends it; returns the audit event. */
  readonly end: () => Promise<Pick<AuditEvent, 'type' | 'client' | 'target'>>
}

/** Makes the page, which shows all that acts for the user, apps first. */
export function connectedAppsPage(deps: ConnectedAppsDeps): OwnPage {
  return {
    show: async ({ user }) => ({
      apps: (await accessesOf(user.id, deps)).map(({ kind, id, view }) => ({ kind, id, ...view })),
    }),
    deeds: {
      // Ends one access, or all. Another user's does not exist.
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

/** The newest token families of a user that are looked at: a program that signs in all the time has hundreds of thousands. */
const mostFamilies = 1000

/** Returns everything that acts for a user, apps first. */
export async function accessesOf(user: string, deps: AccessDeps): Promise<Access[]> {
  const families = await deps.tokens.families({ user }, mostFamilies)
  const now = deps.clock.now()
  const isLive = ({ revokedAt, expiresAt }: Pick<ApiKey, 'revokedAt' | 'expiresAt'>): boolean =>
    revokedAt === undefined && (expiresAt === undefined || expiresAt > now)
  const issued = families.filter((family) => family.grant === undefined && isLive(family))
  const keys = (await deps.apiKeys.list(user)).filter(isLive)
  return [
    ...(await Promise.all(
      (await deps.grants.list({ user })).map((grant) => {
        const own = families.filter(({ grant: of }) => of === grant.id)
        return app(grant, own, own.some(isLive), deps)
      }),
    )),
    ...(await Promise.all(issued.map((family) => token(family, deps)))),
    ...(await Promise.all(keys.map((key) => apiKey(key, deps)))),
  ]
}

function app(grant: Grant, families: readonly Family[], isLive: boolean, deps: AccessDeps): Promise<Access> {
  const view = {
    label: grant.clientName,
    host: grant.redirectHost,
    state: isLive ? '' : families.length === 0 ? 'apps.waiting' : 'apps.ended',
    since: grant.approvedAt,
    from: grant.from,
    readOnly: grant.readOnly ?? false,
    powers: deps.powers(grant.user, { id: grant.client, name: grant.clientName }, grant),
  }
  const uses = families.map(({ id }) => id)
  return access('grant', grant.id, { view, uses }, deps, async () => {
    await deps.tokens.revoke({ grant: grant.id }, 'the user revoked it')
    return { type: 'grant.revoke', client: grant.client, target: grant.id }
  })
}

function token(family: Family, deps: AccessDeps): Promise<Access> {
  const view = {
    label: family.label ?? family.clientName,
    made: family.vouchedBy === undefined ? 'apps.by_operator' : 'apps.by_provider',
    host: family.vouchedBy === undefined ? '' : new URL(family.vouchedBy).host,
    ends: family.expiresAt,
    addresses: family.addresses ?? [],
    since: family.createdAt,
    powers: deps.powers(family.user, { id: family.client, name: family.clientName }, family),
  }
  return access('token', family.id, { view, uses: [family.id] }, deps, async () => {
    await deps.tokens.revoke({ family: family.id }, 'the user revoked it')
    return { type: 'token.revoke', client: family.client, target: family.id }
  })
}

function apiKey(key: ApiKey, deps: AccessDeps): Promise<Access> {
  const view = {
    title: key.label === '' ? 'apps.key' : 'apps.key_named',
    label: key.label,
    made: 'apps.key_by_operator',
    ends: key.expiresAt,
    addresses: key.addresses ?? [],
    since: key.createdAt,
    from: key.from,
    powers: deps.powers(key.user, undefined, {}),
  }
  return access('key', key.id, { view, uses: [`key:${key.id}`] }, deps, async () => {
    await deps.apiKeys.revoke(key.id)
    return { type: 'api_key.revoke', target: key.id }
  })
}

async function access(
  kind: Access['kind'],
  id: string,
  { view, uses }: Pick<Access, 'view'> & { readonly uses: readonly string[] },
  { usage }: AccessDeps,
  end: Access['end'],
): Promise<Access> {
  const { lastUsedAt: lastUsed, from: usedFrom, calls } = await usage.of(uses)
  return { kind, id, view: { ...view, lastUsed, usedFrom, calls }, end }
}
