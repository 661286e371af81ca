/** The way of one request and one stream through the proxies, which the daemon was told to expect. */
import { isLocal } from '../../core/address.ts'
import { messageOf } from '../../core/errors.ts'
import { probeHeader, streamPauseMilliseconds, type Arrival } from '../../http/doctor-probe.ts'
import { paths } from '../../oauth/urls.ts'
import { about, type Finding } from './finding.ts'
import { patience, type Inside } from './public-ask.ts'

/** What the proxies made of a request that the daemon was told to expect. */
export async function examineWay(url: URL, inside: Inside | undefined): Promise<readonly Finding[]> {
  const checks = ['public.same_daemon', 'public.host', 'public.proxy_headers', 'public.streaming']
  if (!inside)
    return checks.map((check) => about(check).unknown('needs the daemon of this state to be running'))
  const nonce = await inside.expect()
  const stream = await timeStream(url.origin + paths.mcp, nonce)
  const arrival = await inside.arrival(nonce)
  if (!arrival)
    return [
      about('public.same_daemon').failure(
        'a request through the address did not arrive at the daemon of this state',
        'the address leads to another server, or the proxy answers from a cache',
        'look where the name and the proxy point to',
      ),
    ]
  return [
    about('public.same_daemon').fine('the address leads to this daemon'),
    arrival.host === url.host
      ? about('public.host').fine(arrival.host)
      : about('public.host').failure(
          `the daemon sees the host ${arrival.host}, not ${url.host}`,
          'the proxy puts its own name for the daemon in the Host header, which is refused',
          'nginx: proxy_set_header Host $http_host;',
        ),
    examineForwarding(url, arrival),
    'fault' in stream
      ? about('public.streaming').unknown(stream.fault)
      : stream.between > streamPauseMilliseconds / 2
        ? about('public.streaming').fine('pieces arrive as they are sent')
        : about('public.streaming').failure(
            'two pieces sent a second apart arrived together',
            'the proxy collects the answer before it passes it on; progress and subscriptions come late or never',
            'nginx: proxy_buffering off; and no gzip of text/event-stream',
          ),
  ]
}

function examineForwarding({ hostname }: URL, arrival: Arrival): Finding {
  const check = about('public.proxy_headers')
  const detail = `connection from ${arrival.connection}, X-Forwarded-For ${arrival.forwarded_for ?? 'missing'}, counted as ${arrival.address}`
  if (arrival.forwarded_for === null)
    return isLocal(arrival.connection.replace(/^::ffff:/, '')) && !isLocal(hostname)
      ? check.warning(
          detail,
          'the proxy does not say whom it speaks for, so all clients share one address and its rate limits',
          'nginx: proxy_set_header X-Forwarded-For $remote_addr;',
        )
      : check.fine(detail)
  return !arrival.trusted
    ? check.warning(
        detail,
        'the proxy is not listed in server.trusted_proxies, so what it says of the client is ignored',
        `add ${arrival.connection} to server.trusted_proxies`,
      )
    : check.fine(detail)
}

async function timeStream(
  url: string,
  nonce: string,
): Promise<{ readonly between: number } | { readonly fault: string }> {
  try {
    const response = await fetch(url, {
      headers: { [probeHeader]: nonce, accept: 'text/event-stream' },
      signal: AbortSignal.timeout(patience),
    })
    let first: number | undefined
    let last = 0
    for await (const _piece of response.body ?? []) {
      last = performance.now()
      first ??= last
    }
    return { between: last - (first ?? last) }
  } catch (error) {
    return { fault: messageOf(error) }
  }
}
