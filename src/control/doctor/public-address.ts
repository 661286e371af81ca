/** Whether the address is one that clients can use: its form, its name, its certificate, and who answers there. */
import { lookup } from 'node:dns/promises'
import { connect } from 'node:tls'
import type { Clock } from '../../core/clock.ts'
import { isLocal } from '../../core/address.ts'
import { messageOf } from '../../core/errors.ts'
import { about, type Finding } from './finding.ts'
import { patience, type PublicAnswer, type Inside } from './public-ask.ts'

const day = 86_400_000

/** The address of a service as somebody typed it, or what is wrong with it. */
export function readOrigin(check: string, text: string): URL | Finding {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url && /^https?:$/.test(url.protocol) && url.origin === text.replace(/\/$/, '')) return url
  return about(check).failure(
    `"${text}"`,
    'this is not an address of the form https://host or https://host:port, in lower case',
    `write it as ${url ? url.origin : 'https://assistant.example.com'}`,
  )
}

/** Nothing answered there. */
export function unreachable(check: string, fault: string): Finding {
  return about(check).failure(
    fault,
    'nothing answers at the address, or not in the way of HTTP',
    'start the service; look at the proxy, its log, and the firewall in front of it',
  )
}

/** Only https, but on this machine. */
export function examineScheme(check: string, { protocol, hostname, origin }: URL): Finding {
  return protocol === 'https:' || isLocal(hostname)
    ? about(check).fine(origin)
    : about(check).failure(
        origin,
        'tokens travel in clear text, and most clients refuse an http address',
        'end TLS at a proxy and set public_url to its https address (systemd/README.md)',
      )
}

/** Whether the daemon publishes this address; one byte more is another. */
export function examineSetting(origin: string, inside: Inside | undefined): Finding {
  const check = about('public.setting')
  if (!inside) return check.unknown('no daemon runs on this state, so its public_url is not known')
  return inside.publicUrl === origin
    ? check.fine(`public_url is ${origin}`)
    : check.failure(
        `public_url is ${inside.publicUrl}, not ${origin}`,
        'the daemon publishes another address than the one that you asked about',
        `set public_url: ${origin} in config/settings.yaml and restart`,
      )
}

/** Whether the name is known. */
export async function examineName({ hostname }: URL): Promise<Finding> {
  try {
    const found = await lookup(hostname.replace(/^\[|\]$/g, ''), { all: true })
    return about('public.dns').fine(found.map(({ address }) => address).join(', '))
  } catch (error) {
    return about('public.dns').failure(
      messageOf(error),
      "the name is unknown to this machine's resolver",
      'add the record to the DNS; a new one may take an hour to be seen everywhere',
    )
  }
}

/** The chain as a client checks it that trusts only what its system trusts. */
export function examineTls({ hostname, port }: URL, clock: Clock): Promise<Finding> {
  const check = about('public.tls')
  return new Promise((resolve) => {
    const host = hostname.replace(/^\[|\]$/g, '')
    const socket = connect({ host, port: Number(port || 443), servername: host, rejectUnauthorized: false })
    const done = (finding: Finding): void => {
      socket.destroy()
      resolve(finding)
    }
    socket.setTimeout(patience, () => done(check.unknown('the TLS handshake did not end')))
    socket.once('error', (error) => done(check.unknown(messageOf(error))))
    socket.once('secureConnect', () => {
      const until = Date.parse(socket.getPeerCertificate().valid_to)
      const left = Math.floor((until - clock.now()) / day)
      if (socket.authorized)
        return done(
          left > 14
            ? check.fine(`${socket.getProtocol() ?? 'TLS'}, valid for ${left} days`)
            : check.warning(
                `the certificate ends in ${left} days`,
                'it is not renewed by itself',
                'renew it, and have it renewed automatically',
              ),
        )
      const code = String(socket.authorizationError)
      const incomplete = /UNABLE_TO_VERIFY_LEAF|UNABLE_TO_GET_ISSUER/.test(code)
      done(
        check.failure(
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

/** Whether it is this program that answers, at the right time. */
export function examineAnswer({ status, headers, text }: PublicAnswer, clock: Clock): Finding {
  const check = about('public.reachable')
  if (status >= 300 && status < 400)
    return check.failure(
      `${status} to ${headers.get('location') ?? 'nowhere'}`,
      'a proxy redirects; clients do not follow that with their token',
      'use the address that it redirects to as public_url, or remove the redirect',
    )
  if (status !== 200 || !text.includes('"uptime_seconds"'))
    return check.failure(
      `/healthz answers ${status} with something else than this program`,
      status === 502 || status === 504
        ? 'the proxy does not reach the daemon'
        : 'another program answers there',
      'let the proxy pass everything to server.host and server.port, every path included',
    )
  const drift = Math.abs(Date.parse(headers.get('date') ?? '') - clock.now())
  return drift > 60_000
    ? check.warning(
        `its clock and this one differ by ${Math.round(drift / 1000)} seconds`,
        'one of the two clocks stands wrong',
        'synchronise both',
      )
    : check.fine('/healthz answers')
}
