import { explainAccess as explainDoctype } from '../documents/explaining.ts'
import { AppError } from '../core/errors.ts'
import { assistantUser, hasRole, principalFor, roleKeyOf, type Principal } from '../core/principal.ts'
import { offerOf } from '../tools/offer.ts'
import { defineOperation, type Needs } from './operation.ts'
import { objectWith } from '../core/object-schema.ts'

/** What is asked for an explanation. */
type Asked = 'people' | 'clients' | 'clientLimits' | 'site'

/** One thing that decided, with where it is written. */
interface Reason {
  readonly subject: string
  readonly allowed: boolean
  readonly because: string
  readonly source: string
}

/** What decides, and what follows; fields are told for doctypes and documents. */
interface Explanation {
  readonly user: string
  readonly client: string | null
  readonly roles: readonly string[]
  readonly subject: string
  readonly kind: 'tool' | 'doctype' | 'document'
  readonly name?: string
  readonly allowed: boolean
  readonly reasons: readonly Reason[]
  readonly hidden_fields?: readonly string[]
  readonly masked_fields?: readonly string[]
}

/** Why a user may or may not use a tool, or may do what with a doctype or one document of it: the evaluator's own answer. */
export const explainAccessTo = defineOperation({
  name: 'access.explain',
  input: objectWith(
    { user: { type: 'string' }, subject: { type: 'string', minLength: 1 } },
    { name: { type: 'string' }, client: { type: 'string' } },
  ),
  run: async ({ user, subject, name, client }, taken: Needs<Asked>): Promise<Explanation> => {
    const { principal, gates, asked } = await principalAs(taken, user, client)
    const { tools, toolSettings, platform, documents } = taken.site.current()
    const tool = tools.find((one) => one.name === subject)
    const about = { ...asked, subject }
    // What stands before everything is told with the rest, though it decides alone: the next fault would only
    // be found later.
    const shut = gates.find((gate) => !gate.allowed)
    // A doctype may be called as a tool is; with the name of a document, the doctype is meant.
    if (tool && name === undefined) {
      const offer = offerOf(principal, tool, toolSettings)
      const reason: Reason = {
        subject: 'tool',
        allowed: offer.refusal === undefined,
        because: offer.reason,
        source: offer.source,
      }
      return { ...about, kind: 'tool', allowed: !shut && reason.allowed, reasons: [...gates, reason] }
    }
    if (!platform.doctypes.has(subject) && !tool) {
      throw new AppError('not_found', `"${subject}" is neither a tool nor a doctype`)
    }
    const explained = await explainDoctype(documents, principal, subject, name)
    const reasons = explained.actions.map(({ action, allowed, because, source }): Reason => ({
      subject: action,
      allowed,
      because,
      source,
    }))
    return {
      ...about,
      kind: name === undefined ? 'doctype' : 'document',
      ...(name !== undefined && { name }),
      allowed: !shut && reasons.some((reason) => reason.allowed),
      reasons: [...gates, ...reasons],
      hidden_fields: explained.hidden,
      masked_fields: explained.masked,
    }
  },
})

/** What a user may do with every tool and every doctype, each with the line of the site that decides it. */
export const overviewOfAccess = defineOperation({
  name: 'access.overview',
  input: objectWith({ user: { type: 'string' } }, { client: { type: 'string' } }),
  run: async ({ user, client }, taken: Needs<Asked>) => {
    const { principal, gates, asked } = await principalAs(taken, user, client)
    const { tools, toolSettings, platform, documents } = taken.site.current()
    const ofTools = tools.map((tool) => {
      const { refusal, reason: because, source } = offerOf(principal, tool, toolSettings)
      return {
        subject: tool.name,
        kind: 'tool',
        actions: refusal === undefined ? ['call'] : [],
        because,
        source,
      }
    })
    const ofDoctypes = await Promise.all(
      [...platform.doctypes.keys()].map(async (subject) => {
        const { actions } = await explainDoctype(documents, principal, subject)
        const allowed = actions.filter((one) => one.allowed)
        const { because, source } = allowed[0] ?? actions[0]!
        return {
          subject,
          kind: 'doctype',
          actions: allowed.map<string>(({ action }) => action),
          because,
          source,
        }
      }),
    )
    const subjects = [...ofTools, ...ofDoctypes].sort((a, b) => (a.subject < b.subject ? -1 : 1))
    return { ...asked, gates, subjects }
  },
})

/** The user as a request would stand for it, and what stands before every tool and document. */
async function principalAs(
  { people, clients, clientLimits }: Needs<Asked>,
  email: string,
  client: string | undefined,
): Promise<{ principal: Principal; gates: Reason[]; asked: Pick<Explanation, 'user' | 'client' | 'roles'> }> {
  const found = people().find(email)
  if (!found) throw new AppError('not_found', `no user ${email}`)
  if (client !== undefined && !(await clients.find(client)))
    throw new AppError('not_found', `no client ${client}`)
  const limits = client === undefined ? undefined : clientLimits(client)
  // As bearer.ts does for a request: a client's limits take roles away, and never add any.
  const kept = limits?.roles && new Set([...found.roles].filter((role) => limits.roles!.includes(role)))
  const principal: Principal = {
    ...principalFor(found, 'command line'),
    ...(client !== undefined && { client: { id: client, name: client } }),
    ...(kept && { roles: kept, roleKey: roleKeyOf(kept) }),
    ...(limits?.tools && { toolLimit: limits.tools }),
  }
  // Users, roles and the switch stand in one file, so the line need not be looked for.
  const source = 'config/users.yaml'
  return {
    principal,
    asked: { user: principal.user, client: client ?? null, roles: [...principal.roles].sort() },
    gates: [
      { subject: 'user', allowed: found.enabled, because: found.enabled ? 'enabled' : 'disabled', source },
      {
        subject: 'assistant',
        allowed: found.assistantEnabled,
        because: `assistant_enabled is ${found.assistantEnabled ? 1 : 0}`,
        source,
      },
      {
        subject: 'role',
        allowed: hasRole(principal, assistantUser),
        because: hasRole(principal, assistantUser)
          ? `has the role ${assistantUser}`
          : `lacks the role ${assistantUser}${limits?.roles ? ', or the client does not leave it' : ''}`,
        source: limits?.roles ? 'config/clients.yaml' : source,
      },
    ],
  }
}
