/** Forwarding to a webhook: events as a JSON array in a POST, signed with a shared secret when there is one. */
import { within } from '../core/deadline.ts'
import { createHmac } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { AppError } from '../core/errors.ts'
import type { Sink } from './forward.ts'

/** Where a webhook is. */
export interface WebhookSettings {
  /** https, or http to this machine. */
  readonly url: string
  /** A file with a secret; the body's HMAC-SHA-256 then stands in `X-Assistant-Core-Signature: sha256=<hex>`. */
  readonly secret_file?: string
  /** A file with a token, sent as `Authorization: Bearer`. */
  readonly token_file?: string
  /** 10 when absent. */
  readonly timeout_seconds?: number
}

const loopback = new Set(['localhost', '127.0.0.1', '[::1]'])

/** A sink for the settings; AppError `invalid` when the address is not one that events may go to. */
export function webhookSink(settings: WebhookSettings): Sink {
  const url = URL.canParse(settings.url) ? new URL(settings.url) : undefined
  const safe = url?.protocol === 'https:' || (url?.protocol === 'http:' && loopback.has(url.hostname))
  if (!url || !safe) throw new AppError('invalid', 'audit.webhook.url: must be an https address')
  if (url.username !== '' || url.password !== '') {
    throw new AppError('invalid', 'audit.webhook.url: must not hold a password; use token_file')
  }
  return {
    name: `webhook ${url.origin}`,
    async send(lines, signal) {
      const body = `{"events":[${lines.join(',')}]}`
      const response = await fetch(url, {
        method: 'POST',
        body,
        headers: await headersOf(body, settings),
        // A redirect would hand the events to somebody whom nobody has named.
        redirect: 'error',
        signal: within((settings.timeout_seconds ?? 10) * 1000, signal),
      })
      await response.body?.cancel()
      if (!response.ok) throw new Error(`the webhook answered ${response.status}`)
    },
    close: () => undefined,
  }
}

async function headersOf(body: string, settings: WebhookSettings): Promise<Record<string, string>> {
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  if (settings.token_file !== undefined) {
    headers['authorization'] = `Bearer ${(await readFile(settings.token_file, 'utf8')).trim()}`
  }
  if (settings.secret_file !== undefined) {
    const secret = (await readFile(settings.secret_file, 'utf8')).trim()
    headers['x-assistant-core-signature'] =
      `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
  }
  return headers
}
