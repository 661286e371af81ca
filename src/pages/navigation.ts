/** Where a user may go: the one list of the pages, by what each may do. */
import { assistantAdmin, auditor, hasRole } from '../core/principal.ts'
import { paths } from '../oauth/urls.ts'
import type { User } from '../users/people.ts'

interface Destination {
  readonly path: string
  /** Its name in the messages. */
  readonly name: string
  readonly isFor?: (user: User) => boolean
}

const destinations: readonly Destination[] = [
  { path: paths.home, name: 'navigation.home' },
  { path: paths.approvals, name: 'navigation.approvals', isFor: (user) => user.assistantEnabled },
  { path: paths.desk, name: 'navigation.dashboards', isFor: (user) => user.assistantEnabled },
  { path: paths.documents, name: 'navigation.documents', isFor: (user) => user.assistantEnabled },
  { path: paths.prompts, name: 'navigation.prompts', isFor: (user) => user.assistantEnabled },
  { path: paths.skills, name: 'navigation.skills', isFor: (user) => user.assistantEnabled },
  { path: paths.audit, name: 'navigation.audit', isFor: (user) => hasRole(user, auditor) },
  { path: paths.admin, name: 'navigation.admin', isFor: (user) => hasRole(user, assistantAdmin) },
  { path: paths.connect, name: 'navigation.connect', isFor: (user) => user.assistantEnabled },
  { path: paths.connectedApps, name: 'navigation.connected_apps' },
  { path: paths.account, name: 'navigation.account' },
  { path: paths.signOut, name: 'navigation.sign_out' },
]

/** The pages that are for this user. */
export function navigationFor(user: User): readonly Pick<Destination, 'path' | 'name'>[] {
  return destinations.filter(({ isFor }) => isFor?.(user) ?? true)
}
