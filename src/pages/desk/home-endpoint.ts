/** The start page: what waits for the signed-in user and what they may want next, or how to connect. */
import type { Context } from 'koa'
import type { Needs } from '../../control/operation.ts'
import type { Principal } from '../../core/principal.ts'
import { searchDocuments } from '../../documents/asking/searching.ts'
import { assignedTo, changedLast } from '../../documents/mine.ts'
import { listReports } from '../../documents/reports/reports.ts'
import { pendingApprovals } from '../../documents/writing/workflow.ts'
import { findPrompts } from '../../library/prompt-methods.ts'
import { promptRows } from '../../library/prompts/prompt-rows.ts'
import { hasSecondFactor } from '#credentials/accounts.ts'
import type { SavedView, SignedIn } from '../../users/accounts.ts'
import { signedIn } from '../../users/browser-middleware.ts'
import { asked } from '#ui/requests.ts'
import { resourceOf } from '../../oauth/urls.ts'
import { shownCall } from '../documents/call-subject.ts'
import { type AccessDeps, accessesOf } from '../account/connected-apps-page.ts'
import { dashboardsFor, type UserPageDeps } from './desk-endpoint.ts'
import { looked } from '../documents/documents-endpoint.ts'
import { type PageRow, pages } from '../pages.ts'
import type { Showing } from '../route-page.ts'
import { principalAt } from '../session-middleware.ts'

/** The dependencies of the start page. */
export type HomeDeps = UserPageDeps & AccessDeps & Needs<'suspended' | 'accounts' | 'passwords' | 'librarian'>

const mostShown = 5
const mostFound = 30

/** Answers GET with the start page. */
export function homeEndpoint(deps: HomeDeps): Showing<'anybody'> {
  return async (ctx) => {
    const signed = await signedIn(ctx, deps)
    const goodbye = ctx.querystring === 'signed_out=1'
    const mcp = resourceOf(deps.publicUrl())
    const nobody = { user: '', goodbye, mcp, work: undefined, steps: [] }
    if (!signed) return nobody
    const steps = await stepsFor(signed, deps)
    const work = signed.user.assistantEnabled ? await workFor(ctx, signed, deps) : undefined
    return { ...nobody, user: signed.user, steps: steps.some(({ done }) => !done) ? steps : [], work }
  }
}

async function workFor(ctx: Context, signed: SignedIn, deps: HomeDeps) {
  const user = principalAt({ ...signed, ctx }, deps)
  const calls = (await deps.suspended.waitingFor(user.user)).map((call) => shownCall(call))
  ctx.state['waiting'] = calls.length
  const found = await looked(deps, user, {}, async (documents, principal) => {
    const [waiting, assigned, changed, dashboards] = await Promise.all([
      pendingApprovals(documents, principal, { limit: mostShown }),
      assignedTo(documents, principal, mostShown),
      changedLast(documents, principal, mostShown),
      documents.platform.doctypes.has('Dashboard') ? dashboardsOf(documents, principal) : [],
    ])
    return { waiting, assigned, changed, dashboards }
  })
  const views = (signed.account.views ?? []).filter(({ name }) => name !== '').flatMap(placed)
  return { calls, views, ...found }
}

/** Returns a view with what its list is called, and where it stands. */
function placed({ doctype, ...view }: SavedView) {
  const list = Object.values<PageRow>(pages).find(({ path }) => path === doctype)
  const word = list?.navigation ?? list?.tab
  if (doctype.startsWith('/') && word === undefined) return []
  const path = word === undefined ? `${pages.documents.path}/${encodeURIComponent(doctype)}` : doctype
  return [{ ...view, doctype, path, word: word ?? '' }]
}

async function dashboardsOf(...asked: Parameters<typeof dashboardsFor>): ReturnType<typeof dashboardsFor> {
  const [documents, principal] = asked
  const mayRead = documents.platform.doctypes
    .get('Dashboard')
    ?.rules.some(({ role, actions }) => principal.roles.has(role) && actions.has('read'))
  return mayRead ? (await dashboardsFor(documents, principal)).slice(0, mostShown) : []
}

/** Returns what somebody does first; each is ticked off by what they have done, not by themselves. */
async function stepsFor({ user }: SignedIn, deps: HomeDeps) {
  const account = await deps.accounts.of(user.id)
  const safe = { word: 'secure', path: pages.account.path, done: hasSecondFactor(account) }
  if (!user.assistantEnabled) return [safe]
  const apps = await accessesOf(user.id, deps)
  return [safe, { word: 'connect', path: pages.connect.path, done: apps.length > 0 }]
}

/** Answers GET with everything that has the words: documents, reports and prompts. */
export function searchEndpoint(deps: HomeDeps): Showing<'users'> {
  return async (ctx, user) => {
    const words = asked(ctx, 'words').slice(0, 500)
    const none = { words, documents: [], total: 0, reports: [], prompts: [] }
    if (!/[\p{L}\p{N}]/u.test(words)) return none
    const { documents } = deps.site.current()
    const view = { data: { question: { words } } }
    const found = await looked(deps, user, view, (own, principal) =>
      searchDocuments(own, principal, { words, limit: mostFound }),
    )
    return {
      words,
      documents: found.results,
      total: found.total,
      reports: listReports(documents, user)
        .filter(({ name, description }) => hasWords(`${name} ${description}`, words))
        .map(({ name, description }) => ({ name, description })),
      prompts: await promptsWith(deps, user, words),
    }
  }
}

async function promptsWith({ site, librarian }: HomeDeps, user: Principal, words: string) {
  const library = site.current().library.for(user)
  const isWanted = ({ status }: { readonly status: string }): boolean => status === 'Published'
  const { found, uses } = await findPrompts(library, librarian.usage, user, { query: words }, isWanted)
  return promptRows(user, found.slice(0, mostFound), uses)
}

function hasWords(text: string, words: string): boolean {
  const said = text.toLowerCase()
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => said.includes(word))
}
