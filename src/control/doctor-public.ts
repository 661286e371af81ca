/** `doctor --public URL`: the service as a client on the internet meets it, through every proxy in between. */
import { lookup } from 'node:dns/promises'
import { connect } from 'node:tls'
import type { Clock } from '../core/clock.ts'
import { messageOf } from '../core/errors.ts'
import { probeHeader, streamPauseMilliseconds, type Arrival } from '../doctor-probe.ts'
import { paths } from '../oauth/urls.ts'
import { isLocal } from './doctor.ts'
import { fine, unknown, wrong, type Finding } from './finding.ts'

/** What is asked of the daemon behind the address, over its control socket; undefined where it cannot be. */
export interface Inside {
  /** The address that it publishes. */
  readonly publicUrl: string
  expect(): Promise<string>
  arrival(nonce: string): Promise<Arrival | null>
}

const patience = 10_000
const day = 86_400_000
const bodyBytes = 2_000_000

/** Looks at the public address; never throws for what it finds. */
export async function examinePublic(
  text: string,
  inside: Inside | undefined,
  clock: Clock,
): Promise<readonly Finding[]> {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.origin !== text.replace(/\/$/, ''))
    return [
      wrong(
        'public.url',
        'failure',
        `"${text}"`,
        'this is not an address of the form https://host or https://host:port, in lower case',
        `write it as ${url ? url.origin : 'https://assistant.example.com'}`,
      ),
    ]
  const { origin } = url
  const findings: Finding[] = [examineScheme(url), examineSetting(origin, inside)]
  findings.push(await examineName(url))
  if (url.protocol === 'https:') findings.push(await examineTls(url, clock))
  const health = await ask(`${origin}/healthz`)
  if ('fault' in health)
    return [
      ...findings,
      wrong(
        'public.reachable',
        'failure',
        health.fault,
        'nothing answers at the address, or not in the way of HTTP',
        'look at the proxy, its log, and the firewall in front of it',
      ),
    ]
  findings.push(examineAnswer(health, clock))
  const documents = await readDocuments(origin)
  findings.push(...documents.findings)
  findings.push(...examineDocuments(origin, documents))
  findings.push(...(await examineChallenge(origin)))
  findings.push(await examineCors(origin))
  findings.push(await examineBodyLimit(origin))
  findings.push(...(await examineWay(url, inside)))
  return findings
}

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

async function ask(url: string, init: RequestInit = {}): Promise<Answer | { readonly fault: string }> {
  try {
    const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(patience), ...init })
    return { status: response.status, headers: response.headers, text: await response.text() }
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
    const code = (cause as NodeJS.ErrnoException).code
    return { fault: `${url}: ${code === undefined ? '' : `${code}: `}${messageOf(cause)}` }
  }
}

function examineScheme({ protocol, hostname, origin }: URL): Finding {
  return protocol === 'https:' || isLocal(hostname)
    ? fine('public.url', origin)
    : wrong(
        'public.url',
        'failure',
        origin,
        'tokens travel in clear text, and clients refuse an http address',
        'end TLS at a proxy and use its https address (systemd/README.md)',
      )
}

function examineSetting(origin: string, inside: Inside | undefined): Finding {
  const check = 'public.setting'
  if (!inside) return unknown(check, 'no daemon runs on this state, so its public_url is not known')
  return inside.publicUrl === origin
    ? fine(check, `public_url is ${origin}`)
    : wrong(
        check,
        'failure',
        `public_url is ${inside.publicUrl}, not ${origin}`,
        'the daemon publishes another address than the one that you asked about',
        `set public_url: ${origin} in config/settings.yaml and restart`,
      )
}

async function examineName({ hostname }: URL): Promise<Finding> {
  try {
    const found = await lookup(hostname.replace(/^\[|\]$/g, ''), { all: true })
    return fine('public.dns', found.map(({ address }) => address).join(', '))
  } catch (error) {
    return wrong(
      'public.dns',
      'failure',
      messageOf(error),
      "the name is unknown to this machine's resolver",
      'add the record to the DNS; a new one may take an hour to be seen everywhere',
    )
  }
}

/** The chain as a client checks it that trusts only what its system trusts. */
function examineTls({ hostname, port }: URL, clock: Clock): Promise<Finding> {
  const check = 'public.tls'
  return new Promise((resolve) => {
    const host = hostname.replace(/^\[|\]$/g, '')
    const socket = connect({ host, port: Number(port || 443), servername: host, rejectUnauthorized: false })
    const done = (finding: Finding): void => {
      socket.destroy()
      resolve(finding)
    }
    socket.setTimeout(patience, () => done(unknown(check, 'the TLS handshake did not end')))
    socket.once('error', (error) => done(unknown(check, messageOf(error))))
    socket.once('secureConnect', () => {
      const until = Date.parse(socket.getPeerCertificate().valid_to)
      const left = Math.floor((until - clock.now()) / day)
      if (socket.authorized)
        return done(
          left > 14
            ? fine(check, `${socket.getProtocol() ?? 'TLS'}, valid for ${left} days`)
            : wrong(
                check,
                'warning',
                `the certificate ends in ${left} days`,
                'it is not renewed by itself',
                'renew it, and have it renewed automatically',
              ),
        )
      const code = String(socket.authorizationError)
      const incomplete = /UNABLE_TO_VERIFY_LEAF|UNABLE_TO_GET_ISSUER/.test(code)
      done(
        wrong(
          check,
          'failure',
          code,
          incomplete
            ? 'the proxy sends its own certificate without those in between, or a private authority issued it'
            : 'the certificate is for another name, has ended, or nobody knows its issuer',
          incomplete
            ? 'give the proxy the full chain (fullchain.pem); for a private authority set NODE_EXTRA_CA_CERTS'
            : 'get a certificate for this name from an authority that clients trust',
        ),
      )
    })
  })
}

function examineAnswer({ status, headers, text }: Answer, clock: Clock): Finding {
  const check = 'public.reachable'
  if (status >= 300 && status < 400)
    return wrong(
      check,
      'failure',
      `${status} to ${headers.get('location') ?? 'nowhere'}`,
      'a proxy redirects; clients do not follow that with their token',
      'use the address that it redirects to as public_url, or remove the redirect',
    )
  if (status !== 200 || !text.includes('"uptime_seconds"'))
    return wrong(
      check,
      'failure',
      `/healthz answers ${status} with something else than this program`,
      status === 502 || status === 504
        ? 'the proxy does not reach the daemon'
        : 'another program answers there',
      'let the proxy pass everything to server.host and server.port, every path included',
    )
  const drift = Math.abs(Date.parse(headers.get('date') ?? '') - clock.now())
  return drift > 60_000
    ? wrong(
        check,
        'warning',
        `its clock and this one differ by ${Math.round(drift / 1000)} seconds`,
        'one of the two clocks stands wrong',
        'synchronise both',
      )
    : fine(check, '/healthz answers')
}

interface Documents {
  readonly findings: readonly Finding[]
  readonly server: Readonly<Record<string, unknown>> | undefined
  readonly openid: Readonly<Record<string, unknown>> | undefined
  readonly resource: Readonly<Record<string, unknown>> | undefined
}

async function readDocuments(origin: string): Promise<Documents> {
  const findings: Finding[] = []
  const read = async (
    check: string,
    path: string,
  ): Promise<Readonly<Record<string, unknown>> | undefined> => {
    const answer = await ask(origin + path)
    const problem = 'fault' in answer ? answer.fault : problemOf(answer)
    if (problem === undefined) {
      findings.push(fine(check, path))
      return JSON.parse((answer as Answer).text) as Record<string, unknown>
    }
    findings.push(
      wrong(
        check,
        'failure',
        `${path}: ${problem}`,
        'the proxy does not pass /.well-known/ on (often it keeps it for certificates), or a setting hides the document',
        'pass every path below / to the daemon; look at oauth.show_*_metadata',
      ),
    )
    return undefined
  }
  const [server, openid, resource] = await Promise.all([
    read('public.authorization_server_metadata', paths.authorizationServer),
    read('public.openid_configuration', paths.openidConfiguration),
    read('public.protected_resource_metadata', paths.protectedResource),
    // RFC 9728 §3.1: the path of the resource stands behind the well-known one.
    read('public.protected_resource_metadata_of_path', paths.protectedResource + paths.mcp),
  ])
  return { findings, server, openid, resource }
}

function problemOf({ status, headers, text }: Answer): string | undefined {
  if (status >= 300 && status < 400) return `${status} to ${headers.get('location') ?? 'nowhere'}`
  if (status !== 200) return `status ${status}`
  if (!(headers.get('content-type') ?? '').startsWith('application/json')) return 'not application/json'
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? undefined : 'not an object'
  } catch {
    return 'not JSON'
  }
}

function examineDocuments(origin: string, { server, openid, resource }: Documents): Finding[] {
  const findings: Finding[] = []
  const same = (check: string, what: string, found: unknown, expected: string): void =>
    void findings.push(
      found === expected
        ? fine(check, expected)
        : wrong(
            check,
            'failure',
            `${what} is ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`,
            'clients compare the two byte for byte, and stop when they differ',
            `set public_url: ${origin}; one letter, port or slash more is another address`,
          ),
    )
  const issued = server ?? openid
  if (issued) {
    same('public.issuer', 'issuer', issued['issuer'], origin)
    const methods = issued['code_challenge_methods_supported']
    findings.push(
      Array.isArray(methods) && methods.includes('S256')
        ? fine('public.pkce', 'S256')
        : wrong(
            'public.pkce',
            'failure',
            `code_challenge_methods_supported is ${JSON.stringify(methods)}`,
            'clients stop when PKCE is not announced',
            'something between rewrites the document; pass it on as it is',
          ),
    )
    const foreign = Object.entries(issued).filter(
      ([name, value]) => /(_endpoint|jwks_uri)$/.test(name) && !String(value).startsWith(`${origin}/`),
    )
    findings.push(
      foreign.length === 0
        ? fine('public.endpoints', 'every endpoint is below the address')
        : wrong(
            'public.endpoints',
            'failure',
            foreign.map(([name, value]) => `${name} is ${String(value)}`).join(', '),
            'the daemon publishes another address',
            `set public_url: ${origin}`,
          ),
    )
  }
  if (server && openid && server['issuer'] !== openid['issuer'])
    same(
      'public.issuer_agrees',
      'the issuer of openid-configuration',
      openid['issuer'],
      String(server['issuer']),
    )
  if (resource) {
    same('public.resource', 'resource', resource['resource'], origin + paths.mcp)
    const servers = resource['authorization_servers']
    same(
      'public.authorization_servers',
      'authorization_servers[0]',
      Array.isArray(servers) ? servers[0] : servers,
      origin,
    )
  }
  return findings
}

/** The 401 that starts a client's sign-in, and whether a token would arrive at all. */
async function examineChallenge(origin: string): Promise<readonly Finding[]> {
  const post = (headers: Record<string, string>): ReturnType<typeof ask> =>
    ask(origin + paths.mcp, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    })
  const bare = await post({})
  if ('fault' in bare) return [unknown('public.challenge', bare.fault)]
  const challenge = bare.headers.get('www-authenticate') ?? ''
  const metadata = /resource_metadata="([^"]*)"/.exec(challenge)?.[1]
  const expected = origin + paths.protectedResource
  const challenged =
    bare.status === 401 && metadata === expected
      ? fine('public.challenge', `401 that points to ${expected}`)
      : wrong(
          'public.challenge',
          'failure',
          bare.status === 401
            ? `resource_metadata is ${metadata ?? 'missing'}, not ${expected}`
            : `the MCP endpoint answers ${bare.status} to a request without a token`,
          bare.status === 401
            ? 'the proxy drops or changes WWW-Authenticate, or public_url is another address'
            : 'the proxy answers itself, or asks for a sign-in of its own',
          'pass the request and the answer on unchanged; protect nothing below / with another sign-in',
        )
  const forged = await post({ authorization: 'Bearer doctor' })
  if ('fault' in forged) return [challenged, unknown('public.authorization_header', forged.fault)]
  if (forged.status !== 401)
    return [
      challenged,
      unknown('public.authorization_header', `the answer is ${forged.status}, before any token is looked at`),
    ]
  return [
    challenged,
    forged.text.includes('authentication is required')
      ? wrong(
          'public.authorization_header',
          'failure',
          'the Authorization header does not arrive',
          'the proxy removes it',
          'pass it on (nginx does so by itself; Apache needs CGIPassAuth or ProxyPass without its own Auth)',
        )
      : fine('public.authorization_header', 'the Authorization header arrives'),
  ]
}

async function examineCors(origin: string): Promise<Finding> {
  const check = 'public.cors'
  const answer = await ask(origin + paths.protectedResource, {
    headers: { origin: 'https://doctor.invalid' },
  })
  if ('fault' in answer) return unknown(check, answer.fault)
  const allowed = answer.headers.get('access-control-allow-origin')
  return allowed === '*'
    ? fine(check, 'every page may read the discovery documents')
    : wrong(
        check,
        'failure',
        `Access-Control-Allow-Origin is ${allowed ?? 'missing'}`,
        allowed === null
          ? 'the proxy drops it'
          : "the proxy adds its own to the daemon's; browsers refuse two",
        'let the daemon alone answer for CORS',
      )
}

/** A large request without a token is refused for the token by the daemon, and for its size by a proxy. */
async function examineBodyLimit(origin: string): Promise<Finding> {
  const check = 'public.body_limit'
  const answer = await ask(origin + paths.mcp, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: Buffer.alloc(bodyBytes, ' '),
  })
  if ('fault' in answer) return unknown(check, answer.fault)
  return answer.status === 413
    ? wrong(
        check,
        'failure',
        `a request of ${bodyBytes} bytes is answered with 413`,
        'the proxy allows less than server.max_body_bytes; nginx allows 1 MB unless told',
        'nginx: client_max_body_size 4m;',
      )
    : fine(check, `requests of ${bodyBytes} bytes arrive`)
}

/** What the proxies made of a request that the daemon was told to expect. */
async function examineWay(url: URL, inside: Inside | undefined): Promise<readonly Finding[]> {
  const checks = ['public.same_daemon', 'public.host', 'public.proxy_headers', 'public.streaming']
  if (!inside) return checks.map((check) => unknown(check, 'needs the daemon of this state to be running'))
  const nonce = await inside.expect()
  const stream = await timeStream(url.origin + paths.mcp, nonce)
  const arrival = await inside.arrival(nonce)
  if (!arrival)
    return [
      wrong(
        'public.same_daemon',
        'failure',
        'a request through the address did not arrive at the daemon of this state',
        'the address leads to another server, or the proxy answers from a cache',
        'look where the name and the proxy point to',
      ),
    ]
  return [
    fine('public.same_daemon', 'the address leads to this daemon'),
    arrival.host === url.host
      ? fine('public.host', arrival.host)
      : wrong(
          'public.host',
          'failure',
          `the daemon sees the host ${arrival.host}, not ${url.host}`,
          'the proxy puts its own name for the daemon in the Host header, which is refused',
          'nginx: proxy_set_header Host $http_host;',
        ),
    examineForwarding(url, arrival),
    'fault' in stream
      ? unknown('public.streaming', stream.fault)
      : stream.between > streamPauseMilliseconds / 2
        ? fine('public.streaming', 'pieces arrive as they are sent')
        : wrong(
            'public.streaming',
            'failure',
            'two pieces sent a second apart arrived together',
            'the proxy collects the answer before it passes it on; progress and subscriptions come late or never',
            'nginx: proxy_buffering off; and no gzip of text/event-stream',
          ),
  ]
}

function examineForwarding({ hostname }: URL, arrival: Arrival): Finding {
  const check = 'public.proxy_headers'
  const detail = `connection from ${arrival.connection}, X-Forwarded-For ${arrival.forwarded_for ?? 'missing'}, counted as ${arrival.address}`
  if (arrival.forwarded_for === null)
    return isLocal(arrival.connection.replace(/^::ffff:/, '')) && !isLocal(hostname)
      ? wrong(
          check,
          'warning',
          detail,
          'the proxy does not say whom it speaks for, so all clients share one address and its rate limits',
          'nginx: proxy_set_header X-Forwarded-For $remote_addr;',
        )
      : fine(check, detail)
  return !arrival.trusted
    ? wrong(
        check,
        'warning',
        detail,
        'the proxy is not listed in server.trusted_proxies, so what it says of the client is ignored',
        `add ${arrival.connection} to server.trusted_proxies`,
      )
    : fine(check, detail)
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
