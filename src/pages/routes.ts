/** The answers of each page of the table. */
import type { Router } from '@koa/router'
import {
  authorizationEndpoint,
  decisionEndpoint,
  type AuthorizationDeps,
} from '../oauth/endpoints/authorization-endpoint.ts'
import type { Services } from '../house/services.ts'
import type { Needs } from '../control/operation.ts'
import { accountPage } from './account/account-page.ts'
import { adminClientsPage } from './admin/admin-clients-page.ts'
import { adminFilesPage } from './admin/admin-files-page.ts'
import { adminHealthPage } from './admin/admin-health-page.ts'
import { adminPeoplePage, exportPeopleEndpoint } from './admin/admin-people-page.ts'
import { adminSettingsPage } from './admin/admin-settings-page.ts'
import { adminToolPage } from './admin/admin-tool-page.ts'
import { adminToolsPage } from './admin/admin-tools-page.ts'
import { approvalEndpoint, approvalListEndpoint } from './documents/approvals-endpoint.ts'
import { auditStreamEndpoint } from './admin/audit-stream-endpoint.ts'
import { authorizationPages } from './account/authorization-pages.ts'
import { iconEndpoint, pinnedEndpoint } from '#ui/pages.ts'
import { icons, logoEndpoint, promptEditor, scriptEndpoint, stylesheetEndpoint } from './assets-endpoint.ts'
import { auditEndpoint, auditExportEndpoint } from './admin/audit-endpoint.ts'
import { bundleEndpoint, connectPage } from './account/connect-page.ts'
import { connectedAppsPage } from './account/connected-apps-page.ts'
import { pictureEndpoint } from './desk/desk-endpoint.ts'
import { dashboardPage, deskPage } from './desk/desk-pages.ts'
import { documentFormPage } from './documents/document-form-page.ts'
import { documentPage } from './documents/document-page.ts'
import {
  doctypesEndpoint,
  exportEndpoint,
  fileEndpoint,
  suggestionsEndpoint,
} from './documents/documents-endpoint.ts'
import { homeEndpoint, searchEndpoint } from './desk/home-endpoint.ts'
import { oneTimeLinkEndpoint } from './account/one-time-link-endpoint.ts'
import { pageEndpoint } from './page-endpoint.ts'
import { type PageRow, type PageName, pages } from './pages.ts'
import { promptEditorPage } from './prompts/prompt-editor-page.ts'
import { promptHistoryPage, promptPage } from './prompts/prompt-page.ts'
import { exportPromptsEndpoint, promptsPage } from './prompts/prompts-page.ts'
import { newChartPage } from './desk/new-chart-page.ts'
import { recordsPage } from './documents/records-page.ts'
import { reportEndpoint, reportFileEndpoint, reportsEndpoint } from './documents/reports-endpoint.ts'
import { type AnswersOf, routePage } from './route-page.ts'
import { passkeyEndpoint, secondStepEndpoint } from './account/second-step-endpoint.ts'
import { signInEndpoint, signOutEndpoint } from './account/sign-in-endpoint.ts'
import { skillEndpoint, skillsEndpoint } from './prompts/skills-endpoint.ts'
import { upstreamCallbackEndpoint, upstreamEndpoint } from './account/upstream-endpoint.ts'

type Table = { readonly [Name in PageName]: (deps: never) => AnswersOf<(typeof pages)[Name]> }

/** The maker of each page by the name of its row; it takes the page's dependencies. */
export const answers = {
  home: homeEndpoint,
  search: searchEndpoint,
  approvals: approvalListEndpoint,
  approval: approvalEndpoint,
  desk: deskPage,
  chart: pictureEndpoint,
  dashboard: dashboardPage,
  newChart: newChartPage,
  documents: doctypesEndpoint,
  records: recordsPage,
  record: documentPage,
  changeDocument: documentFormPage,
  newDocument: documentFormPage,
  exportRecords: exportEndpoint,
  suggestions: suggestionsEndpoint,
  file: fileEndpoint,
  reports: reportsEndpoint,
  report: reportEndpoint,
  reportFile: reportFileEndpoint,
  prompts: promptsPage,
  exportPrompts: exportPromptsEndpoint,
  promptEditor: promptEditorPage,
  promptHistory: promptHistoryPage,
  prompt: promptPage,
  newPrompt: promptEditorPage,
  skills: skillsEndpoint,
  skill: skillEndpoint,
  skillFile: skillEndpoint,
  audit: auditEndpoint,
  auditStream: auditStreamEndpoint,
  auditExport: auditExportEndpoint,
  admin: adminHealthPage,
  adminPeople: adminPeoplePage,
  exportPeople: exportPeopleEndpoint,
  adminTools: adminToolsPage,
  adminTool: adminToolPage,
  adminClients: adminClientsPage,
  adminSettings: adminSettingsPage,
  adminFiles: adminFilesPage,
  connect: connectPage,
  bundle: bundleEndpoint,
  connectedApps: connectedAppsPage,
  account: accountPage,
  signOut: signOutEndpoint,
  signIn: signInEndpoint,
  signInUpstream: upstreamEndpoint,
  signInUpstreamCallback: upstreamCallbackEndpoint,
  signInPasskey: passkeyEndpoint,
  secondStep: secondStepEndpoint,
  oneTimeLink: oneTimeLinkEndpoint,
  consent: (deps: AuthorizationDeps & Needs<'render'>) => ({
    get: authorizationEndpoint(deps, authorizationPages(deps.render)),
    post: decisionEndpoint(deps),
  }),
  stylesheet: ({ settings }: Needs<'settings'>) => ({ file: stylesheetEndpoint(settings) }),
  script: () => ({ file: scriptEndpoint() }),
  promptEditorScript: () => ({ file: pinnedEndpoint(promptEditor) }),
  logo: ({ site }: Needs<'site'>) => ({ file: logoEndpoint(site) }),
  icon: () => ({ file: iconEndpoint(icons) }),
  favicon: () => ({ file: iconEndpoint(icons, 'server.png') }),
} as const satisfies Table

/** Routes every page of the table; those that the main switch closes get a router of their own, so that others bypass it. */
export function routePages(
  { open, switched }: { readonly open: Router; readonly switched: Router },
  services: Services,
): void {
  for (const [name, page] of Object.entries(pages) as [PageName, PageRow][])
    routePage(page.closes ? switched : open, page, answers[name](services), services)
}

/** Returns the page that answers authorization requests and takes the decision, and where, to be shown outside Koa. */
export function authorizationPage(services: Services) {
  const { path, alias } = pages.consent
  const { get, post } = answers.consent(services)
  const { render } = services
  return [[path, alias], { get: pageEndpoint(render, get), post: pageEndpoint(render, post) }] as const
}
