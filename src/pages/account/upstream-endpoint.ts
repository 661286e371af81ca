/** The endpoints for signing in at the company's OpenID provider: there and back. */
import type { Needs } from '../../control/operation.ts'
import { AppError, messageOf } from '#leaf/errors.ts'
import { knownVisitor, visitorSecret } from '../../users/browser-middleware.ts'
import { sendTo } from '#ui/browser.ts'
import { originOf, asked } from '#ui/requests.ts'
import type { UpstreamIdentity } from '../../oauth/upstream.ts'
import type { Showing } from '../route-page.ts'
import { letIn, safeNext, type SignInDeps } from './sign-in-endpoint.ts'

/** The dependencies of both endpoints. */
export type UpstreamDeps = SignInDeps & Needs<'people' | 'audit' | 'upstream'>

/** Answers GET: sends the browser to the provider. */
export function upstreamEndpoint(deps: UpstreamDeps): Showing<'anybody'> {
  return async (ctx) => {
    await deps.limits.take('authorize', originOf(ctx))
    const next = safeNext(asked(ctx, 'next'))
    sendTo(ctx, 303, await deps.upstream.begin(visitorSecret(ctx, deps), next))
  }
}

/** Answers GET: takes the browser back and signs it in. */
export function upstreamCallbackEndpoint(deps: UpstreamDeps): Showing<'anybody'> {
  return async (ctx) => {
    await deps.limits.take('authorize', originOf(ctx))
    const visitor = knownVisitor(ctx, deps)
    if (visitor === undefined) throw new AppError('forbidden', 'the sign-in was begun in another browser')
    const told = await deps.upstream.finish(visitor, ctx.querystring).catch(async (error: unknown) => {
      if (error instanceof AppError && error.code === 'forbidden') {
        const [data, why] = [{ method: 'oidc' }, messageOf(error.cause ?? error)]
        await deps.audit.record({
          type: 'sign_in.fail',
          status: 'denied',
          ...originOf(ctx),
          data,
          error: why,
        })
      }
      throw error
    })
    await letIn(ctx, deps, { proven: told.email, method: 'oidc', ...(await refusalOf(told, deps)) })
    sendTo(ctx, 303, told.next)
  }
}

/** Refuses a subject other than the first of an address: the address may be given to somebody else, this account may not. */
async function refusalOf(
  { email, issuer, subject }: UpstreamIdentity,
  { people, accounts }: UpstreamDeps,
): Promise<{ refusal: string; doubt?: string }> {
  const user = people().find(email)
  if (!user?.enabled || (await accounts.isSubject(user.id, issuer, subject)))
    return { refusal: `${email} is not a user here; ask your administrator` }
  return {
    refusal: `your company account is another one than that which signed in as ${email} before; ask your administrator`,
    doubt: `${issuer} means another account by ${email} than before (now "${subject}"); where that is right, "users reset ${email} --everything" ends what the one before left and lets the new one in`,
  }
}
