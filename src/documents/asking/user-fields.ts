/** Finds out which fields hold a user, so that `me` can stand for the asking one. */
import type { Term } from '#state/questions.ts'
import type { Doctype } from '../platform/platform.ts'

const usual = /^(owner|modified_by)$|(^|_)(user|assignee|assigned_to)$/

/** True when a field holds a user's id: its name says so, or a rule or default of the doctype compares it with the asking user. */
export function holdsUser({ fields, rules }: Pick<Doctype, 'fields' | 'rules'>, name: string): boolean {
  const { type = 'text', defaultExpression: given } = fields.get(name) ?? {}
  if (type !== 'text' && type !== 'link') return false
  if (usual.test(name) || (given && isAsker(given.term))) return true
  return rules.some(({ when }) => when && compares(when.term, name))
}

function compares(term: Term, name: string): boolean {
  if (!('call' in term)) return false
  const fields = term.of.some((one) => 'field' in one && one.column === undefined && one.field === name)
  return (term.call === '=' && fields && term.of.some(isAsker)) || term.of.some((one) => compares(one, name))
}

function isAsker(term: Term): boolean {
  return 'user' in term && term.user === 'id'
}
