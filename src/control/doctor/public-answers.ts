/** Checks that the proxies pass on the requests and answers that clients depend on: challenge, CORS, large requests, streams. */
import { isLocal } from '#leaf/address.ts'
import { messageOf } from '#leaf/errors.ts'
import { probeHeader, streamPauseMilliseconds, type Arrival } from '../../http/doctor-probe.ts'
import { paths } from '../../oauth/urls.ts'
import { broken, fine, runChecks, unknown, warning, type Checks, type Finding } from './finding.ts'
import { ask, patience } from './public-ask.ts'

const bodyBytes = 2_000_000

function post(origin: string, body: string | Buffer, given: Record<string, string> = {}) {
  const headers = { 'content-type': 'application/json', ...given }
  return ask(origin + paths.mcp, { method: 'POST', headers, body })
}

const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}'

/** The checks of an address. */
export const answerChecks: Checks<string> = {
  // The 401 that starts a client's sign-in.
  'public.challenge': async (origin) => {
    const { status, headers } = await post(origin, ping)
    const metadata = /resource_metadata="([^"]*)"/.exec(headers.get('www-authenticate') ?? '')?.[1]
    const expected = origin + paths.protectedResource
    if (status === 401 && metadata === expected) return fine(`401 that points to ${expected}`)
    return broken(
      status === 401
        ? `resource_metadata is ${metadata ?? 'missing'}, not ${expected}`
        : `the MCP endpoint answers ${status} to a request without a token`,
      status === 401
        ? 'the proxy drops or changes WWW-Authenticate, or public_url is another address'
        : 'the proxy answers itself, or asks for a sign-in of its own',
      'pass the request and the answer on unchanged; protect nothing below / with another sign-in',
    )
  },
  // Checks that a token would arrive at all.
  'public.authorization_header': async (origin) => {
    const { status, text } = await post(origin, ping, { authorization: 'Bearer doctor' })
    if (status !== 401) return unknown(`the answer is ${status}, before any token is looked at`)
    if (!text.includes('authentication is required')) return fine('the Authorization header arrives')
    return broken(
      'the Authorization header does not arrive',
      'the proxy removes it',
      'pass it on (nginx does so by itself; Apache needs CGIPassAuth or ProxyPass without its own Auth)',
    )
  },
  // Web clients read the discovery documents from other origins.
  'public.cors': async (origin) => {
    const headers = { origin: 'https://doctor.invalid' }
    const answer = await ask(origin + paths.protectedResource, { headers })
    const allowed = answer.headers.get('access-control-allow-origin')
    if (allowed === '*') return fine('every page may read the discovery documents')
    return broken(
      `Access-Control-Allow-Origin is ${allowed ?? 'missing'}`,
      allowed === null ? 'the proxy drops it' : "the proxy adds its own to the daemon's; browsers refuse two",
      'let the daemon alone answer for CORS',
    )
  },
  // Without a token, the daemon refuses a large request for the token, and a proxy refuses it for its size.
  'public.body_limit': async (origin) => {
    const { status } = await post(origin, Buffer.alloc(bodyBytes, ' '))
    if (status !== 413) return fine(`requests of ${bodyBytes} bytes arrive`)
    const cause = 'the proxy allows less than server.max_body_bytes; nginx allows 1 MB unless told'
    const remedy = 'nginx: client_max_body_size 4m;'
    return broken(`a request of ${bodyBytes} bytes is answered with 413`, cause, remedy)
  },
}

/** The access to the daemon behind the address, over its control socket; undefined where it cannot be reached. */
export interface Inside {
  /** The address that the daemon publishes. */
  readonly publicUrl: string
  expect(): Promise<string>
  arrival(nonce: string): Promise<Arrival | null>
}

/** Checks what the proxies changed in one request and one stream that the daemon was told to expect. */
export async function examineWay(url: URL, inside: Inside | undefined): Promise<readonly Finding[]> {
  if (!inside) {
    const verdict = unknown('needs the daemon of this state to be running')
    return Object.keys(wayChecks).map((check) => ({ check, ...verdict }))
  }
  const nonce = await inside.expect()
  const between = await timeStream(url.origin + paths.mcp, nonce)
  const arrival = await inside.arrival(nonce)
  if (arrival) return await runChecks(wayChecks, { url, arrival, between })
  const verdict = broken(
    'a request through the address did not arrive at the daemon of this state',
    'the address leads to another server, or the proxy answers from a cache',
    'look where the name and the proxy point to',
  )
  return [{ check: 'public.same_daemon', ...verdict }]
}

/** `between`: the milliseconds between the two pieces of a stream, or the reason why there were none. */
const wayChecks: Checks<{ url: URL; arrival: Arrival; between: number | string }> = {
  'public.same_daemon': () => fine('the address leads to this daemon'),
  'public.host': ({ url, arrival }) =>
    arrival.host === url.host
      ? fine(arrival.host)
      : broken(
          `the daemon sees the host ${arrival.host}, not ${url.host}`,
          'the proxy puts its own name for the daemon in the Host header, which is refused',
          'nginx: proxy_set_header Host $http_host;',
        ),
  'public.proxy_headers': ({ url, arrival: { connection, forwarded_for: forwarded, address, trusted } }) => {
    const detail = `connection from ${connection}, X-Forwarded-For ${forwarded ?? 'missing'}, counted as ${address}`
    const isDirect = !isLocal(connection.replace(/^::ffff:/, '')) || isLocal(url.hostname)
    if (forwarded === null ? isDirect : trusted) return fine(detail)
    return warning(
      detail,
      forwarded === null
        ? 'the proxy does not say whom it speaks for, so all clients share one address and its rate limits'
        : 'the proxy is not listed in server.trusted_proxies, so what it says of the client is ignored',
      forwarded === null
        ? 'nginx: proxy_set_header X-Forwarded-For $remote_addr;'
        : `add ${connection} to server.trusted_proxies`,
    )
  },
  'public.streaming': ({ between }) => {
    if (typeof between === 'string') return unknown(between)
    if (between > streamPauseMilliseconds / 2) return fine('pieces arrive as they are sent')
    return broken(
      'two pieces sent a second apart arrived together',
      'the proxy collects the answer before it passes it on; progress and subscriptions come late or never',
      'nginx: proxy_buffering off; and no gzip of text/event-stream',
    )
  },
}

async function timeStream(url: string, nonce: string): Promise<number | string> {
  try {
    const headers = { [probeHeader]: nonce, accept: 'text/event-stream' }
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(patience) })
    const times: number[] = []
    for await (const _piece of response.body ?? []) times.push(performance.now())
    return (times.at(-1) ?? 0) - (times[0] ?? 0)
  } catch (error) {
    return messageOf(error)
  }
}
