/** `doctor --attack URL`, the rows that need no account. */
import { request as requestPlain } from 'node:http'
import { request as requestTls } from 'node:https'
import { setTimeout as delay } from 'node:timers/promises'
import { randomId } from '../../core/secrets.ts'
import { paths } from '../../oauth/urls.ts'
import { answered, type Attack, type Outcome } from './attack-row.ts'
import { ask, type PublicAnswer } from './public-ask.ts'

const slowBodies = 20
const slowBodySeconds = 30
const redirectUri = 'https://doctor.invalid/callback'
/** Documentation, a cloud's host agent and its metadata, in the spellings that resolvers and browsers take for them. */
const addressHosts = [
  '93.184.216.34',
  '[2606:2800:220:1::1]',
  '168.63.129.16',
  '169.254.169.254',
  '2822734096',
]

/** What needs no account. */
export function attacksOfStrangers(origin: string): readonly Attack[] {
  const register = (type: string, uris: readonly string[]): Promise<Outcome | PublicAnswer> =>
    answered(`${origin}${paths.register}`, {
      method: 'POST',
      headers: { 'content-type': type },
      // The second of them no server takes, so that none is registered wherever the first would be.
      body: JSON.stringify({ redirect_uris: [...uris, 'javascript:void'] }),
    })
  return [
    {
      check: 'slow_bodies',
      remedy: 'a proxy that collects bodies needs a limit of its own (nginx: client_body_timeout 15s;)',
      run: () => attackSlowly(origin),
    },
    {
      check: 'registration_type',
      run: async () => {
        const answer = await register('text/plain', [redirectUri])
        if ('held' in answer) return answer
        const held = answer.status === 415 || turnedOff(answer)
        return { held, detail: `a text/plain registration is answered with ${answer.status}` }
      },
    },
    ...['code', 'state', 'iss'].map((name) => ({
      check: `redirect_uri_${name}`,
      run: async (): Promise<Outcome> => {
        const answer = await register('application/json', [`${redirectUri}?${name}=1`])
        if ('held' in answer) return answer
        const said = answer.text.includes(`must not have ${name} in its query`)
        const held = (answer.status === 400 && said) || turnedOff(answer)
        return { held, detail: `a redirect_uri with ${name} is answered with ${answer.status}` }
      },
    })),
    { check: 'address_as_client', run: () => askForAddresses(origin) },
    { check: 'unreachable_client', run: () => askTwiceForNothing(origin) },
    ...(['Authorization', 'Cookie'] as const).map((name) => ({
      check: `repeated_${name.toLowerCase()}`,
      run: () => repeatCredentials(origin, name),
    })),
  ]
}

/** Registration that is not offered gives nothing away. */
function turnedOff({ status, text }: PublicAnswer): boolean {
  return status === 403 && text.includes('access_denied')
}

/** Client ids whose host is an address: none is fetched. */
async function askForAddresses(origin: string): Promise<Outcome> {
  for (const host of addressHosts) {
    const answer = await askAuthorize(origin, `https://${host}/client.json`)
    if ('held' in answer) return answer
    if (answer.status !== 400 || /could not get/.test(answer.text))
      return {
        held: false,
        detail: `the client id https://${host}/client.json is answered with ${answer.status}`,
      }
  }
  return { held: true, detail: `none of ${addressHosts.join(', ')} is asked for a client's document` }
}

/** A client id at a name that does not exist: its host is not looked for again at once. */
async function askTwiceForNothing(origin: string): Promise<Outcome> {
  const host = `n${Buffer.from(randomId()).toString('hex').slice(0, 16)}.invalid`
  const first = await askAuthorize(origin, `https://${host}/1.json`)
  if ('held' in first) return first
  const second = await askAuthorize(origin, `https://${host}/2.json`)
  if ('held' in second) return second
  const never = second.text.includes('unknown client_id')
  const held = second.status === 400 && (never || /a moment ago|too many documents/.test(second.text))
  return {
    held,
    detail: never
      ? 'documents of clients are not fetched'
      : `a host that was not reached is ${held ? 'not ' : ''}asked for again at once`,
  }
}

function askAuthorize(origin: string, clientId: string): Promise<PublicAnswer | Outcome> {
  const query = new URLSearchParams({ response_type: 'code', client_id: clientId, redirect_uri: redirectUri })
  return answered(`${origin}${paths.authorize}?${query.toString()}`)
}

/** Two headers of which only one could count. */
async function repeatCredentials(origin: string, name: 'Authorization' | 'Cookie'): Promise<Outcome> {
  const url = new URL(origin + paths.userinfo)
  const [one, two] = name === 'Cookie' ? ['a=1', 'b=2'] : ['Bearer one', 'Bearer two']
  const status = await statusOf(url, ['Host', url.host, name, one, name, two])
  return {
    held: status === undefined ? undefined : status === 400,
    detail: `a request with two ${name} headers ${status === undefined ? 'got no answer' : `is answered with ${status}`}`,
  }
}

/** The status of a GET with its headers exactly so, which `fetch` would join. */
function statusOf(url: URL, headers: readonly string[]): Promise<number | undefined> {
  const send = url.protocol === 'https:' ? requestTls : requestPlain
  return new Promise((resolve) => {
    const outgoing = send(url, { headers, signal: AbortSignal.timeout(10_000) }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    outgoing.on('error', () => resolve(undefined)).end()
  })
}

/** A few bodies that never come: they are ended, and take no place meanwhile. */
async function attackSlowly(origin: string): Promise<Outcome> {
  const url = new URL(origin + paths.token)
  const end = new AbortController()
  const statuses: (number | undefined)[] = []
  const open = Array.from({ length: slowBodies }, () =>
    sendSlowly(url, end.signal).then((status) => statuses.push(status)),
  )
  let refused = 0
  for (let second = 0; second < slowBodySeconds && statuses.length < slowBodies; second++) {
    const answer = await ask(origin + paths.mcp, { method: 'POST', body: '{}' })
    if ('fault' in answer || answer.status >= 500) refused++
    await delay(1000)
  }
  const left = slowBodies - statuses.length
  end.abort()
  await Promise.all(open)
  const taken = statuses.filter((status) => status !== undefined && status < 400).length
  return {
    held: left === 0 && taken === 0 && refused === 0,
    detail:
      `of ${slowBodies} bodies that never came ${left} were waited for after ${slowBodySeconds} s, ${taken} were taken as they were, ` +
      `and ${refused} other requests were refused meanwhile`,
  }
}

/** Promises a body and sends one byte of it; answers with the status, or undefined when the connection is ended. */
function sendSlowly(url: URL, signal: AbortSignal): Promise<number | undefined> {
  const send = url.protocol === 'https:' ? requestTls : requestPlain
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': 1000 }
  return new Promise((resolve) => {
    const outgoing = send(url, { method: 'POST', headers, agent: false, signal }, (response) => {
      response.resume()
      resolve(response.statusCode)
      outgoing.destroy()
    })
    outgoing.on('error', () => resolve(undefined)).write('g')
  })
}
