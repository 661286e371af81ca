/** `/healthz` (does it live), `/readyz` (may it be sent requests, and what is degraded). Both answer when nothing else does. */
import type { Middleware } from 'koa'
import type { Analysis } from '../analysis/analysis.ts'
import type { AuditLog, AuditStats } from '../audit/open-audit.ts'
import { isoTime, type Clock } from '../core/clock.ts'
import type { Settings } from '../core/settings.ts'
import { version } from '../core/version.ts'
import type { ClientDocuments, DocumentProbe } from '../oauth/client-documents.ts'
import type { Clients } from '../oauth/clients.ts'
import type { Site } from '../site/kept-site.ts'
import { faultText } from '../site/site-files.ts'
import type { Store } from '../store/store.ts'

/** What load shedding and the main switch leave alone. */
export const healthPaths: ReadonlySet<string> = new Set(['/healthz', '/readyz'])

/** One thing that readiness depends on. */
export interface ReadinessCheck {
  readonly name: string
  /** `degraded`: requests are served, but not as they should be. `failed`: they should go elsewhere. */
  readonly status: 'ok' | 'degraded' | 'failed'
  readonly detail: string
}

/** What readiness is read from. */
export interface Vitals {
  readonly site: Pick<Site<{ readonly settings: Settings }>, 'current' | 'state'>
  readonly store: Pick<Store, 'stats'>
  readonly audit: Pick<AuditLog, 'stats'>
  readonly analysis: Pick<Analysis, 'probes'> | undefined
  readonly clientDocuments: Pick<ClientDocuments, 'probed'>
  readonly leaving: { readonly begun: boolean }
  readonly clients: Pick<Clients, 'places'>
  readonly pulling: { readonly state: { readonly problem: string; readonly ref: string } | undefined }
}

/** Answers while requests are accepted; tells what is wrong without telling strangers what is inside. */
export function healthEndpoint(
  vitals: Vitals & { readonly startedAt: number; readonly clock: Clock },
): Middleware {
  const { site, startedAt, clock } = vitals
  return async (ctx) => {
    const state = site.state()
    const problems = (await readiness(vitals))
      .filter(({ name, status }) => status !== 'ok' && telling.has(name))
      .map(({ name, detail }) => `${name}: ${detail}`)
    answer(ctx, 200, {
      status: problems.length === 0 ? 'ok' : 'degraded',
      version,
      uptime_seconds: Math.floor((clock.now() - startedAt) / 1000),
      site: {
        digest: state.digest.slice(0, 12),
        loaded_at: isoTime(state.loadedAt),
        faults: state.faults.map(faultText),
      },
      problems,
    })
  }
}

/** What makes `/healthz` say degraded; the rest is for `/readyz`. */
const telling = new Set(['site', 'store', 'audit'])

/** 200 while requests should be sent here, 503 when not; each check with what is stale or degraded. */
export function readinessEndpoint(vitals: Vitals): Middleware {
  return async (ctx) => {
    const checks = await readiness(vitals)
    const failed = checks.some(({ status }) => status === 'failed')
    const degraded = checks.some(({ status }) => status === 'degraded')
    if (failed) ctx.set('Retry-After', '5')
    answer(ctx, failed ? 503 : 200, {
      status: failed ? 'not_ready' : degraded ? 'degraded' : 'ready',
      checks,
    })
  }
}

/** How everything stands that a request may need. */
export async function readiness({
  site,
  store,
  audit,
  analysis,
  clientDocuments,
  leaving,
  clients,
  pulling,
}: Vitals): Promise<readonly ReadinessCheck[]> {
  const state = site.state()
  const { enabled } = site.current().settings.server
  const auditing = await audit.stats()
  const { fault, clock, building = 0 } = store.stats()
  const unsent = auditing.forwards.filter(({ fault }) => fault !== undefined)
  const limited = (analysis?.probes ?? []).filter(({ ok }) => !ok)
  return [
    check('stopping', !leaving.begun, 'failed', 'no', 'the service is stopping; send requests elsewhere'),
    check('switch', enabled, 'failed', 'on', 'the server is switched off (server.enabled)'),
    check(
      'site',
      state.faults.length === 0,
      'degraded',
      `the reading of ${isoTime(state.loadedAt)} is in use`,
      'the last edit was rejected; the last good one is in use',
    ),
    ...pullChecks(pulling),
    check(
      'store',
      fault === undefined,
      'failed',
      `can be written${building > 0 ? `; ${building} indexes are being built` : ''}`,
      'writes fail',
    ),
    check('clock', clock === undefined, 'degraded', "agrees with the state's", clock ?? ''),
    auditCheck(auditing),
    check(
      'audit_forward',
      unsent.length === 0,
      'degraded',
      auditing.forwards.length === 0 ? 'nothing is forwarded' : 'events are forwarded',
      'events cannot be forwarded; they are in the log',
    ),
    check(
      'analysis',
      limited.length === 0,
      'degraded',
      'works',
      `not available on this machine: ${limited.map(({ name }) => name).join(', ')}`,
    ),
    placesCheck(clients.places),
    documentsCheck(site.current().settings, clientDocuments.probed),
  ]
}

/** Only of a site that is pulled. */
function pullChecks({ state }: Vitals['pulling']): readonly ReadinessCheck[] {
  if (state === undefined) return []
  const { ref, problem } = state
  const bad = `what ${ref} stands on is not in use; the log and status say why`
  return [check('site_pull', problem === '', 'degraded', `${ref} is checked out`, bad)]
}

function auditCheck({ fault, losses, on_reserve: onReserve }: AuditStats): ReadinessCheck {
  const bad =
    fault !== undefined
      ? 'the log cannot be written'
      : onReserve
        ? 'the disk is full: reading goes on from a reserve, what changes data is refused'
        : 'what had been written to the log is missing; audit verify says what'
  const isWell = fault === undefined && !onReserve && losses.length === 0
  // A loss that somebody has to answer for is a fault: what looks at the status only must see it.
  const otherwise = fault !== undefined || losses.length > 0 ? 'failed' : 'degraded'
  return check('audit', isWell, otherwise, 'can be written', bad)
}

function placesCheck({ taken, most, nearlyFull }: Clients['places']): ReadinessCheck {
  const of = `${taken} of ${most} places for clients are taken`
  return check(
    'clients',
    !nearlyFull,
    'degraded',
    of,
    `${of}: look who registered (clients list), raise oauth.max_clients or prune`,
  )
}

/** No way out to the documents is nothing wrong, unless the settings tell clients that there is one. */
function documentsCheck({ oauth }: Settings, probed: DocumentProbe | undefined): ReadinessCheck {
  const mode = oauth.client_id_metadata_documents
  const name = 'client_documents'
  if (mode === false)
    return { name, status: 'ok', detail: 'clients register themselves (the settings say so)' }
  if (!probed) return { name, status: 'ok', detail: 'whether they can be fetched is being tried' }
  const tried = isoTime(probed.at)
  if (probed.fetched !== undefined)
    return {
      name,
      status: 'ok',
      detail: [`${probed.fetched} was fetched at ${tried}`, ...probed.failed].join('; not '),
    }
  const why = `none could be fetched at ${tried} (${probed.failed.join('; ')})`
  const remedy = 'let the service reach these hosts or set oauth.egress_proxy'
  return mode === 'auto'
    ? { name, status: 'ok', detail: `${why}; clients register themselves instead. To change that, ${remedy}` }
    : {
        name,
        status: 'degraded',
        detail: `${why}; only clients that this program or oauth.client_documents has a copy of can connect: ${remedy}, or set oauth.client_id_metadata_documents to auto`,
      }
}

function check(
  name: string,
  ok: boolean,
  otherwise: 'degraded' | 'failed',
  good: string,
  bad: string,
): ReadinessCheck {
  return ok ? { name, status: 'ok', detail: good } : { name, status: otherwise, detail: bad }
}

function answer(ctx: Parameters<Middleware>[0], status: number, body: unknown): void {
  ctx.set('Cache-Control', 'no-store')
  ctx.status = status
  ctx.type = 'application/json'
  ctx.body = JSON.stringify(body)
}
