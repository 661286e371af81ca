/** `/healthz` (does it live), `/readyz` (may it be sent requests, and what is degraded). Both answer when nothing else does. */
import type { Context, Middleware } from 'koa'
import type { Analysis } from '#sandbox/sandbox.ts'
import type { AuditCondition, AuditLog, AuditStats } from '#audit/operations.ts'
import { isoTime, type Clock } from '#leaf/clock.ts'
import type { Settings } from '../core/settings.ts'
import { version } from '../core/version.ts'
import type { ClientDocuments, DocumentProbe } from '../oauth/clients/client-documents.ts'
import type { Clients } from '../oauth/clients/clients.ts'
import type { Site } from '#site/site.ts'
import { type Fault, faultText } from '#site/site-files.ts'
import type { Store } from '#state/store.ts'
import { answerJson } from '#ui/requests.ts'

/** Paths that load shedding and the main switch leave alone. */
export const healthPaths: ReadonlySet<string> = new Set(['/healthz', '/readyz'])

/** One condition of readiness. */
export interface ReadinessCheck {
  readonly name: string
  /** `degraded`: requests are served, but not as they should be. `failed`: they should go elsewhere. */
  readonly status: 'ok' | 'degraded' | 'failed'
  readonly detail: string
}

/** The sources of readiness. */
export interface Vitals {
  readonly site: Pick<Site<{ readonly settings: Settings }>, 'current' | 'state'>
  readonly store: Pick<Store, 'stats'>
  readonly audit: Pick<AuditLog, 'condition' | 'stats'>
  readonly analysis: Pick<Analysis, 'probes'> | undefined
  readonly clientDocuments: Pick<ClientDocuments, 'probed'>
  readonly leaving: { readonly begun: boolean }
  readonly clients: { readonly places: Pick<Clients['places'], 'state'> }
  readonly ownTools: {
    readonly troubles: readonly { readonly fault: Fault; readonly tools: readonly string[] }[]
  }
  readonly pulling: { readonly state: { readonly problem: string; readonly ref: string } | undefined }
}

/**
 * Answers while requests are accepted; reports what is wrong without telling strangers what is inside. It asks neither disk nor
 * database nor another thread, so it waits for the running turn of this one only, which is short whatever is asked of the
 * service. A thread of its own would answer when this one is dead, and nobody would start the service again.
 */
export function healthEndpoint(
  vitals: Vitals & { readonly startedAt: number; readonly clock: Clock },
): Middleware {
  const { site, startedAt, clock } = vitals
  return (ctx) => {
    const state = site.state()
    const problems = [siteCheck(vitals), storeCheck(vitals), auditCheck(vitals.audit.condition)]
      .filter(({ status }) => status !== 'ok')
      .map(({ name, detail }) => `${name}: ${detail}`)
    answerHealth(ctx, 200, {
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

/** Answers 200 while requests should be sent here, otherwise 503; with every check, also of what is stale or degraded. */
export function readinessEndpoint(vitals: Vitals): Middleware {
  return async (ctx) => {
    const checks = await readiness(vitals)
    const failed = checks.some(({ status }) => status === 'failed')
    const degraded = checks.some(({ status }) => status === 'degraded')
    if (failed) ctx.set('Retry-After', '5')
    const status = failed ? 'not_ready' : degraded ? 'degraded' : 'ready'
    answerHealth(ctx, failed ? 503 : 200, { status, checks })
  }
}

/** Returns the state of everything that a request may need. */
export async function readiness(vitals: Vitals): Promise<readonly ReadinessCheck[]> {
  const { site, store, audit, analysis, clientDocuments, leaving, clients, ownTools, pulling } = vitals
  const { enabled } = site.current().settings.server
  const auditing = await audit.stats()
  const { clock, shortage } = store.stats()
  const unsent = auditing.forwards.filter(({ fault }) => fault !== undefined)
  const limited = (analysis?.probes ?? []).filter(({ ok }) => !ok)
  return [
    check('stopping', !leaving.begun, 'failed', 'no', 'the service is stopping; send requests elsewhere'),
    check('switch', enabled, 'failed', 'on', 'the server is switched off (server.enabled)'),
    siteCheck(vitals),
    ...pullChecks(pulling),
    storeCheck(vitals),
    roomCheck(shortage),
    check('clock', clock === undefined, 'degraded', "agrees with the state's", clock ?? ''),
    auditCheck(auditing),
    keepingCheck(auditing),
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
    ownToolsCheck(ownTools),
    placesCheck(clients.places.state),
    documentsCheck(site.current().settings, clientDocuments.probed),
  ]
}

const olderText =
  'the server of the database lacks what had been kept; status says what, audit accept-loss goes on with it'

function siteCheck({ site }: Pick<Vitals, 'site'>): ReadinessCheck {
  const state = site.state()
  return check(
    'site',
    state.faults.length === 0,
    'degraded',
    `the reading of ${isoTime(state.loadedAt)} is in use`,
    state.lastReload?.outcome === 'rejected'
      ? 'the last edit was rejected; the last good one is in use'
      : 'published prompts fail their own tests',
  )
}

function storeCheck({ store }: Pick<Vitals, 'store'>): ReadinessCheck {
  const { fault, older, building = 0 } = store.stats()
  return check(
    'store',
    fault === undefined,
    'failed',
    `can be written${building > 0 ? `; ${building} indexes are being built` : ''}`,
    older === undefined ? 'writes fail' : olderText,
  )
}

function roomCheck(shortage = ''): ReadinessCheck {
  const bad = `${shortage}; what is new is refused, reading and deleting go on`
  return check('room', shortage === '', 'degraded', 'there is memory and disk for more', bad)
}

/** Checks the site's own tools; says where one fails but not why, which is for the operator. */
function ownToolsCheck({ troubles }: Vitals['ownTools']): ReadinessCheck {
  const places = troubles.map(({ fault: { file, line, column }, tools }) =>
    [`${file}:${line}:${column}`, ...(tools.length > 0 ? [`(${tools.join(', ')})`] : [])].join(' '),
  )
  const bad = `tools or doctypes of the site do not work: ${places.join('; ')}; status and the log say why`
  return check('own_tools', troubles.length === 0, 'degraded', 'none of the site is known to fail', bad)
}

/** Checks pulling, only for a site that is pulled. */
function pullChecks({ state }: Vitals['pulling']): readonly ReadinessCheck[] {
  if (state === undefined) return []
  const { ref, problem } = state
  const bad = `what ${ref} stands on is not in use; the log and status say why`
  return [check('site_pull', problem === '', 'degraded', `${ref} is checked out`, bad)]
}

function auditCheck(stats: AuditCondition): ReadinessCheck {
  const { fault, losses, on_reserve: onReserve, waiting, waiting_seconds: seconds } = stats
  const age = waiting > 0 ? `; the oldest of ${waiting} events that wait is ${seconds} s old` : ''
  const bad =
    fault !== undefined
      ? `the log cannot be written${age}`
      : onReserve
        ? 'the disk is full: reading goes on from a reserve, what changes data is refused'
        : 'what had been written to the log is missing, or not as it was; audit verify says what'
  const isWell = fault === undefined && !onReserve && losses.length === 0
  // A loss that somebody has to answer for is a fault: monitors that read only the status must see it.
  const otherwise = fault !== undefined || losses.length > 0 ? 'failed' : 'degraded'
  return check('audit', isWell, otherwise, `can be written${age}`, bad)
}

function keepingCheck({ warnings }: AuditStats): ReadinessCheck {
  const good = 'is kept as the settings say'
  return check('audit_log', warnings.length === 0, 'degraded', good, warnings.join('; '))
}

function placesCheck({ taken, most, nearlyFull }: Clients['places']['state']): ReadinessCheck {
  const of = `${taken} of ${most} places for clients are taken`
  return check(
    'clients',
    !nearlyFull,
    'degraded',
    of,
    `${of}: look who registered (clients list), raise oauth.max_clients or prune`,
  )
}

/** Checks access to client documents; having none is no fault unless the settings tell clients that there is access. */
function documentsCheck({ oauth }: Settings, probed: DocumentProbe | undefined): ReadinessCheck {
  const mode = oauth.client_id_metadata_documents
  const told = (good: string, bad = ''): ReadinessCheck =>
    check('client_documents', bad === '', 'degraded', good, bad)
  if (mode === false) return told('clients register themselves (the settings say so)')
  if (!probed) return told('whether they can be fetched is being tried')
  const tried = isoTime(probed.at)
  if (probed.fetched !== undefined)
    return told([`${probed.fetched} was fetched at ${tried}`, ...probed.failed].join('; not '))
  const why = `none could be fetched at ${tried} (${probed.failed.join('; ')})`
  const remedy = 'let the service reach these hosts or set oauth.egress_proxy'
  if (mode === 'auto') return told(`${why}; clients register themselves instead. To change that, ${remedy}`)
  return told(
    '',
    `${why}; only clients that this program or oauth.client_documents has a copy of can connect: ${remedy}, or set oauth.client_id_metadata_documents to auto`,
  )
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

function answerHealth(ctx: Context, status: number, body: unknown): void {
  ctx.set('Cache-Control', 'no-store')
  answerJson(ctx, status, body)
}
