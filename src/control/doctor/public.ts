/** `doctor --public URL`: checks the service as a client on the internet meets it, through every proxy in between. */
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { connect } from 'node:tls'
import { isLocal } from '#leaf/address.ts'
import { systemClock } from '#leaf/clock.ts'
import { messageOf } from '#leaf/errors.ts'
import { broken, fine, runChecks, unknown, warning, type Checks, type Finding } from './finding.ts'
import { answerChecks, examineWay, type Inside } from './public-answers.ts'
import { ask, patience, type PublicAnswer } from './public-ask.ts'
import { documentChecks, readDocuments } from './public-documents.ts'

const day = 86_400_000

/** Checks the public address; never throws for its findings. */
export async function examinePublic(text: string, inside: Inside | undefined): Promise<readonly Finding[]> {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.origin !== text.replace(/\/$/, '')) {
    const cause = 'this is not an address of the form https://host or https://host:port, in lower case'
    const remedy = `write it as ${url ? url.origin : 'https://assistant.example.com'}`
    return [{ check: 'public.url', ...broken(`"${text}"`, cause, remedy) }]
  }
  const health = await ask(`${url.origin}/healthz`).catch(messageOf)
  const found = await runChecks(addressChecks, { url, inside, health })
  if (typeof health === 'string') return found
  return [
    ...found,
    ...(await runChecks(documentChecks, await readDocuments(url.origin))),
    ...(await runChecks(answerChecks, url.origin)),
    ...(await examineWay(url, inside)),
  ]
}

/** Demands https, except on this machine. */
export function checkScheme({ protocol, hostname, origin }: URL) {
  return protocol === 'https:' || isLocal(hostname)
    ? fine(origin)
    : broken(
        origin,
        'tokens travel in clear text, and most clients refuse an http address',
        'end TLS at a proxy and set public_url to its https address (systemd/README.md)',
      )
}

/** Checks that clients can use the address: its form, name and certificate, and who answers `/healthz`, or why nobody does. */
const addressChecks: Checks<{ url: URL; inside: Inside | undefined; health: PublicAnswer | string }> = {
  'public.url': ({ url }) => checkScheme(url),
  // One byte more makes another address.
  'public.setting': ({ url: { origin }, inside }) => {
    if (!inside) return unknown('no daemon runs on this state, so its public_url is not known')
    if (inside.publicUrl === origin) return fine(`public_url is ${origin}`)
    const cause = 'the daemon publishes another address than the one that you asked about'
    const remedy = `set public_url: ${origin} in config/settings.yaml`
    return broken(`public_url is ${inside.publicUrl}, not ${origin}`, cause, remedy)
  },
  'public.dns': async ({ url }) =>
    await lookup(hostOf(url), { all: true }).then(
      (found) => fine(found.map(({ address }) => address).join(', ')),
      (error: unknown) =>
        broken(
          messageOf(error),
          "the name is unknown to this machine's resolver",
          'add the record to the DNS; a new one may take an hour to be seen everywhere',
        ),
    ),
  'public.tls': ({ url }) => (url.protocol === 'https:' ? checkTls(url) : undefined),
  'public.reachable': ({ health }) =>
    typeof health === 'string'
      ? broken(
          health,
          'nothing answers at the address, or not in the way of HTTP',
          'start the service; look at the proxy, its log, and the firewall in front of it',
        )
      : checkAnswer(health),
}

/** Checks the certificate chain like a client that trusts only its system's authorities. */
async function checkTls(url: URL) {
  const host = hostOf(url)
  const port = Number(url.port || 443)
  const socket = connect({ host, port, servername: host, rejectUnauthorized: false })
  socket.setTimeout(patience, () => socket.destroy(new Error('the TLS handshake did not end')))
  try {
    await once(socket, 'secureConnect')
    const until = Date.parse(socket.getPeerCertificate().valid_to)
    const left = Math.floor((until - systemClock.now()) / day)
    if (!socket.authorized) return untrusted(String(socket.authorizationError))
    if (left > 14) return fine(`${socket.getProtocol() ?? 'TLS'}, valid for ${left} days`)
    const remedy = 'renew it, and have it renewed automatically'
    return warning(`the certificate ends in ${left} days`, 'it is not renewed by itself', remedy)
  } catch (error) {
    return unknown(messageOf(error))
  } finally {
    socket.destroy()
  }
}

function untrusted(code: string) {
  const isCut = /UNABLE_TO_VERIFY_LEAF|UNABLE_TO_GET_ISSUER/.test(code)
  return broken(
    code,
    isCut
      ? 'the proxy sends its own certificate without those in between, or a private authority issued it'
      : 'the certificate is for another name, has ended, or nobody knows its issuer',
    isCut
      ? 'give the proxy the full chain (fullchain.pem); for a private authority set NODE_EXTRA_CA_CERTS'
      : 'get a certificate for this name from an authority that clients trust',
  )
}

/** Checks that this program answers, with the right time. */
function checkAnswer({ status, headers, text }: PublicAnswer) {
  if (status >= 300 && status < 400)
    return broken(
      `${status} to ${headers.get('location') ?? 'nowhere'}`,
      'a proxy redirects; clients do not follow that with their token',
      'use the address that it redirects to as public_url, or remove the redirect',
    )
  if (status !== 200 || !text.includes('"uptime_seconds"'))
    return broken(
      `/healthz answers ${status} with something else than this program`,
      [502, 504].includes(status) ? 'the proxy does not reach the daemon' : 'another program answers there',
      'let the proxy pass everything to server.host and server.port, every path included',
    )
  const drift = Math.abs(Date.parse(headers.get('date') ?? '') - systemClock.now())
  if (drift <= 60_000) return fine('/healthz answers')
  const detail = `its clock and this one differ by ${Math.round(drift / 1000)} seconds`
  return warning(detail, 'one of the two clocks stands wrong', 'synchronise both')
}

/** Returns the host in the form that DNS and TLS want. */
function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '')
}
