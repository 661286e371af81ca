/** The account page of the signed-in user: password, second factor, browsers, keys, language. */
import type { Needs } from '../../control/operation.ts'
import { AppError } from '#leaf/errors.ts'
import { openSession } from '../../users/browser-middleware.ts'
import { originOf } from '#ui/requests.ts'
import { hasSecondFactor } from '#credentials/accounts.ts'
import { needsSecondFactor } from '../../users/people.ts'
import { deviceOf } from './device.ts'
import { isLanguage, languages } from '#ui/pages.ts'
import { type Deed, formAt, type OwnPage, type OwnPageDeps, type Visit } from '../own-page.ts'
import { refusedAt, type TypedField, choiceOf } from '#ui/forms.ts'
import { readerOf } from '../views.ts'

/** The dependencies of the account page. */
export type AccountDeps = OwnPageDeps &
  Needs<'settings' | 'accounts' | 'apiKeys' | 'passkeys' | 'passwords' | 'secondFactors' | 'signIn'>

const zones = ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')]
const keyDays = ['30', '90', '365']

/** Makes the page. */
export function accountPage(deps: AccountDeps): OwnPage {
  return {
    script: true,
    show: (visit) => show(visit, deps),
    deeds: { ...ownDeeds(deps), ...factorDeeds(deps), ...keyDeeds(deps) },
  }
}

/** Returns the fields of the page's forms, in the words of their reader. */
function fieldsFor(word: (name: string) => string) {
  const secret = { kind: 'password', needed: true } as const
  const fresh = { ...secret, autocomplete: 'new-password' }
  const named = { shortest: 12, description: word('account.password_rule') }
  return {
    password: [
      {
        ...secret,
        name: 'current',
        label: word('account.password_current'),
        autocomplete: 'current-password',
      },
      { ...fresh, ...named, name: 'new', label: word('account.password_new') },
      { ...fresh, name: 'again', label: word('account.password_again') },
    ],
    key: [
      { name: 'label', label: word('account.key_label'), kind: 'line', longest: 200 },
      { name: 'days', label: word('account.key_days'), kind: 'select', options: keyDays, blank: '' },
    ],
    preferences: [
      {
        name: 'language',
        label: word('account.language'),
        ...choiceOf(Object.entries(languages)),
        spoken: true,
        blank: '',
      },
      { name: 'timezone', label: word('account.timezone'), kind: 'select', options: zones, blank: '' },
    ],
  } as const satisfies Record<string, readonly TypedField[]>
}

async function show(visit: Visit, deps: AccountDeps): Promise<Record<string, unknown>> {
  const { ctx, user, session, secret, form } = visit
  const { settings, accounts, passkeys, secondFactors, sessions, apiKeys, clock } = deps
  const account = await accounts.of(user.id)
  const now = clock.now()
  const keys = (await apiKeys.list(user.id)).filter(
    ({ revokedAt, expiresAt = Infinity }) => revokedAt === undefined && expiresAt > now,
  )
  const names = { user: user.fullName, site: settings().server.display_name }
  const { language, messages } = readerOf(ctx)
  const fields = fieldsFor(messages.text)
  const { timezone = 'UTC' } = account
  return {
    user: user.id,
    account,
    hasPassword: await deps.passwords.has(user.id),
    second: hasSecondFactor(account),
    needed: needsSecondFactor(user, settings()),
    codesLeft: account.recoveryCodes?.length ?? 0,
    authenticator_begun: secondFactors.begin(user.id, names.site, form?.get('secret')),
    creation: JSON.stringify(await passkeys.creation(secret, account, names)),
    browsers: (await sessions.list(user.id)).map((one) => ({
      ...one,
      device: deviceOf(one.agent ?? ''),
      isThis: one.id === session.id,
    })),
    keys,
    mayHaveKeys: user.assistantEnabled,
    forms: {
      password: formAt(visit, 'password', fields.password),
      key: formAt(visit, 'key', fields.key),
      preferences: formAt(visit, 'preferences', fields.preferences, { language, timezone }),
    },
  }
}

/** The forms about the person. */
function ownDeeds(deps: AccountDeps): Record<string, Deed> {
  const { accounts, passwords, sessions, signIn } = deps
  return {
    password: {
      type: 'password.change',
      run: async ({ ctx, user, session }, form) => {
        const fresh = form.get('new') ?? ''
        if (fresh !== form.get('again')) throw refusedAt('again', 'invalid', 'the two passwords differ')
        try {
          passwords.check(user.id, fresh)
        } catch (error) {
          throw error instanceof AppError ? refusedAt('new', error.code, error.message) : error
        }
        const origin = originOf(ctx)
        const attempt = { username: user.id, password: form.get('current') ?? '' }
        const proof = await signIn.attempt(attempt, origin)
        if (proof.kind === 'wait')
          throw new AppError('unavailable', `too many attempts; please wait ${proof.seconds} seconds`)
        if (proof.kind === 'refused') throw refusedAt('current', 'forbidden', 'the current password is wrong')
        await passwords.set(user.id, fresh)
        const sessions_ended = await sessions.closeAll(user.id)
        // This browser, too, continues in a new session, known to nobody before; the person was proven at the old authTime.
        const { method, authTime } = session
        await openSession(ctx, deps, { user: user.id, method, address: origin.address, authTime })
        return { data: { sessions_ended } }
      },
    },
    preferences: {
      type: 'account.preferences',
      run: async ({ ctx, user }, form) => {
        const [language, timezone] = [form.get('language'), form.get('timezone') ?? '']
        if (!isLanguage(language)) throw refusedAt('language', 'invalid', 'there is no such language')
        if (!zones.includes(timezone)) throw refusedAt('timezone', 'invalid', 'there is no such time zone')
        await accounts.change(user.id, (account) => ({ ...account, language, timezone }))
        ctx.state['signed'] = { ...ctx.state['signed'], account: await accounts.of(user.id) }
        return { data: { language, timezone } }
      },
    },
    browser: {
      type: 'session.end',
      run: async ({ user }, form) => {
        const found = (await sessions.list(user.id)).find(({ id }) => id === form.get('id'))
        if (!found) throw new AppError('not_found', 'that browser is signed out already')
        await sessions.end(found.id)
        return undefined
      },
    },
    browsers: {
      type: 'session.end_all',
      run: async ({ user, session }) => ({
        data: { sessions_ended: await sessions.closeAll(user.id, session.id) },
      }),
    },
  }
}

/** The forms for what proves the person besides the password. */
function factorDeeds(deps: AccountDeps): Record<string, Deed> {
  const { accounts, passkeys, secondFactors, settings } = deps
  const site = (): string => settings().server.display_name
  return {
    authenticator: {
      recent: true,
      run: async ({ user }) => ({ once: { authenticator: secondFactors.begin(user.id, site()) } }),
    },
    'authenticator-code': {
      type: 'second_factor.add',
      recent: true,
      target: () => 'totp',
      run: async ({ ctx, user }, form) => {
        const [secret, code] = [form.get('secret') ?? '', form.get('code') ?? '']
        const codes = await secondFactors.set(user.id, secret, code, originOf(ctx).address)
        return { once: { codes } }
      },
    },
    'authenticator-remove': {
      type: 'second_factor.remove',
      recent: true,
      target: () => 'totp',
      run: async ({ user }) => {
        await secondFactors.remove(user.id, { totp: true }, needsSecondFactor(user, settings()))
        return undefined
      },
    },
    passkey: {
      type: 'second_factor.add',
      recent: true,
      target: () => 'passkey',
      run: async ({ ctx, user, secret }, form) => {
        const [name, credential] = [form.get('name') ?? '', form.get('credential') ?? '']
        await passkeys.add(secret, user.id, name, credential, originOf(ctx).address)
        const known = (await accounts.of(user.id)).recoveryCodes
        return known ? undefined : { once: { codes: await secondFactors.renewCodes(user.id) } }
      },
    },
    'passkey-remove': {
      type: 'second_factor.remove',
      recent: true,
      target: () => 'passkey',
      run: async ({ user }, form) => {
        const passkey = form.get('id') ?? ''
        await secondFactors.remove(user.id, { passkey }, needsSecondFactor(user, settings()))
        return undefined
      },
    },
    codes: {
      type: 'second_factor.recovery_codes',
      recent: true,
      run: async ({ user }) => ({ once: { codes: await secondFactors.renewCodes(user.id) } }),
    },
  }
}

/** The forms for the API keys of the person's programs. */
function keyDeeds({ apiKeys }: AccountDeps): Record<string, Deed> {
  return {
    key: {
      type: 'api_key.create',
      recent: true,
      run: async ({ ctx, user }, form) => {
        if (!user.assistantEnabled)
          throw new AppError('forbidden', 'assistant access is not enabled for this user')
        const days = form.get('days') ?? ''
        if (!keyDays.includes(days)) throw refusedAt('days', 'invalid', 'choose how long the key lasts')
        const label = (form.get('label') ?? '').trim().slice(0, 200)
        const [seconds, from] = [Number(days) * 86_400, originOf(ctx).address]
        const { key, secret } = await apiKeys.create({ user: user.id, label, seconds, from })
        return { target: key.id, once: { key: `token ${key.id}:${secret}` } }
      },
    },
    'key-revoke': {
      type: 'api_key.revoke',
      target: ({ form }) => form?.get('id') ?? '',
      run: async ({ user }, form) => {
        const id = form.get('id') ?? ''
        const own = (await apiKeys.list(user.id)).some((key) => key.id === id)
        if (!own || !(await apiKeys.revoke(id))) throw new AppError('not_found', 'there is no such key')
        return undefined
      },
    },
  }
}
