/** The endpoint for pushed authorization requests (RFC 9126): all that the browser would carry, checked before it sets out. */
import { networkKey } from '#leaf/address.ts'
import type { Endpoint } from '#front/exchange.ts'
import { answerJson, originOf, type Params } from '#ui/requests.ts'
import { authenticateClient } from '../clients/client-authentication.ts'
import { asOAuthError, jsonEndpoint, readClientForm } from '../http-middleware.ts'
import type { Parts } from '../parts.ts'
import { checkRequest, findTarget } from './authorization-request.ts'

/** The dependencies of the endpoint. */
export type PushedRequestDeps = Parts<
  'settings' | 'publicUrl' | 'assertions' | 'clients' | 'pushed' | 'limits' | 'trace'
>

/** Answers POST with the name under which the browser brings the request to the authorization endpoint. */
export function pushedRequestEndpoint(deps: PushedRequestDeps): Endpoint {
  return jsonEndpoint(async (ctx) => {
    const sent = await readClientForm(ctx, deps)
    const { id } = await authenticateClient(ctx.get('Authorization'), sent, deps)
    const params: Params = { ...sent, get: (name) => (name === 'client_id' ? id : sent.get(name)) }
    const attempt = deps.trace.begin(params)
    try {
      const network = networkKey(originOf(ctx).address)
      const target = await findTarget(params, deps.clients, network)
      checkRequest(params, target, deps.settings(), deps.publicUrl())
      answerJson(ctx, 201, await deps.pushed.push(id, params, network))
      deps.trace.step(attempt, 'request pushed')
    } catch (error) {
      const fault = asOAuthError(error)
      if (fault) deps.trace.fail(attempt, 'pushed request', `${fault.code}: ${fault.message}`)
      throw error
    }
  })
}
