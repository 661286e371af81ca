/** The people of a site as rows of a list. */
import { type HeldAsker, heldAskable, type Held, heldRows } from '../forms/held-rows.ts'

/** A person, as the command line lists them. */
interface ListedPerson {
  readonly user: string
  readonly full_name: string
  readonly enabled: boolean
  readonly assistant_enabled: number
  readonly roles: readonly string[]
  readonly has_password: boolean
}

/** Returns people as a list: its head, what can be asked, and its rows. */
export function listedPeople(
  people: readonly ListedPerson[],
  roles: readonly string[],
  said: (name: string) => string,
  by: HeldAsker,
) {
  const rows = people.map(({ user, ...one }) => ({
    ...one,
    id: user,
    name: user,
    assistant_enabled: one.assistant_enabled === 1,
    roles: one.roles.join(', '),
    several: one.roles.map((role) => ({ roles: role })),
  }))
  const head = { name: 'name', type: 'text', label: said('audit.user') } as const
  const held: Held = {
    head,
    fields: [
      head,
      { name: 'full_name', type: 'text', label: said('admin.full_name') },
      { name: 'roles', type: 'select', label: said('admin.roles'), options: roles },
      { name: 'enabled', type: 'check', label: said('admin.may_sign_in') },
      { name: 'assistant_enabled', type: 'check', label: said('admin.may_use_apps') },
      { name: 'has_password', type: 'check', label: said('admin.has_password') },
    ],
    usual: ['full_name', 'roles', 'enabled', 'assistant_enabled', 'has_password'],
    several: new Set(['roles']),
    order: [],
    rows: (words) => {
      const wanted = words.toLowerCase().split(/\s+/)
      return rows.filter(({ name, full_name, roles: their }) => {
        const text = [name, full_name, their].join('\n').toLowerCase()
        return wanted.every((word) => text.includes(word))
      })
    },
  }
  return { head, askable: heldAskable(held, said), source: heldRows(held, by) }
}
