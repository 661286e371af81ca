/** The people of a site as rows of a list. */
import { type HeldAsker, heldList } from '../held-rows.ts'

/** A person, as the command line lists them. */
interface ListedPerson {
  readonly user: string
  readonly full_name: string
  readonly enabled: boolean
  readonly assistant_enabled: number
  readonly roles: readonly string[]
  readonly has_password: boolean
}

/** Returns people as a list. */
export function listedPeople(people: readonly ListedPerson[], roles: readonly string[], by: HeldAsker) {
  const { text } = by.reader.messages
  const rows = people.map(({ user, ...one }) => ({
    ...one,
    id: user,
    name: user,
    assistant_enabled: one.assistant_enabled === 1,
    roles: one.roles.join(', '),
    several: one.roles.map((role) => ({ roles: role })),
  }))
  return heldList(
    {
      fields: [
        { name: 'name', type: 'text', label: text('audit.user') },
        { name: 'full_name', type: 'text', label: text('admin.full_name') },
        { name: 'roles', type: 'select', label: text('admin.roles'), options: roles },
        { name: 'enabled', type: 'check', label: text('admin.may_sign_in') },
        { name: 'assistant_enabled', type: 'check', label: text('admin.may_use_apps') },
        { name: 'has_password', type: 'check', label: text('admin.has_password') },
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
    },
    by,
  )
}
