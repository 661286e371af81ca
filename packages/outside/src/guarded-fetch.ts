/**
 * Fetches JSON that a stranger named (client documents, key sets) without giving the stranger a way into our network:
 * https only, public addresses only, the address that was checked is the one dialled, no redirects, a small answer, a
 * short deadline, and nothing of ours is sent along.
 */
import { jsonOr } from '#leaf/as-json.ts'
import { Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { request } from 'node:https'
import { isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect } from 'node:tls'
import { http } from '#leaf/node-http.ts'
import { messageOf } from '#leaf/errors.ts'
import { isPublicHost } from '#leaf/public-address.ts'
import { BodyTooLarge } from '#front/request-body.ts'
import { pinned } from './pinned.ts'

/** The result of a fetch. */
export interface FetchedJson {
  readonly body: unknown
  /** Seconds that the server lets the answer be kept; absent when it does not say. */
  readonly maxAge?: number
}

/** Fetches JSON from a URL; throws an Error that says why not. */
export type GuardedFetch = (url: string) => Promise<FetchedJson>

/** An error: nothing of the document is known, because its host did not answer. */
export class HostUnreachable extends Error {
  override readonly name = 'HostUnreachable'
}

/** The access to the outside; tests replace it. */
export interface FetchOptions {
  readonly resolve?: (host: string, deadline: AbortSignal) => Promise<readonly string[]>
  /** The proxy (`http://host:port`) that looks up names and dials for us, and decides what can be reached. */
  readonly proxy?: () => string | null
  /** The name servers used instead of the system's. */
  readonly nameServers?: readonly string[]
  /** True when an address, or a name that the proxy looks up, may be reached. */
  readonly isAllowed?: (host: string) => boolean
  readonly timeoutMilliseconds?: number
  readonly maxBytes?: number
  /** An additional certificate authority. */
  readonly ca?: string
}

/** Makes the only fetch that may touch URLs from outside. */
export function guardedFetch(options: FetchOptions = {}): GuardedFetch {
  const {
    nameServers,
    proxy = () => null,
    resolve = (host, deadline) => systemResolve(host, deadline, nameServers),
    isAllowed = isPublicHost,
    timeoutMilliseconds = 5000,
    maxBytes = 16_384,
    ca,
  } = options
  return async (text) => {
    const url = new URL(text)
    if (url.protocol !== 'https:') throw new Error('it is not an https URL')
    if (url.username !== '' || url.password !== '') throw new Error('it has a user name or password')
    const deadline = AbortSignal.timeout(timeoutMilliseconds)
    const host = url.hostname.replace(/^\[|\]$/g, '')
    const through = proxy()
    if (through !== null) {
      if (!isAllowed(host)) throw new Error('its host is not on the public internet')
      const tunnel = await withDeadline(openTunnel(through, url, deadline), deadline)
      return get(url, { tunnel }, { deadline, maxBytes, ca })
    }
    const addresses = isIP(host) ? [host] : await withDeadline(resolve(host, deadline), deadline)
    // One bad address among good ones is the mark of a rebinding name.
    if (addresses.length === 0) throw new HostUnreachable('its host has no address')
    if (!addresses.every(isAllowed)) throw new Error('its host is not on the public internet')
    return get(url, { address: addresses[0]! }, { deadline, maxBytes, ca })
  }
}

/**
 * Looks a name up in the hosts file, then at the name servers. Never by getaddrinfo: it cannot be cancelled, and a few
 * names whose servers are silent take the threads of every other look-up in the process.
 */
async function systemResolve(
  host: string,
  deadline: AbortSignal,
  nameServers: readonly string[] | undefined,
): Promise<readonly string[]> {
  const local = await fromHostsFile(host)
  if (local.length > 0) return local
  const resolver = new Resolver({ timeout: 2000, tries: 2 })
  if (nameServers) resolver.setServers(nameServers)
  deadline.addEventListener('abort', () => resolver.cancel(), { once: true })
  const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  const [failed] = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason as Error] : []))
  if (addresses.length === 0 && failed) throw new HostUnreachable(failed.message, { cause: failed })
  return addresses
}

async function fromHostsFile(host: string): Promise<readonly string[]> {
  const text = await readFile('/etc/hosts', 'utf8').catch(() => '')
  return text.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/)
    return names.includes(host) && isIP(address) !== 0 ? [address] : []
  })
}

async function withDeadline<T>(work: Promise<T>, deadline: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    deadline.addEventListener('abort', () => reject(new HostUnreachable('it took too long')), { once: true })
    work.then(resolve, reject)
  })
}

/** Opens a connection to the URL's host through a proxy (RFC 9110 §9.3.6). */
function openTunnel(proxy: string, url: URL, signal: AbortSignal): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const authority = `${url.hostname}:${url.port || '443'}`
    const asking = http.request(proxy, {
      method: 'CONNECT',
      path: authority,
      headers: { Host: authority },
      agent: false,
      signal,
    })
    const refused = (why: string, cause?: unknown): void =>
      reject(new HostUnreachable(`the egress proxy ${why}`, { cause }))
    asking.on('error', (error) => refused(`cannot be used: ${error.message}`, error))
    asking.on('response', (response) => {
      response.destroy()
      refused(`answered ${response.statusCode ?? 0}`)
    })
    asking.on('connect', (response, socket) => {
      if (response.statusCode === 200) return resolve(socket)
      socket.destroy()
      refused(`answered ${response.statusCode ?? 0}`)
    })
    asking.end()
  })
}

function get(
  url: URL,
  way: { readonly address: string } | { readonly tunnel: Duplex },
  limits: { deadline: AbortSignal; maxBytes: number; ca: string | undefined },
): Promise<FetchedJson> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, {
      method: 'GET',
      signal: limits.deadline,
      headers: { Accept: 'application/json', 'Accept-Encoding': 'identity' },
      ...('tunnel' in way
        ? { createConnection: () => connect({ socket: way.tunnel, servername: url.hostname, ca: limits.ca }) }
        : { agent: false, lookup: pinned(way.address) }),
      ...(limits.ca !== undefined && { ca: limits.ca }),
    })
    let isReached = false
    outgoing.on('socket', (socket) => socket.once('secureConnect', () => (isReached = true)))
    const broken = (cause: unknown): void => {
      const why = limits.deadline.aborted ? 'it took too long' : messageOf(cause)
      // One slow document says nothing of the others of its host.
      reject(isReached ? new Error(why, { cause }) : new HostUnreachable(why, { cause }))
    }
    outgoing.on('error', broken)
    outgoing.on('response', (response) => {
      const fail = (why: string): void => {
        reject(new Error(why))
        response.destroy()
      }
      if (response.statusCode !== 200) return fail(`it answered ${response.statusCode ?? 0}`)
      if (!/^application\/([\w.-]+\+)?json\s*(;|$)/i.test(response.headers['content-type'] ?? '')) {
        return fail('it is not JSON')
      }
      readWithin(response, limits.maxBytes)
        .then((bytes) => resolve({ body: jsonOf(bytes), ...maxAgeOf(response.headers['cache-control']) }))
        .catch(broken)
    })
    outgoing.end()
  })
}

/** Reads a whole answer, and gives up as soon as it is too much. Rejects with BodyTooLarge. */
export async function readWithin(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > maxBytes) throw new BodyTooLarge(maxBytes)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function jsonOf(bytes: Buffer): unknown {
  const value = jsonOr(bytes.toString())
  if (value === undefined) throw new Error('it is not JSON')
  return value
}

function maxAgeOf(header: string | undefined): { maxAge?: number } {
  if (header === undefined) return {}
  if (/\bno-(store|cache)\b/i.test(header)) return { maxAge: 0 }
  const seconds = /\bmax-age=(\d{1,9})/i.exec(header)?.[1]
  return seconds === undefined ? {} : { maxAge: Number(seconds) }
}
