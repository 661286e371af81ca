import { isoTime } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import { objectWith } from '#leaf/object-schema.ts'
import { mayShutOut } from '../core/effects.ts'
import { pages } from '../pages/pages.ts'
import { forgetViews } from '../users/accounts.ts'
import { asks, takes } from '#commands/description.ts'
import type { Services } from '../house/services.ts'
import { defineOperation, type Needs } from './operation.ts'
import { columns, countsText, table } from '#commands/terminal.ts'

const user = asks('<user>', { minLength: 1 })
/** The services that make a link. */
const linking = ['links', 'publicUrl', 'settings'] as const
/** The services that end what acts for a user. */
const access = ['sessions', 'links', 'apiKeys', 'tokens', 'suspended', 'tasks'] as const
/** Seconds that a link lasts by default. */
const linkSeconds = 259_200
const seconds = asks('--ttl <duration>: when the link ends, such as 7d; 3 days if not given', {
  minimum: 60,
  maximum: 2_592_000,
})

/** The operations on the users who may sign in. */
export const userOperations = [
  defineOperation({
    name: 'users.list',
    does: 'list the users of the site',
    examples: ['users list --json'],
    input: takes({}),
    needs: ['people', 'passwords'],
    run: async (_params, { people, passwords }) =>
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
    text: (list) =>
      table(list, [
        ...columns('user, name: full_name, enabled'),
        ['assistant', (one) => one.assistant_enabled === 1],
        ...columns('password: has_password, roles'),
      ]),
  }),
  defineOperation({
    // Its command asks for the password, which no other user of the machine may read among arguments.
    name: 'users.passwd',
    writes: true,
    input: objectWith({ user, password: { type: 'string' } }),
    // A new password often follows the theft of the old one, so its browser sessions end.
    needs: ['passwords', 'sessions'],
    run: async (params, { passwords, sessions }) => {
      await passwords.set(params.user, params.password)
      const sessions_ended = await sessions.closeAll(params.user.toLowerCase())
      return { user: params.user, sessions_ended }
    },
  }),
  defineOperation({
    name: 'users.invite',
    does: 'print a link by which a new user chooses their password',
    examples: ['users invite maria@example.com', 'users invite maria@example.com --ttl 7d'],
    writes: true,
    input: takes({ user, seconds }),
    needs: ['passwords', ...linking],
    run: async (params, taken) => {
      if (await taken.passwords.has(params.user))
        throw new AppError('conflict', `${params.user} has a password already; see "users reset"`)
      return linkFor({ ...params, purpose: 'invite', secondFactor: false }, taken)
    },
    text: linkText,
  }),
  defineOperation({
    // Until the link is used, nothing changes. `everything` ends all access at once: an intruder does not wait for the link.
    name: 'users.reset',
    does: 'print a link by which a user chooses another password and ends what else gets into their account',
    examples: ['users reset maria@example.com', 'users reset maria@example.com --everything'],
    writes: true,
    input: takes({
      user,
      seconds,
      second_factor:
        '--second-factor: using it also forgets their authenticator app, passkeys and recovery codes, which stay otherwise where a role needs them',
      everything:
        '--everything: somebody else got in, or their address at your company is somebody else’s now: end their password, second factors, sign-ins, API keys, apps and tokens now, and forget whom your company meant by them',
    }),
    needs: [...linking, ...access, 'people', 'passwords', 'accounts', 'audit'],
    run: async (params, taken) => {
      const request = { ...params, purpose: 'reset', secondFactor: params.second_factor ?? false } as const
      if (!params.everything) return linkFor(request, taken)
      const found = taken.people().find(params.user)
      if (!found?.enabled) throw new AppError('not_found', `no user ${params.user} who may sign in`)
      const { endAll, everythingOf } = await import('../house/ending-access.ts')
      const ended = await endAll('user.reset', found.id, everythingOf(found.id, taken), taken)
      // If nobody has a password, users sign in with their company again.
      const none = { user: found.id, url: null, expires: null }
      return { ...(taken.settings().login.passwords ? await linkFor(request, taken) : none), ended }
    },
    text: linkText,
  }),
  defineOperation({
    name: 'users.cut_off',
    does: 'end at once, at every daemon, all that acts for a user: sign-ins, links, API keys, apps, tokens, streams, running and waiting calls',
    examples: ['users cut-off maria@example.com', 'users cut-off maria@example.com --passkeys'],
    writes: true,
    input: takes({ user, passkeys: '--passkeys: their passkeys too' }),
    needs: [...access, 'people', 'accounts', 'audit'],
    run: async (params, { people, accounts, audit, ...access }, { user: by }) => {
      const id = params.user.toLowerCase()
      const known = people().users.get(id)
      if (by && known && !mayShutOut(people().users.get(by.user ?? '') ?? { roles: new Set() }, known))
        throw new AppError('forbidden', 'this person has roles of administration that you lack')
      const { accessOf, endAll } = await import('../house/ending-access.ts')
      const passkeysOf = async (): Promise<number> => {
        const { passkeys = [] } = await accounts.of(id)
        await accounts.change(id, (account) => ({ ...account, passkeys: [] }))
        return passkeys.length
      }
      // What somebody kept who is not of the site any more goes with them.
      const views = !known && { saved_views: () => forgetViews(accounts, id) }
      const endings = { ...accessOf(id, access), ...(params.passkeys && { passkeys: passkeysOf }), ...views }
      const ended = await endAll('user.cut_off', id, endings, { people, audit })
      return { user: id, ended, may_sign_in_again: known?.enabled ?? false }
    },
    text: ({ user, ended, may_sign_in_again: may }) => [
      `Ended now: ${countsText(ended)}.`,
      may
        ? `${user} may sign in again, until config/users.yaml says "enabled: false" for them; "users reset --everything" ends their password too.`
        : `${user} may not sign in.`,
    ],
  }),
] as const

interface Link {
  readonly user: string
  readonly url: string | null
  readonly expires: string | null
  readonly ended?: Readonly<Record<string, number>>
}

async function linkFor(
  request: Omit<Parameters<Services['links']['make']>[0], 'seconds'> & { readonly seconds?: number },
  { links, publicUrl, settings }: Needs<(typeof linking)[number]>,
): Promise<Link> {
  if (!settings().login.passwords) throw new AppError('invalid', 'passwords are off (login.passwords)')
  const { secret, link } = await links.make({ ...request, seconds: request.seconds ?? linkSeconds })
  return {
    user: link.user,
    url: `${publicUrl()}${pages.oneTimeLink.path}?link=${secret}`,
    expires: isoTime(link.expiresAt),
  }
}

function linkText({ user, url, expires, ended }: Link): string {
  const link =
    url === null
      ? `Passwords are off, so there is no link: ${user} signs in with your company again.`
      : `${url}\n\nGive this link to ${user} by a way that only they read. It works once, until ${expires}.`
  return ended === undefined ? link : `${link}\n\nEnded now: the password, ${countsText(ended)}.`
}
