/**
 * The one evaluator (D5): every function of this folder asks here who may do what to which document
 * and which of its fields. It denies by default. What may not be seen does not exist.
 */
import {
  all,
  always,
  any,
  asserted,
  bound,
  compared,
  type Condition,
  never,
  type Asker,
} from '#state/questions.ts'
import { Remembered } from '#leaf/remembered.ts'
import type { Principal } from '../core/principal.ts'
import { systemManager } from '../core/principal.ts'
import { holds } from '#state/questions.ts'
import { type Action, actions, type Doctype, type Field, type Rule } from './platform/platform.ts'
import { originActions } from './platform/standard-fields.ts'
import type { StoredDocument } from './writing/stored.ts'

/** The access of one principal to the documents of one doctype. */
export interface Access {
  readonly doctype: Doctype
  /** The principal, and the moment that the access is of. */
  readonly asker: { readonly principal: Principal; readonly now: number }
  /** True when there can be a document on which the action is allowed. */
  may(action: Action): boolean
  /** True when the action is allowed on this document; everything but create also needs read. */
  allows(action: Action, document: StoredDocument): boolean
  /** Returns the condition of the documents on which the action is allowed. */
  where(action: Action): Condition
  /** Tells how a field of this document appears. */
  shows(field: Field, document: StoredDocument): FieldVisibility
  /** Returns the condition of the documents on which a field appears as it is. */
  whereShown(field: Field): Condition
  /** True when the principal may set the field on this document by this action. */
  mayset(field: Field, action: Action, document: StoredDocument): boolean
  /** True when the field can be read on every document that the principal can read, so that a query on it tells nothing. */
  queryable(field: Field): boolean
  /** True when the field is known to the principal at all. */
  knows(field: Field): boolean
  /** True when the value is replaced by a marker for the principal. */
  masks(field: Field): boolean
  /** True when a rule reaches a document. */
  matches(rule: Rule, document: StoredDocument): boolean
  /** Returns the rules that decide the action, for explanations. */
  rules(action: Action): readonly Rule[]
  /** Notes the documents that the principal is shown, and how many more, for the audit event of its request. */
  show(documents: readonly StoredDocument[], more?: number): void
}

/** The appearance of a value to a principal: as it is, as `maskMarker`, or not at all. */
export type FieldVisibility = 'clear' | 'masked' | 'hidden'

/** The marker in place of a masked value. */
export const maskMarker = '[masked]'

const implied: ReadonlyMap<Action, readonly Action[]> = new Map([
  ['comment', ['comment', 'write']],
  ['assign', ['assign', 'write']],
])

/** Returns a principal as expressions know the asking user. */
export function expressionUser({ user, fullName, roles }: Principal): Asker {
  // A System Manager counts as having every role, as everywhere.
  return { id: user, fullName, roles, hasEveryRole: roles.has(systemManager) }
}

/** Returns the principal's access to documents of the doctype, at this moment. */
export function accessTo(principal: Principal, doctype: Doctype, now: number): Access {
  return new Granted(principal, doctype, now)
}

/** The access that the rules grant; a class, since making a closure for each question costs as much as answering it. */
export class Granted implements Access {
  readonly doctype: Doctype
  readonly asker: Access['asker']
  readonly #deciding: Map<Action, readonly Rule[]>
  #user: Asker | undefined

  constructor(principal: Principal, doctype: Doctype, now: number) {
    this.doctype = doctype
    this.asker = { principal, now }
    this.#deciding = deciding.of(doctype, principal.roleKey, () => new Map())
  }

  rules(action: Action): readonly Rule[] {
    let found = this.#deciding.get(action)
    if (!found) {
      const names = implied.get(action) ?? [action]
      const mine = rulesFor(this.asker.principal, this.doctype)
      found = mine.filter((rule) => names.some((name) => rule.actions.has(name)))
      this.#deciding.set(action, found)
    }
    return found
  }

  matches(rule: Rule, document: StoredDocument): boolean {
    const { principal, now } = this.asker
    return (
      (!rule.ifOwner || document.owner === principal.user) &&
      (rule.when === undefined || holds(rule.when, { doc: document, user: this.#asking, now }))
    )
  }

  masks(field: Field): boolean {
    return isMasked(field, this.asker.principal)
  }

  may(action: Action): boolean {
    return this.rules(action).length > 0 && (action === 'create' || this.rules('read').length > 0)
  }

  allows(action: Action, document: StoredDocument): boolean {
    const granted = (one: Action): boolean => this.rules(one).some((rule) => this.matches(rule, document))
    return granted(action) && (action === 'create' || action === 'read' || granted('read'))
  }

  where(action: Action): Condition {
    const granted = this.#reached(this.rules(action))
    return action === 'create' || action === 'read'
      ? granted
      : all(granted, this.#reached(this.rules('read')))
  }

  shows(field: Field, document: StoredDocument): FieldVisibility {
    const isOpen = this.rules('read').some(
      (rule) => rule.levels.has(field.level) && this.matches(rule, document),
    )
    if (!isOpen) return 'hidden'
    return this.masks(field) ? 'masked' : 'clear'
  }

  whereShown(field: Field): Condition {
    return this.masks(field) ? never : this.#reached(showing(this.rules('read'), field))
  }

  mayset(field: Field, action: Action, document: StoredDocument): boolean {
    return (
      !this.masks(field) && showing(this.rules(action), field).some((rule) => this.matches(rule, document))
    )
  }

  queryable(field: Field): boolean {
    // Some rule must show the field on every row that any rule opens: filters would let the rest be
    // guessed.
    const reading = this.rules('read')
    if (reading.length === 0 || this.masks(field)) return false
    return (
      reading.every((rule) => rule.levels.has(field.level)) ||
      reading.some((rule) => !rule.ifOwner && rule.when === undefined && rule.levels.has(field.level))
    )
  }

  knows(field: Field): boolean {
    const isIn = ({ levels }: Rule): boolean => levels.has(field.level)
    return this.rules('read').some(isIn) || this.rules('create').some(isIn)
  }

  show(found: readonly StoredDocument[], more?: number): void {
    const { shown } = this.asker.principal
    shown?.note(
      this.doctype.name,
      found.map(({ id }) => id),
      more,
    )
  }

  get #asking(): Asker {
    return (this.#user ??= expressionUser(this.asker.principal))
  }

  /** Returns the condition of the documents that one of the rules reaches. */
  #reached(rules: readonly Rule[]): Condition {
    const asker = { user: this.#asking, now: this.asker.now }
    return any(...rules.map((rule) => conditionOf(rule, asker)))
  }
}

/** The rules that decide each action, by doctype and role set, neither of which changes. */
const deciding = new Remembered<Doctype, Map<Action, readonly Rule[]>>()

/** Returns the fields of a doctype, or of the rows of a table in it, that the principal knows, by name. */
export function knownFields(access: Access, { fields }: Doctype): ReadonlyMap<string, Field> {
  return new Map([...fields].filter(([, field]) => access.knows(field)))
}

function isMasked({ mask }: Field, { roles }: Principal): boolean {
  return mask !== undefined && !roles.has(systemManager) && ![...mask].some((role) => roles.has(role))
}

function showing(rules: readonly Rule[], { level }: Field): readonly Rule[] {
  return rules.filter(({ levels }) => levels.has(level))
}

function conditionOf({ ifOwner, when }: Rule, asker: { user: Asker; now: number }): Condition {
  return all(
    ifOwner ? compared('owner', '=', asker.user.id) : always,
    when ? asserted(bound(when.term, asker)) : always,
  )
}

function rulesFor(principal: Principal, doctype: Doctype): readonly Rule[] {
  if (principal.roles.has(systemManager))
    return [doctype.origin ? { ...everything, actions: new Set(originActions(doctype.origin)) } : everything]
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
