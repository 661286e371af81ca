/**
 * The one evaluator (D5): every function of this folder asks here who may do what to which document
 * and which of its fields. Deny by default. What may not be seen does not exist.
 */
import { all, always, any, asserted, bound, compared, type Condition, never } from '../core/conditions.ts'
import type { Asker } from '../core/expression-functions.ts'
import type { Principal } from '../core/principal.ts'
import { systemManager } from '../core/principal.ts'
import { holds } from './expression.ts'
import { type Action, actions, type Doctype, type Field, type Rule } from './platform.ts'
import type { StoredDocument } from './stored.ts'

/** What one principal may do with the documents of one doctype. */
export interface Access {
  readonly doctype: Doctype
  /** Whether there can be a document that the action is allowed on. */
  may(action: Action): boolean
  /** Whether the action is allowed on this document; everything but create also needs read. */
  allows(action: Action, document: StoredDocument): boolean
  /** What holds of the documents that the action is allowed on. */
  where(action: Action): Condition
  /** How a field of this document appears. */
  shows(field: Field, document: StoredDocument): FieldVisibility
  /** What holds of the documents on which a field appears as it is. */
  whereShown(field: Field): Condition
  /** Whether the principal may set the field on this document by this action. */
  mayset(field: Field, action: Action, document: StoredDocument): boolean
  /** Whether the field can be read on every document that the principal can read, so that a query on it tells nothing. */
  queryable(field: Field): boolean
  /** Whether the field is known to the principal at all. */
  knows(field: Field): boolean
  /** Whether the value is replaced by a marker for the principal. */
  masks(field: Field): boolean
  /** Whether a rule reaches a document. */
  matches(rule: Rule, document: StoredDocument): boolean
  /** The rules that decide the action, for explanations. */
  rules(action: Action): readonly Rule[]
  /** Notes what the principal is shown, and how many more, for the audit event of its request. */
  show(documents: readonly StoredDocument[], more?: number): void
}

/** How a value appears to a principal: as it is, as `maskMarker`, or not at all. */
export type FieldVisibility = 'clear' | 'masked' | 'hidden'

/** What stands where a masked value would. */
export const maskMarker = '[masked]'

const implied: ReadonlyMap<Action, readonly Action[]> = new Map([
  ['comment', ['comment', 'write']],
  ['assign', ['assign', 'write']],
])

/** A principal as expressions know who asks. */
export function expressionUser({ user, fullName, roles }: Principal): Asker {
  return { id: user, fullName, roles }
}

/** What the principal may do with documents of the doctype, at this moment. */
export function accessTo(principal: Principal, doctype: Doctype, now: number): Access {
  const mine = rulesFor(principal, doctype)
  const user = expressionUser(principal)
  const grants = new Map<Action, readonly Rule[]>()
  const rules = (action: Action): readonly Rule[] => {
    let found = grants.get(action)
    if (!found) {
      const names = implied.get(action) ?? [action]
      found = mine.filter((rule) => names.some((name) => rule.actions.has(name)))
      grants.set(action, found)
    }
    return found
  }
  const matches = (rule: Rule, document: StoredDocument): boolean =>
    (!rule.ifOwner || document.owner === principal.user) &&
    (rule.when === undefined || holds(rule.when, { doc: document, user, now }))
  const grantedWhere = (action: Action): Condition => reached(rules(action), { user, now })
  const granted = (action: Action, document: StoredDocument): boolean =>
    rules(action).some((rule) => matches(rule, document))
  const masks = (field: Field): boolean => isMasked(field, principal)
  return {
    doctype,
    rules,
    matches,
    masks,
    may: (action) => rules(action).length > 0 && (action === 'create' || rules('read').length > 0),
    allows: (action, document) =>
      granted(action, document) && (action === 'create' || action === 'read' || granted('read', document)),
    where: (action) =>
      action === 'create' || action === 'read'
        ? grantedWhere(action)
        : all(grantedWhere(action), grantedWhere('read')),
    shows: (field, document) => {
      if (!rules('read').some((rule) => rule.levels.has(field.level) && matches(rule, document)))
        return 'hidden'
      return masks(field) ? 'masked' : 'clear'
    },
    whereShown: (field) => (masks(field) ? never : reached(showing(rules('read'), field), { user, now })),
    mayset: (field, action, document) =>
      !masks(field) && rules(action).some((rule) => rule.levels.has(field.level) && matches(rule, document)),
    queryable: (field) => {
      // Some rule must show the field on every row that any rule opens: filters would let the rest be
      // guessed.
      const reading = rules('read')
      if (reading.length === 0 || masks(field)) return false
      return (
        reading.every((rule) => rule.levels.has(field.level)) ||
        reading.some((rule) => !rule.ifOwner && rule.when === undefined && rule.levels.has(field.level))
      )
    },
    knows: (field) =>
      rules('read').some((rule) => rule.levels.has(field.level)) ||
      rules('create').some((rule) => rule.levels.has(field.level)),
    show: (found, more) => {
      const names = found.map(({ id }) => id)
      principal.shown?.note(doctype.name, names, more)
    },
  }
}

function isMasked({ mask }: Field, { roles }: Principal): boolean {
  return mask !== undefined && !roles.has(systemManager) && ![...mask].some((role) => roles.has(role))
}

function showing(rules: readonly Rule[], { level }: Field): readonly Rule[] {
  return rules.filter(({ levels }) => levels.has(level))
}

/** What holds of the documents that one of the rules reaches. */
function reached(rules: readonly Rule[], asker: { user: Asker; now: number }): Condition {
  return any(...rules.map((rule) => conditionOf(rule, asker)))
}

function conditionOf({ ifOwner, when }: Rule, asker: { user: Asker; now: number }): Condition {
  return all(
    ifOwner ? compared('owner', '=', asker.user.id) : always,
    when ? asserted(bound(when.term, asker)) : always,
  )
}

function rulesFor(principal: Principal, doctype: Doctype): readonly Rule[] {
  if (principal.roles.has(systemManager)) return [everything]
  return doctype.rules.filter((rule) => principal.roles.has(rule.role))
}

/** A System Manager may do whatever a role can allow; states and validations still hold. */
const everything: Rule = {
  role: systemManager,
  actions: new Set(actions),
  ifOwner: false,
  levels: new Set([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
  source: 'built in: a System Manager may do everything that a role can allow',
}
