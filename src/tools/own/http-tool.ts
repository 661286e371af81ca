import { AppError } from '../../core/errors.ts'
import { traceparentOf } from '../../core/trace-context.ts'
import type { Tool } from '../tool.ts'
import type { HttpDefinition } from './own-schema.ts'
import { send } from './request.ts'
import { fillUrl, placeholders, withSecrets } from './templates.ts'

const maxBytes = 1_000_000

/** A tool that makes one HTTP request. */
export function httpTool(definition: HttpDefinition, folder: string): Tool {
  const method = definition.method ?? 'GET'
  const query = definition.query ?? {}
  // Arguments that stand in the address are not sent again in the body.
  const placed = new Set([definition.url, ...Object.values(query)].flatMap(placeholders))
  const sendsBody =
    (definition.body ?? (method === 'GET' || method === 'DELETE' ? 'none' : 'json')) === 'json'
  return {
    name: definition.tool,
    title: definition.title ?? definition.tool,
    description: definition.description,
    category: definition.category ?? (method === 'GET' ? 'read_only' : 'write'),
    input: definition.input,
    openWorld: true,
    ...(definition.idempotent !== undefined && { idempotent: definition.idempotent }),
    ...(definition.timeout_seconds !== undefined && { timeout: definition.timeout_seconds * 1000 }),
    ...(definition.roles && { roles: definition.roles }),
    async run(given, { signal, principal, repeatable }) {
      const args = given as Readonly<Record<string, unknown>>
      const rest = Object.fromEntries(Object.entries(args).filter(([name]) => !placed.has(name)))
      const headers = await withSecrets(definition.headers ?? {}, folder)
      const answer = await send({
        method,
        url: fillUrl(definition.url, query, args),
        headers: {
          accept: 'application/json',
          ...(principal.trace && { traceparent: traceparentOf(principal.trace) }),
          ...(repeatable && { 'idempotency-key': repeatable.id }),
          ...(sendsBody && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(sendsBody && { body: JSON.stringify(rest) }),
        allowPrivate: definition.allow_private ?? false,
        maxBytes: definition.response?.max_bytes ?? maxBytes,
        signal,
      })
      if (answer.status >= 300 || answer.status < 200)
        throw new AppError(
          'unavailable',
          `the service answered ${answer.status}: ${answer.text.slice(0, 500)}`,
        )
      // Wrapped, so that nothing a service answers can pass for content blocks of ours.
      return { kind: 'rich', data: mapped(answer.text, definition.response?.path), content: [] }
    },
  }
}

/** What stands at a dotted path of a JSON answer; a text that is not JSON as it is. */
function mapped(text: string, path: string | undefined): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    if (path === undefined) return text
    throw new AppError('unavailable', 'the service did not answer JSON')
  }
  for (const key of path?.split('.') ?? []) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key))
      throw new AppError('unavailable', `the answer of the service has no "${path!}"`)
    value = (value as Record<string, unknown>)[key]
  }
  return value
}
