import { jsonOr } from '#leaf/as-json.ts'
import { AppError } from '#leaf/errors.ts'
import type { SecretPath } from '#leaf/secret-files.ts'
import { traceparentOf } from '#telemetry/trace-context.ts'
import type { SourceDocument } from '#site/site-files.ts'
import { fitRows } from '../gate/fit-rows.ts'
import type { Tool } from '../tool.ts'
import { type Vouch, vouchedFor } from './assertion.ts'
import { sendsBody } from './check-definitions.ts'
import type { EntryParts } from './entry-parts.ts'
import type { HttpDefinition } from './own-schema.ts'
import { addressFor } from '#outside/pinned.ts'
import { type HttpAnswer, send } from '#outside/request.ts'
import { fillUrl, placeholders, requireSecrets, withSecrets } from './templates.ts'

const maxBytes = 1_000_000

/** Makes a tool that sends one HTTP request; its secrets and host are checked. */
export function httpParts(
  definition: HttpDefinition,
  document: SourceDocument,
  secretPath: SecretPath,
  vouch: Vouch,
): EntryParts {
  const tool = httpTool(definition, secretPath, vouch)
  return {
    tools: () => [tool],
    attempt: async () => {
      await requireSecrets(document, 'headers', definition.headers, secretPath)
      await addressFor(new URL(definition.url).hostname, definition.allow_private ?? false)
    },
    place: (message) => document.fault(['url'], message),
  }
}

function httpTool(definition: HttpDefinition, secretPath: SecretPath, vouch: Vouch): Tool {
  const method = definition.method ?? 'GET'
  const query = definition.query ?? {}
  // Arguments that have a place in the address are not sent again in the body.
  const placed = new Set([definition.url, ...Object.values(query)].flatMap(placeholders))
  const isSent = sendsBody(definition)
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
    async run(given, { signal, principal, repeatable, budget }) {
      const args = given as Readonly<Record<string, unknown>>
      const rest = Object.fromEntries(Object.entries(args).filter(([name]) => !placed.has(name)))
      const headers = await withSecrets(definition.headers ?? {}, secretPath)
      const { max_bytes: most = maxBytes, next } = definition.response ?? {}
      let left = most
      const ask = async (url: URL): Promise<HttpAnswer> => {
        const vouched = await vouchedFor(definition.assertion, url.origin, principal, vouch)
        const answer = await send({
          method,
          url,
          headers: {
            accept: 'application/json',
            ...(principal.trace && { traceparent: traceparentOf(principal.trace) }),
            ...(repeatable && { 'idempotency-key': repeatable.id }),
            ...(isSent && { 'content-type': 'application/json' }),
            ...headers,
            ...vouched.headers,
          },
          ...(isSent && { body: JSON.stringify(rest) }),
          allowPrivate: definition.allow_private ?? false,
          maxBytes: left,
          signal,
        })
        if (answer.status >= 300 || answer.status < 200)
          throw new AppError(
            'unavailable',
            `the service answered ${answer.status}: ${answer.text.slice(0, 500)}`,
          )
        left = Math.max(1, left - Buffer.byteLength(answer.text))
        return answer
      }
      const url = fillUrl(definition.url, query, args)
      const data =
        next === undefined && definition.response?.total === undefined
          ? mapped((await ask(url)).text, definition.response?.path)
          : await pagesOf(definition.response!, url, ask, budget)
      // Wrapped, so that no answer of a service can pass for content blocks of ours.
      return { kind: 'rich', data, content: [] }
    },
  }
}

/** Reads the rows of an answer and of its next pages, up to a bound, and the total that the service states. */
async function pagesOf(
  { path, total, next, max_pages: most = 10 }: NonNullable<HttpDefinition['response']>,
  first: URL,
  ask: (url: URL) => Promise<HttpAnswer>,
  budget: number,
): Promise<unknown> {
  const rows: unknown[] = []
  let count: unknown
  let url: URL | undefined = first
  for (let page = 0; url && page < most; page++) {
    const answer = await ask(url)
    const part = mapped(answer.text, path)
    if (!Array.isArray(part))
      throw new AppError('unavailable', 'the service did not answer a list where its rows should be')
    rows.push(...(part as unknown[]))
    if (total !== undefined) count ??= mapped(answer.text, total)
    const further =
      next === undefined ? undefined : next === 'link' ? linked(answer) : found(answer.text, next)
    const isThere = typeof further === 'string' && further !== ''
    url = isThere && URL.canParse(further, url.href) ? new URL(further, url) : undefined
    // Secrets are for one host, so a next page on another origin is not followed.
    if (isThere && url?.origin !== first.origin)
      throw new AppError('unavailable', 'the next page of the service is not at an address of its own')
  }
  const known = typeof count === 'number' ? count : undefined
  const more = url !== undefined || (next === undefined && known !== undefined && rows.length < known)
  return fitRows({ data: rows }, 'data', { total: known, more }, budget)
}

/** Returns the URL of the next page from a Link header (RFC 8288). */
function linked({ headers }: HttpAnswer): string | undefined {
  const links = [headers['link'] ?? []].flat().join(', ')
  return /<([^>]*)>[^<]*;\s*rel="?(?:[^",;<]*\s)?next\b/i.exec(links)?.[1]
}

/** Returns the value at a path of a JSON answer; undefined where there is none. */
function found(text: string, path: string): unknown {
  try {
    return mapped(text, path)
  } catch {
    return undefined
  }
}

/** Returns the value at a dotted path of a JSON answer; a text that is not JSON is returned as it is. */
function mapped(text: string, path: string | undefined): unknown {
  let value = jsonOr(text)
  if (value === undefined && path === undefined) return text
  if (value === undefined) throw new AppError('unavailable', 'the service did not answer JSON')
  for (const key of path?.split('.') ?? []) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key))
      throw new AppError('unavailable', `the answer of the service has no "${path!}"`)
    value = (value as Record<string, unknown>)[key]
  }
  return value
}
