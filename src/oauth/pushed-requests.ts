/** Authorization requests that clients pushed (RFC 9126): kept for ten minutes under a name that says nothing of them. */
import type { Clock } from '#leaf/clock.ts'
import { randomSecret, sha256 } from '#leaf/secrets.ts'
import { compared } from '#state/questions.ts'
import type { Collection, CollectionSpec, Store, Stored } from '#state/store.ts'
import { type Params, readParams } from '#ui/requests.ts'
import { OAuthError } from './protocol.ts'

interface PushedRequest extends Stored {
  readonly client: string
  /** Its parameters, as the query of an address; no credentials of the client are among them. */
  readonly query: string
  /** Where it came from; absent in records up to 2.17.0. */
  readonly network?: string
  readonly at: number
  readonly endsAt: number
}

/** A request that was pushed: its name, which gives one code, and the time, in milliseconds since the epoch. */
export interface Pushed {
  readonly uri: string
  readonly at: number
}

/** Pushed requests, stored under the hash of the name of each. */
export const pushedRecords: CollectionSpec<PushedRequest> = {
  name: 'oauth.pushed',
  indexes: ['network'],
  expires: 'endsAt',
}

const seconds = 600
const mostBytes = 8192
/** The most that are kept for one network: whoever is nobody's client yet may push, and each takes room. */
const mostOfNetwork = 300
const prefix = 'urn:ietf:params:oauth:request_uri:'
const parameters =
  'client_id response_type response_mode redirect_uri scope state code_challenge code_challenge_method nonce prompt max_age'.split(
    ' ',
  )

/** The pushed requests of all clients. */
export class PushedRequests {
  readonly #clock: Clock
  readonly #requests: Collection<PushedRequest>

  constructor({ store, clock }: { store: Store; clock: Clock }) {
    this.#clock = clock
    this.#requests = store.collection(pushedRecords)
  }

  /** Keeps the checked request of a client in a network, and returns the answer to it (RFC 9126 §2.2). OAuthError 429 for too many. */
  async push(
    client: string,
    params: Params,
    network: string,
  ): Promise<{ request_uri: string; expires_in: number }> {
    const kept = new URLSearchParams()
    for (const name of parameters) kept.set(name, params.get(name) ?? '')
    for (const resource of params.resources) kept.append('resource', resource)
    const query = kept.toString()
    if (query.length > mostBytes)
      throw new OAuthError('invalid_request', `more than ${mostBytes} bytes of parameters`, { status: 413 })
    const uri = prefix + randomSecret('ac_rq_')
    const at = this.#clock.now()
    const holds = compared('endsAt', '>', at)
    if ((await this.#requests.count({ where: { network }, holds, limit: mostOfNetwork })) >= mostOfNetwork)
      throw new OAuthError('temporarily_unavailable', 'too many requests from here wait for a sign-in', {
        status: 429,
        headers: { 'Retry-After': '60' },
      })
    await this.#requests.insert({ id: sha256(uri), client, query, network, at, endsAt: at + seconds * 1000 })
    return { request_uri: uri, expires_in: seconds }
  }

  /** Reads an authorization request, pushed or not. OAuthError `invalid_request` for one that is gone or another client's. */
  async read(query: string): Promise<{ readonly params: Params; readonly pushed?: Pushed }> {
    const params = readParams(new URLSearchParams(query))
    const uri = params.get('request_uri')
    if (!uri?.startsWith(prefix)) return { params }
    const found = await this.#requests.get(sha256(uri))
    if (!found || found.endsAt <= this.#clock.now() || found.client !== params.get('client_id'))
      throw new OAuthError(
        'invalid_request',
        'this request has ended, or never was; let the app connect anew',
      )
    const kept = new URLSearchParams(found.query)
    // Of the address counts only that the user must be asked, which the way back from a sign-in adds (RFC 9101 §6.3).
    const prompts = (kept.get('prompt') ?? '').split(' ').filter((prompt) => prompt !== '')
    if (params.get('prompt')?.split(' ').includes('consent') && !prompts.includes('consent'))
      kept.set('prompt', [...prompts, 'consent'].join(' '))
    return { params: readParams(kept), pushed: { uri, at: found.at } }
  }
}
