/** The desk: dashboards and charts that tools stored, drawn over what the user who looks may read now. */
import type { Needs } from '../../control/operation.ts'
import { AppError } from '#leaf/errors.ts'
import { FairQueue } from '#leaf/fair-queue.ts'
import { isAvailable, type ChartImage, type ChartPoint } from '#sandbox/sandbox.ts'
import { filtersBehind, filtersOfPoint } from '../../analysis/behind.ts'
import { type ChartDefinition, timespans } from '../../analysis/chart-definition.ts'
import type { Principal } from '../../core/principal.ts'
import { type DocumentView, getDocument, listDocuments } from '../../documents/asking/reading.ts'
import { accessFor, type Documents } from '../../documents/documents.ts'
import type { Access } from '../../documents/permission.ts'
import { calculateStored, drawStored, itemsOf, sharingOf } from '../../tools/analysing/dashboards.ts'
import type { BrowserDeps } from '../../users/browser-middleware.ts'
import { asked, pathPart } from '#ui/requests.ts'
import { type Mark, type Marks, chartMarks, picture } from './chart-marks.ts'
import { pages } from '../pages.ts'
import type { Showing } from '../route-page.ts'
import type { SessionDeps } from '../session-middleware.ts'
import { lookedAt, viewed } from '../documents/viewing.ts'

/** The dependencies of a page for users. */
export type UserPageDeps = BrowserDeps & SessionDeps & Needs<'audit' | 'site' | 'render'>

/** The dependencies of the desk's pages. */
export type DeskDeps = UserPageDeps & Needs<'suspended' | 'analysis' | 'clock'>

/** A timespan that its reader wants for all charts. */
type Period = ChartDefinition['timespan']

interface Moment {
  readonly now: number
  readonly period: Period
}

/** How a chart is calculated for a page, and the most numbers that it lists. */
type Look = Moment & { readonly most: number }

interface ChartInWords {
  readonly id: string
  readonly name: string
  readonly points: readonly (ChartPoint & {
    readonly link: string | undefined
    readonly mark: Mark | undefined
  })[]
  readonly way: Marks['way']
  readonly more: number
  readonly link: string
  readonly timespan: string
}

/** The most charts of which a form lets one choose. */
export const mostChosen = 50
const mostDashboards = 200
/** The most numbers that a page lists and draws; charts share them, and what has more is a picture. */
const mostNumbers = 200
/** The most pictures that a browser asks for with a page; those of further charts come when somebody opens them. */
const mostPictures = 3
/** Seconds that drawing one picture of a page may take. */
const pageSeconds = 5
/** A browser asks for all pictures of a page at once: of each user one is counted and drawn at a time. */
const pictures = new FairQueue(2)

/** Answers GET with the picture of one chart. */
export function pictureEndpoint(deps: DeskDeps): Showing<'users'> {
  return async (ctx, user) => {
    const image = await pictureFor(deps, user, pathPart(ctx, 'id'), {
      dark: 'dark' in ctx.query,
      narrow: 'narrow' in ctx.query,
      timespan: timespans.find((one) => one === asked(ctx, 'period')),
      signal: lookedAt(ctx),
    })
    ctx.status = 200
    ctx.type = image.mimeType
    ctx.etag = image.id
    // The browser keeps it, but asks each time: what the user may see may have changed.
    ctx.set('Cache-Control', 'private, no-cache')
    if (ctx.get('If-None-Match') === ctx.response.get('ETag')) ctx.status = 304
    else ctx.body = Buffer.from(image.data, 'base64')
  }
}

/** Returns the dashboards that the principal may see. */
export async function dashboardsFor(documents: Documents, principal: Principal) {
  const { data } = await listDocuments(documents, principal, {
    doctype: 'Dashboard',
    fields: ['name', 'dashboard_name', 'owner'],
    orderBy: 'modified desc',
    limit: mostDashboards,
  })
  return data.map(rowOf)
}

/** Returns the charts that the principal may see, the newest first, as many as a form shows. */
export async function chartsFor(documents: Documents, principal: Principal) {
  const { data } = await listDocuments(documents, principal, {
    doctype: 'Dashboard Chart',
    fields: ['name', 'chart_name', 'document_type'],
    orderBy: 'modified desc',
    limit: mostChosen,
  })
  return data.map((view) => ({
    id: String(view['name']),
    name: String(view['chart_name']),
    of: String(view['document_type']),
  }))
}

/** Returns one dashboard with the numbers of its charts. AppError `not_found`. */
export async function dashboardOfDesk(documents: Documents, principal: Principal, id: string, at: Moment) {
  const view = await getDocument(documents, principal, 'Dashboard', id)
  const charts = []
  let drawn = 0
  const items = itemsOf(view)
  const look = { ...at, most: Math.floor(mostNumbers / Math.max(1, items.length)) }
  // One after the other: each may count very many documents, and the database has others to answer.
  for (const [place, { chart: name }] of items.entries()) {
    const chart = await storedChart(documents, principal, name, look)
    if (chart?.way === 'picture' && chart.points.length > 0) drawn++
    if (chart) charts.push({ ...chart, place, isFolded: chart.way === 'picture' && drawn > mostPictures })
  }
  return { ...rowOf(view), modified: String(view['modified']), sharing: sharingOf(view), charts }
}

function rowOf(view: DocumentView) {
  return {
    id: String(view['name']),
    name: String(view['dashboard_name']),
    owner: String(view['owner']),
  }
}

/** Draws the picture of a chart. AppError `not_found` for one that is not shared with the user, `unavailable`. */
async function pictureFor(
  { analysis, audit, clock, site }: DeskDeps,
  user: Principal,
  chart: string,
  {
    signal,
    timespan,
    ...look
  }: {
    readonly dark: boolean
    readonly narrow: boolean
    readonly signal: AbortSignal
    readonly timespan: Period
  },
): Promise<ChartImage> {
  const charts = analysis?.charts
  if (!charts || !isAvailable(charts)) throw new AppError('unavailable', 'this server cannot draw charts')
  const view = { type: 'chart.view', target: `Dashboard Chart/${chart}`, signal }
  return await pictures.use({ user: user.user, signal }, async (until) => {
    const { image } = await viewed(audit, user, view, (principal) => {
      const { documents } = site.current()
      const seen = { look: { seconds: pageSeconds, ...look }, ...(timespan && { timespan }) }
      const looker = { principal, documents, signal: until, ...seen }
      return drawStored(looker, charts, chart, clock.now())
    })
    return image
  })
}

/** Returns a chart in words, with what lists the documents behind it; undefined for one that is not shared with the user. */
async function storedChart(
  documents: Documents,
  principal: Principal,
  id: string,
  { now, period, most }: Look,
): Promise<ChartInWords | undefined> {
  try {
    const { definition, kept, points } = await calculateStored({ principal, documents }, id, now, period)
    const access = accessFor(documents, principal, definition.doctype)
    return { id, ...chartInWords(access, definition, { points, kept, now, most }) }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    if (error.code === 'not_found') return undefined
    // A chart that cannot be calculated says so in the place of its picture.
    const { chart_name } = await getDocument(documents, principal, 'Dashboard Chart', id)
    return { id, name: String(chart_name), points: [], way: 'picture', more: 0, link: '', timespan: '' }
  }
}

/** Returns a calculated chart in words: what stands where, and what lists the documents behind it and behind each point. */
export function chartInWords(
  access: Access,
  definition: ChartDefinition,
  {
    points,
    kept,
    now,
    most = mostNumbers,
  }: {
    readonly points: readonly ChartPoint[]
    readonly kept?: unknown
    readonly now: number
    readonly most?: number
  },
): Omit<ChartInWords, 'id'> {
  const { doctype, chart_name: name, timespan } = definition
  const whole = filtersBehind(access, definition, now)
  const { way, marks } = points.length > most ? picture : chartMarks(definition, points, kept)
  const listed = points.slice(0, most).map((point, index) => {
    const own = filtersOfPoint(access, definition, point.label)
    return { ...point, link: own && listOf(doctype, [...whole, ...own]), mark: marks[index] }
  })
  const more = Math.max(0, points.length - most)
  return { name, points: listed, way, more, link: listOf(doctype, whole), timespan: timespan ?? '' }
}

function listOf(doctype: string, filters: readonly unknown[]): string {
  const query = filters.length > 0 ? new URLSearchParams({ filters: JSON.stringify(filters) }) : 'words='
  return `${pages.documents.path}/${encodeURIComponent(doctype)}?${query.toString()}`
}
