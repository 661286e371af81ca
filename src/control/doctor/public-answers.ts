/** What the proxy leaves of the answers that clients depend on: the challenge, CORS, and large requests. */
import { paths } from '../../oauth/urls.ts'
import { about, type Finding } from './finding.ts'
import { ask } from './public-ask.ts'

const bodyBytes = 2_000_000

/** The 401 that starts a client's sign-in, and whether a token would arrive at all. */
export async function examineChallenge(origin: string): Promise<readonly Finding[]> {
  const post = (headers: Record<string, string>): ReturnType<typeof ask> =>
    ask(origin + paths.mcp, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    })
  const bare = await post({})
  if ('fault' in bare) return [about('public.challenge').unknown(bare.fault)]
  const challenge = bare.headers.get('www-authenticate') ?? ''
  const metadata = /resource_metadata="([^"]*)"/.exec(challenge)?.[1]
  const expected = origin + paths.protectedResource
  const challenged =
    bare.status === 401 && metadata === expected
      ? about('public.challenge').fine(`401 that points to ${expected}`)
      : about('public.challenge').failure(
          bare.status === 401
            ? `resource_metadata is ${metadata ?? 'missing'}, not ${expected}`
            : `the MCP endpoint answers ${bare.status} to a request without a token`,
          bare.status === 401
            ? 'the proxy drops or changes WWW-Authenticate, or public_url is another address'
            : 'the proxy answers itself, or asks for a sign-in of its own',
          'pass the request and the answer on unchanged; protect nothing below / with another sign-in',
        )
  const forged = await post({ authorization: 'Bearer doctor' })
  if ('fault' in forged) return [challenged, about('public.authorization_header').unknown(forged.fault)]
  if (forged.status !== 401)
    return [
      challenged,
      about('public.authorization_header').unknown(
        `the answer is ${forged.status}, before any token is looked at`,
      ),
    ]
  return [
    challenged,
    forged.text.includes('authentication is required')
      ? about('public.authorization_header').failure(
          'the Authorization header does not arrive',
          'the proxy removes it',
          'pass it on (nginx does so by itself; Apache needs CGIPassAuth or ProxyPass without its own Auth)',
        )
      : about('public.authorization_header').fine('the Authorization header arrives'),
  ]
}

/** Web clients read the discovery documents from other origins. */
export async function examineCors(origin: string): Promise<Finding> {
  const check = about('public.cors')
  const answer = await ask(origin + paths.protectedResource, {
    headers: { origin: 'https://doctor.invalid' },
  })
  if ('fault' in answer) return check.unknown(answer.fault)
  const allowed = answer.headers.get('access-control-allow-origin')
  return allowed === '*'
    ? check.fine('every page may read the discovery documents')
    : check.failure(
        `Access-Control-Allow-Origin is ${allowed ?? 'missing'}`,
        allowed === null
          ? 'the proxy drops it'
          : "the proxy adds its own to the daemon's; browsers refuse two",
        'let the daemon alone answer for CORS',
      )
}

/** A large request without a token is refused for the token by the daemon, and for its size by a proxy. */
export async function examineBodyLimit(origin: string): Promise<Finding> {
  const check = about('public.body_limit')
  const answer = await ask(origin + paths.mcp, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: Buffer.alloc(bodyBytes, ' '),
  })
  if ('fault' in answer) return check.unknown(answer.fault)
  return answer.status === 413
    ? check.failure(
        `a request of ${bodyBytes} bytes is answered with 413`,
        'the proxy allows less than server.max_body_bytes; nginx allows 1 MB unless told',
        'nginx: client_max_body_size 4m;',
      )
    : check.fine(`requests of ${bodyBytes} bytes arrive`)
}
