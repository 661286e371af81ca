import { isDeepStrictEqual } from 'node:util'
import type { Log } from '#leaf/log.ts'
import { Forwarder } from './forward.ts'
import type { AuditSettings } from '../settings.ts'
import { syslogSink } from './syslog.ts'
import { webhookSink } from './webhook.ts'

/** Returns a forwarder for each sink that the settings name. */
export function forwardersOf({ syslog, webhook }: AuditSettings, log: Log): readonly Forwarder[] {
  const sinks = [...(syslog ? [syslogSink(syslog)] : []), ...(webhook ? [webhookSink(webhook)] : [])]
  return sinks.map((sink) => new Forwarder(sink, log))
}

/** True when two settings name the same sinks. */
export function sameSinks(one: AuditSettings, other: AuditSettings): boolean {
  return isDeepStrictEqual(one.syslog, other.syslog) && isDeepStrictEqual(one.webhook, other.webhook)
}
