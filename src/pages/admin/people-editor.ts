/** People in the browser: who is invited, let in, shut out, and given a role; all of it stands in `config/users.yaml`. */
import { type Document, isMap, isSeq, type YAMLMap } from 'yaml'
import { AppError } from '#leaf/errors.ts'
import type { User } from '../../users/people.ts'
import { usersFile } from '../../users/read-people.ts'
import type { TypedField } from '#ui/forms.ts'
import type { createSiteEditor } from './site-editor.ts'

/** What a form changes of what the file says of a person, in its words. */
export interface PersonEntry {
  readonly email: string
  readonly full_name?: string | null
  readonly enabled?: boolean
  readonly assistant_enabled?: boolean
  readonly roles?: readonly string[]
}

/** Returns the fields of the form for a person; a new one also has an address. */
export function personFields(
  roles: readonly string[],
  isNew: boolean,
  word: (name: string) => string,
): TypedField[] {
  const email = {
    name: 'email',
    label: word('sign_in.email'),
    kind: 'line',
    required: true,
    longest: 254,
  } as const
  return [
    ...(isNew ? [email] : []),
    { name: 'full_name', label: word('admin.full_name'), kind: 'line', required: true, longest: 140 },
    { name: 'enabled', label: word('admin.may_sign_in'), kind: 'flag' },
    { name: 'assistant_enabled', label: word('admin.may_use_apps'), kind: 'flag' },
    { name: 'roles', label: word('admin.roles'), kind: 'several', options: roles },
  ]
}

/** Writes what a form says of a person into the file, of which everything else stays as it is; returns the commit. */
export function savePerson(
  editor: ReturnType<typeof createSiteEditor>,
  by: User,
  entry: PersonEntry,
  isNew: boolean,
): Promise<string> {
  return editor.change(by, usersFile, (document) => writePerson(document, entry, isNew))
}

function writePerson(document: Document, entry: PersonEntry, isNew: boolean): void {
  const users = document.get('users')
  if (!isSeq(users)) throw new AppError('invalid', 'the file of users cannot be read')
  const same = (item: unknown): item is YAMLMap =>
    isMap(item) && String(item.get('email')).toLowerCase() === entry.email.toLowerCase()
  const found = users.items.find(same)
  const taken = 'email: there is somebody of this address'
  if (isNew && found) throw new AppError('invalid', taken, { data: { problems: [taken] } })
  if (!isNew && !found) throw new AppError('not_found', 'nothing is at this address')
  const { email, full_name, enabled, assistant_enabled, roles } = entry
  const uses = assistant_enabled ? 1 : 0
  if (found) {
    if (full_name !== undefined) setIn(found, 'full_name', full_name ?? '')
    // What is as it is without being said need not be said.
    if (enabled) found.delete('enabled')
    else if (enabled === false) found.set('enabled', false)
    if (assistant_enabled !== undefined) setIn(found, 'assistant_enabled', uses)
    if (roles) found.set('roles', document.createNode(roles))
  } else {
    const shutOut = enabled ? {} : { enabled: false }
    const added = { email, full_name: full_name ?? '', ...shutOut, assistant_enabled: uses, roles }
    users.add(document.createNode(added))
  }
}

function setIn(entry: YAMLMap, name: string, value: unknown): void {
  if (entry.get(name) !== value) entry.set(name, value)
}
