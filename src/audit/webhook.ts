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
}

const sendMilliseconds = 10_000
const loopback = new Set(['localhost', '127.0.0.1', '[::1]'])

/** A sink for the settings; AppError `invalid` when the address is not one that events may go to. */
export function webhookSink(settings: WebhookSettings): Sink {
  const url = URL.canParse(settings.url) ? new URL(settings.url) : undefined
  const safe = url?.protocol === 'https:' || (url?.protocol === 'http:' && loopback.has(url.hostname))
  if (!url || !safe) throw new AppError('invalid', 'audit.webhook.url: must be an https address')
  if (url.username !== '' || url.password !== '') {
    throw new AppError('invalid', 'audit.webhook.url: must not hold a password')
  }
  return {
    name: `webhook ${url.origin}`,
    async send(lines, signal) {
      const body = `{"events":[${lines.join(',')}]}`
      const response = await fetch(url, {
        method: 'POST',
        body,
        headers: {
          'content-type': 'application/json',
          ...(settings.secret_file !== undefined && (await signatureOf(body, settings.secret_file))),
        },
        // A redirect would hand the events to somebody whom nobody has named.
        redirect: 'error',
        signal: within(sendMilliseconds, signal),
      })
      await response.body?.cancel()
      if (!response.ok) throw new Error(`the webhook answered ${response.status}`)
    },
    close: () => undefined,
  }
}

async function signatureOf(body: string, file: string): Promise<Readonly<Record<string, string>>> {
  const secret = (await readFile(file, 'utf8')).trim()
  return { 'x-assistant-core-signature': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}` }
}
