/** `/healthz` (does it live), `/readyz` (may it be sent requests, and what is degraded). Both answer when nothing else does. */
import type { Middleware } from 'koa'
import { isoTime } from './core/clock.ts'
import { version } from './core/version.ts'
import type { Services } from './services.ts'
import { faultText } from './site/site-files.ts'

/** What load shedding and the main switch leave alone. */
export const healthPaths: ReadonlySet<string> = new Set(['/healthz', '/readyz'])

/** One thing that readiness depends on. */
export interface ReadinessCheck {
  readonly name: string
  /** `degraded`: requests are served, but not as they should be. `failed`: they should go elsewhere. */
  readonly status: 'ok' | 'degraded' | 'failed'
  readonly detail: string
}

/** Answers while requests are accepted; tells what is wrong without telling strangers what is inside. */
export function healthEndpoint(services: Services): Middleware {
  const { site, startedAt, clock } = services
  return async (ctx) => {
    const state = site.state()
    const problems = (await readiness(services))
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
export function readinessEndpoint(services: Services): Middleware {
  return async (ctx) => {
    const checks = await readiness(services)
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
export async function readiness(services: Services): Promise<readonly ReadinessCheck[]> {
  const { site, store, audit, analysis } = services
  const state = site.state()
  const { enabled } = site.current().settings.server
  const auditing = await audit.stats()
  const unsent = auditing.forwards.filter(({ fault }) => fault !== undefined)
  const limited = (analysis?.probes ?? []).filter(({ ok }) => !ok)
  return [
    check('switch', enabled, 'failed', 'on', 'the server is switched off (server.enabled)'),
    check(
      'site',
      state.faults.length === 0,
      'degraded',
      `the reading of ${isoTime(state.loadedAt)} is in use`,
      'the last edit was rejected; the last good one is in use',
    ),
    check('store', store.stats().fault === undefined, 'failed', 'can be written', 'writes fail'),
    check('audit', auditing.fault === undefined, 'failed', 'can be written', 'the log cannot be written'),
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
  ]
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
