/** Forwarding to a webhook: events as a JSON array in a POST, signed with a shared secret when there is one. */
import { within } from '#leaf/deadline.ts'
import { createHmac } from 'node:crypto'
import { AppError } from '#leaf/errors.ts'
import { readSecretFile } from '#leaf/secret-files.ts'
import type { Sink } from './forward.ts'

/** The settings of a webhook. */
export interface WebhookSettings {
  /** The address: https, or http to this machine. */
  readonly url: string
  /** A file with a secret; with it, `X-Assistant-Core-Signature: sha256=<hex>` holds the body's HMAC-SHA-256. */
  readonly secret_file?: string
}

const sendMilliseconds = 10_000
const loopback = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Returns a sink for the settings; AppError `invalid` when events may not go to that address. */
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
  const secret = await readSecretFile(file, 'audit.webhook_secret_file')
  return { 'x-assistant-core-signature': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}` }
}
