/** The table of all pages, read by the router, main switch, metrics, navigation, and the tests and pictures of all pages. */
import { iconsPath } from '../core/icons.ts'
import { mayAtBrowser } from '../core/effects.ts'
import { aliases, paths } from '../oauth/urls.ts'
import type { User } from '../users/people.ts'

/** The audiences that a page may be for. */
const audiences = {
  anybody: () => true,
  signedIn: () => true,
  users: (user: User) => user.assistantEnabled,
  auditors: (user: User) => mayAtBrowser(user, 'read_log'),
  administrators: (user: User) => mayAtBrowser(user, 'administer'),
} as const

/** A row of the table: a page, or a file that pages load or offer. */
export interface PageRow {
  /** The path, perhaps with parameters, such as `/prompts/:id`. */
  readonly path: string
  /** Another path to the page. */
  readonly alias?: string
  /** The view that draws it; a file and a step on the way have none. */
  readonly view?: string
  /** The audience. Others sign in first, are told that they may not, or, at pages for administrators, find nothing. */
  readonly for: keyof typeof audiences
  /** The name in the navigation, for the audience. */
  readonly navigation?: string
  /** The group of the navigation in which it stands, when that is not the work itself. */
  readonly group?: 'control' | 'own'
  /** The name among the pages of the administration. */
  readonly tab?: string
  /** True when `server.enabled: false` closes it, as it closes the endpoints for programs. */
  readonly closes?: true
}

/** The table, in the order of the navigation. A row without an entry in `routes.ts` does not compile. */
export const pages = {
  home: { path: '/', view: 'home', for: 'anybody', navigation: 'navigation.home' },
  search: { path: '/search', view: 'search', for: 'users' },
  approvals: {
    path: '/approvals',
    view: 'approvals',
    for: 'users',
    navigation: 'navigation.approvals',
  },
  approval: { path: '/approvals/:id', view: 'approval', for: 'users' },
  desk: { path: '/desk', view: 'desk', for: 'users', navigation: 'navigation.dashboards' },
  chart: { path: '/desk/charts/:id', for: 'users' },
  newChart: { path: '/new-chart', view: 'new-chart', for: 'users' },
  dashboard: { path: '/desk/:id', view: 'dashboard', for: 'users' },
  documents: { path: '/documents', view: 'documents', for: 'users', navigation: 'navigation.documents' },
  records: { path: '/documents/:doctype', view: 'records', for: 'users' },
  record: { path: '/documents/:doctype/:name', view: 'record', for: 'users' },
  changeDocument: { path: '/documents/:doctype/:name/edit', view: 'document-form', for: 'users' },
  newDocument: { path: '/new-document/:doctype', view: 'document-form', for: 'users' },
  exportRecords: { path: '/exports/:doctype', for: 'users' },
  suggestions: { path: '/suggestions/:doctype', for: 'users' },
  file: { path: '/documents/:doctype/:name/files/:id', for: 'users' },
  reports: { path: '/reports', view: 'reports', for: 'users', navigation: 'navigation.reports' },
  report: { path: '/reports/:name', view: 'report', for: 'users' },
  reportFile: { path: '/reports/:name/:format', for: 'users' },
  prompts: { path: '/prompts', view: 'prompts', for: 'users', navigation: 'navigation.prompts' },
  exportPrompts: { path: '/export-prompts', for: 'users' },
  promptEditor: { path: '/prompts/:id/edit', view: 'prompt-editor', for: 'users' },
  promptHistory: { path: '/prompts/:id/history', view: 'prompt-history', for: 'users' },
  prompt: { path: '/prompts/:id', view: 'prompt', for: 'users' },
  newPrompt: { path: '/new-prompt', view: 'prompt-editor', for: 'users' },
  skills: { path: '/skills', view: 'skills', for: 'users', navigation: 'navigation.skills' },
  skill: { path: '/skills/:name', view: 'skill', for: 'users' },
  skillFile: { path: '/skills/:name/files/{*path}', view: 'skill', for: 'users' },
  audit: { path: '/audit', view: 'audit', for: 'auditors', navigation: 'navigation.audit', group: 'control' },
  auditStream: { path: '/audit/live', for: 'auditors' },
  auditExport: { path: '/audit/:file', for: 'auditors' },
  admin: {
    path: '/admin',
    view: 'admin-health',
    for: 'administrators',
    navigation: 'navigation.admin',
    group: 'control',
    tab: 'admin.health',
  },
  adminPeople: { path: '/admin/people', view: 'admin-people', for: 'administrators', tab: 'admin.people' },
  exportPeople: { path: '/admin/export-people', for: 'administrators' },
  adminTools: { path: '/admin/tools', view: 'admin-tools', for: 'administrators', tab: 'admin.tools' },
  adminTool: { path: '/admin/tools/:name', view: 'admin-tool', for: 'administrators' },
  adminClients: {
    path: '/admin/clients',
    view: 'admin-clients',
    for: 'administrators',
    tab: 'admin.clients',
  },
  adminSettings: {
    path: '/admin/settings',
    view: 'admin-settings',
    for: 'administrators',
    tab: 'admin.settings',
  },
  adminFiles: { path: '/admin/files', view: 'admin-files', for: 'administrators', tab: 'admin.files' },
  connect: {
    path: '/connect',
    view: 'connect',
    for: 'users',
    navigation: 'navigation.connect',
    group: 'own',
  },
  bundle: { path: '/connect/assistant-core.mcpb', for: 'users' },
  connectedApps: {
    path: '/connected-apps',
    view: 'connected-apps',
    for: 'signedIn',
    navigation: 'navigation.connected_apps',
    group: 'own',
  },
  account: {
    path: '/account',
    view: 'account',
    for: 'signedIn',
    navigation: 'navigation.account',
    group: 'own',
  },
  signOut: {
    path: '/sign-out',
    view: 'sign-out',
    for: 'anybody',
    navigation: 'navigation.sign_out',
    group: 'own',
  },
  signIn: { path: '/sign-in', view: 'sign-in', for: 'anybody' },
  signInUpstream: { path: '/sign-in/oidc', for: 'anybody' },
  signInUpstreamCallback: { path: '/sign-in/oidc/callback', for: 'anybody' },
  signInPasskey: { path: '/sign-in/passkey', view: 'passkey', for: 'anybody' },
  secondStep: { path: '/sign-in/second', view: 'second-step', for: 'anybody' },
  oneTimeLink: { path: '/choose-password', view: 'choose-password', for: 'anybody' },
  consent: {
    path: paths.authorize,
    alias: aliases.authorize,
    view: 'consent',
    for: 'anybody',
    closes: true,
  },
  stylesheet: { path: '/assets/pages.css', for: 'anybody' },
  script: { path: '/assets/page.mjs', for: 'anybody' },
  promptEditorScript: { path: '/assets/prompt-editor/:file', for: 'anybody' },
  logo: { path: '/assets/logo', for: 'anybody' },
  icon: { path: `${iconsPath}:name`, for: 'anybody' },
  favicon: { path: '/favicon.ico', for: 'anybody' },
} as const satisfies Record<string, PageRow>

/** The name of a row. */
export type PageName = keyof typeof pages

const rows: readonly PageRow[] = Object.values(pages)

/** True when the page is for this user. */
export function isFor(page: PageRow, user: User): boolean {
  return audiences[page.for](user)
}

const groups = ['work', 'control', 'own'] as const

/** A group of the navigation. */
export interface NavigationGroup {
  readonly name: (typeof groups)[number]
  readonly pages: readonly {
    readonly path: string
    readonly name: string
    readonly current: '' | 'page' | 'true'
  }[]
}

/** Pages that belong to one of the navigation, but do not lie below it, by the first part of their paths. */
const within: Readonly<Record<string, string>> = {
  'new-prompt': 'prompts',
  'new-document': 'documents',
  'new-chart': 'desk',
  search: '',
}

const rootOf = (path: string): string => path.split('/', 2)[1] ?? ''

/** The rows of the navigation, in its groups. */
const navigable = groups.map((name) => ({
  name,
  rows: rows.flatMap((row) => {
    const { navigation, group = 'work' } = row
    return navigation !== undefined && group === name ? [{ row, navigation, root: rootOf(row.path) }] : []
  }),
}))

/** Returns the pages to which this user may go, in groups, and which of them they are at or below. */
export function navigationFor(user: User, here: string): readonly NavigationGroup[] {
  const below = within[rootOf(here)] ?? rootOf(here)
  return navigable.flatMap(({ name, rows }) => {
    const own = rows
      .filter(({ row }) => isFor(row, user))
      .map(({ row: { path }, navigation, root }) => {
        const current = path === here ? 'page' : root === below ? 'true' : ''
        return { path, name: navigation, current } as const
      })
    return own.length > 0 ? [{ name, pages: own }] : []
  })
}

/** The pages of the administration, in the order of their tabs. */
export const tabs = rows.flatMap(({ path, tab }) => (tab === undefined ? [] : [{ path, name: tab }]))

/** True when a path is a page's, or lies below one: metrics count them together. */
export function isOfPages(path: string): boolean {
  return openRoots.has(rootOf(path))
}

/** True when a sign-in may lead to the path: only to pages that somebody signs in for. */
export function isBehindSignIn(path: string): boolean {
  const { home, consent } = pages
  const own: readonly string[] = [home.path, consent.path, consent.alias]
  return own.includes(path) || (/^(\/[\w%.~-]+)+$/.test(path) && signedInRoots.has(rootOf(path)))
}

const rootsOf = (some: readonly PageRow[]): ReadonlySet<string> =>
  new Set(some.map(({ path }) => rootOf(path)))
const openRoots = rootsOf(rows.filter(({ closes }) => !closes))
const signedInRoots = rootsOf(rows.filter((page) => page.for !== 'anybody'))
