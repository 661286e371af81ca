/** The log as it grows, for a page that somebody watches: server-sent events, each the row that the page would show. */
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import type { Context } from 'koa'
import type { Needs } from '../../control/operation.ts'
import { auditor, clientNames, hasRole } from '../../core/principal.ts'
import { endOf, followAudit, type LogPosition } from '#audit/reading.ts'
import type { TakenPlace } from '#front/front.ts'
import { signedIn } from '../../users/browser-middleware.ts'
import { type AuditPageDeps, filterFor, positionText, questionOf, rowOf } from './audit-question.ts'
import type { Showing } from '../route-page.ts'
import { principalAt } from '../session-middleware.ts'
import { lookedAt, viewed } from '../documents/viewing.ts'

/** The dependencies of a stream of the log. */
type StreamDeps = AuditPageDeps & Needs<'pageStreams' | 'store' | 'log'>

/** Milliseconds between two looks: what comes faster comes together. */
const pace = 500
/** Milliseconds after which a daemon looks for what others wrote into the same log. */
const othersEvery = 2000
/** Milliseconds after which an idle stream says that it lives, and learns whether it may. */
const aliveEvery = 15_000
/** The most rows that are sent at once. */
const mostAtOnce = 50

/** Answers GET with the events that fit the filters, from the position named on, for as long as its user may read the log. */
export function auditStreamEndpoint(deps: StreamDeps): Showing<'auditors'> {
  const { audit, pageStreams, log } = deps
  return async (ctx, principal) => {
    const question = questionOf(ctx)
    const view = { type: 'audit.view', data: { question, live: true } }
    const begin = await viewed(audit, principal, view, async () => ({
      filter: await filterFor(principal, question, ctx, deps),
      after: positionIn(ctx) ?? (await endOf(audit.place)),
    }))
    const stream = pageStreams.open(principal.user)
    lookedAt(ctx).addEventListener('abort', () => stream.abort())
    // It waits for hours, and has a limit of its own.
    ;(ctx.state['place'] as TakenPlace | undefined)?.leave()
    const out = new PassThrough()
    stream.signal.addEventListener('abort', () => out.end())
    ctx.set('X-Accel-Buffering', 'no')
    ctx.type = 'text/event-stream'
    ctx.body = out
    out.write('retry: 2000\n\n')
    void watch(ctx, out, { ...begin, stream }, deps)
      .catch((fault: unknown) => stream.signal.aborted || log.error('the log is followed no more', { fault }))
      .finally(() => stream.abort())
  }
}

/** Returns the position after which the browser wants to be told: that of the last event that it got, or of its page. */
function positionIn(ctx: Context): LogPosition | undefined {
  const asked = ctx.get('Last-Event-ID') || new URLSearchParams(ctx.querystring).get('after')
  try {
    const pairs = JSON.parse(asked ?? '') as unknown[]
    const isPair = (pair: unknown): pair is [string, number] =>
      Array.isArray(pair) && typeof pair[0] === 'string' && Number.isSafeInteger(pair[1])
    return pairs.every(isPair) ? new Map(pairs) : undefined
  } catch {
    return undefined
  }
}

/** Writes rows as they come. Whoever may no longer read the log is asked about after rows are read and before they are sent. */
async function watch(
  ctx: Context,
  out: PassThrough,
  {
    filter,
    after,
    stream,
  }: {
    filter: Awaited<ReturnType<typeof filterFor>>
    after: LogPosition
    stream: AbortController
  },
  deps: StreamDeps,
): Promise<void> {
  const { audit, clients, store, render } = deps
  const { signal } = stream
  let rows: string[] = []
  let writes = 0
  const send = async (): Promise<void> => {
    if (!(await mayWatch(ctx, deps).catch(() => false))) stream.abort()
    if (signal.aborted) return
    const text = rows.join('') || ': alive\n\n'
    rows = []
    if (!out.write(text)) await once(out, 'drain', { signal })
  }
  const idle = async (): Promise<void> => {
    if (rows.length > 0) await send()
    const wait = AbortSignal.timeout('ledger' in store ? othersEvery : aliveEvery)
    const grown = await audit.growth.after(writes, AbortSignal.any([signal, wait]))
    if (grown === writes && wait.aborted) await send()
    writes = grown
    await setTimeout(pace, undefined, { signal })
  }
  const names = clientNames(await clients.list())
  for await (const line of followAudit(audit.place, { filter, after, signal, idle })) {
    const html = render(ctx, 'audit-event', { event: rowOf(line, names) })
    const data = html.trim().replaceAll(/^/gm, 'data: ')
    rows.push(`id: ${positionText(after)}\n${data}\n\n`)
    if (rows.length >= mostAtOnce) await send()
  }
}

async function mayWatch(ctx: Context, deps: StreamDeps): Promise<boolean> {
  const signed = await signedIn(ctx, deps)
  return signed !== undefined && hasRole(principalAt({ ctx, user: signed.user }, deps), auditor)
}
