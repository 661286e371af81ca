/** Ends what acts for a user, in every folder, and what proves who they are. */
import { countsText } from '#commands/terminal.ts'
import { withoutProofs } from '#credentials/accounts.ts'
import { AppError, messageOf } from '#leaf/errors.ts'
import type { Services } from './services.ts'

type Access = Pick<Services, 'sessions' | 'links' | 'apiKeys' | 'tokens' | 'suspended' | 'tasks'>
type Proofs = Pick<Services, 'passwords' | 'accounts'>

/** How each kind of access ends: the number that ended, or several by their names. */
type Endings = Readonly<Record<string, () => Promise<number | Readonly<Record<string, number>>>>>

/**
 * Ends what is named in turn, whichever of it fails, and audits what ended and what is left. AppError `unavailable` that
 * tells both when something is left; `not_found` for nobody, for whom nothing was open.
 */
export async function endAll(
  type: string,
  id: string,
  endings: Endings,
  { people, audit }: Pick<Services, 'people' | 'audit'>,
) {
  const ended: Record<string, number> = {}
  const left: Record<string, string> = {}
  const attempt = async (what: string, end: Endings[string]): Promise<void> => {
    try {
      const count = await end()
      Object.assign(ended, typeof count === 'number' ? { [what]: count } : count)
    } catch (error) {
      left[what] = messageOf(error)
    }
  }
  const isWhole = (): boolean => Object.keys(left).length === 0
  for (const [what, end] of Object.entries(endings)) await attempt(what, end)
  // A mistyped address must not look like success; somebody who left may still have access.
  if (!people().users.has(id) && isWhole() && Object.values(ended).every((count) => count === 0))
    throw new AppError('not_found', `no user ${id}`)
  const status = isWhole() ? 'ok' : 'error'
  const data = { ended, ...(!isWhole() && { left }) }
  await attempt('audit_event', async () => (await audit.record({ type, status, user: id, data }), {}))
  if (isWhole()) return ended
  const what = Object.keys(left).join(', ').replaceAll('_', ' ')
  const message = `not all access of ${id} has ended. Left: ${what}. Ended: ${countsText(ended) || 'nothing'}. Do it again`
  throw new AppError('unavailable', message, { data: { ended, left: Object.keys(left) } })
}

/**
 * What acts for a user now, at every daemon: whatever was open, and what it could be opened with again but for the
 * user's own proofs. Sessions end first: a user without a session makes nothing new.
 */
export function accessOf(
  id: string,
  { sessions, links, apiKeys, tokens, suspended, tasks }: Access,
): Endings {
  return {
    sessions: () => sessions.closeAll(id),
    links: () => links.end(id),
    api_keys: () => apiKeys.revokeAll(id),
    apps_and_tokens: async () => (await tokens.revoke({ user: id }, 'the operator cut the user off')).length,
    waiting_calls: () => suspended.forget(id),
    tasks: () => tasks.cancelAll(id),
  }
}

/** What proves a user, and the ties to their accounts at identity providers; then what acts for them. */
export function everythingOf(id: string, { passwords, accounts, ...access }: Access & Proofs): Endings {
  return {
    password: async () => (await passwords.remove(id), {}),
    proofs: async () => {
      const { totp, passkeys = [], subjects } = await accounts.of(id)
      await accounts.change(id, (account) => {
        const { subjects: _ties, ...rest } = withoutProofs(account)
        return rest
      })
      return {
        authenticator: totp === undefined ? 0 : 1,
        passkeys: passkeys.length,
        company_accounts: Object.keys(subjects ?? {}).length,
      }
    },
    ...accessOf(id, access),
  }
}
