/** Explains why someone may or may not do something: the evaluator's own answer with the deciding lines of the site. */
import { unknownName } from '#leaf/names.ts'
import type { Principal } from '../core/principal.ts'
import { collectionFor, type Documents, reachOf } from './documents.ts'
import { type Action, actions, type Rule } from './platform/platform.ts'
import { AppError } from '#leaf/errors.ts'

/** The decision on one action, and the line of the site that decides. */
export interface ActionExplanation {
  readonly action: Action
  readonly allowed: boolean
  /** The rule that decides, or the reason why there is none. */
  readonly because: string
  /** The place of the rule, as `file:line`. */
  readonly source: string
}

/** The answer to an operator who asks why a user can or cannot do something. */
export interface Explanation {
  readonly user: string
  readonly roles: readonly string[]
  readonly doctype: string
  readonly name?: string
  readonly actions: readonly ActionExplanation[]
  /** The fields that the user never sees, or sees masked. */
  readonly hidden: readonly string[]
  readonly masked: readonly string[]
}

/**
 * Explains what a user may do with a doctype, or with one document of it. For operators: it tells of
 * documents that the user itself may not see. AppError `not_found` for what does not exist at all.
 */
export async function explainAccess(
  documents: Documents,
  principal: Principal,
  doctypeName: string,
  name?: string,
): Promise<Explanation> {
  const doctype = documents.platform.doctypes.get(doctypeName)
  if (!doctype)
    throw new AppError('not_found', unknownName('doctype', doctypeName, documents.platform.doctypes.keys()))
  const access = reachOf(documents, principal, doctype)
  const document = name === undefined ? undefined : await collectionFor(documents, doctype).get(name)
  if (name !== undefined && !document) throw new AppError('not_found', `there is no ${doctypeName} "${name}"`)
  const fields = [...doctype.fields.values()]
  return {
    user: principal.user,
    roles: [...principal.roles].sort(),
    doctype: doctypeName,
    ...(name !== undefined && { name }),
    actions: actions.map((action): ActionExplanation => {
      const rules = access.rules(action)
      // Every other action but create also needs read, as in the evaluator.
      const reading = action === 'read' || action === 'create' || access.rules('read').length > 0
      if (rules.length === 0 || !reading)
        return {
          action,
          allowed: false,
          because: 'no rule allows it to any of the roles',
          source: doctype.source,
        }
      if (!document)
        return { action, allowed: access.may(action), because: ruleText(rules[0]!), source: rules[0]!.source }
      const deciding = rules.find((rule) => access.matches(rule, document))
      const allowed = access.allows(action, document)
      if (deciding && !allowed)
        return { action, allowed, because: 'the document may not be read', source: doctype.source }
      return {
        action,
        allowed,
        because: deciding ? ruleText(deciding) : `no rule matches: ${rules.map(ruleText).join('; ')}`,
        source: deciding?.source ?? rules.map((rule) => rule.source).join(', '),
      }
    }),
    hidden: fields
      .filter((field) => (document ? access.shows(field, document) === 'hidden' : !access.knows(field)))
      .map((field) => field.name),
    masked: fields.filter((field) => access.masks(field)).map((field) => field.name),
  }
}

function ruleText({ role, ifOwner, when }: Rule): string {
  if (ifOwner && when) return `role ${role}, own documents, when ${when.text}`
  if (when) return `role ${role}, when ${when.text}`
  return ifOwner ? `role ${role}, own documents` : `role ${role}`
}
