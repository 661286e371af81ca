import { ClientDocuments } from '../oauth/clients/client-documents.ts'
import { Clients } from '../oauth/clients/clients.ts'
import { guardedFetch } from '#outside/guarded-fetch.ts'
import type { Foundation } from './foundation.ts'
import type { TokenDoor } from './token-door.ts'

/** Who asks for tokens. */
export type ClientDoor = ReturnType<typeof openClients>

/** Opens what is known of clients. */
export function openClients({ store, clock, settings, log, tokens }: Foundation & Pick<TokenDoor, 'tokens'>) {
  const fetch = guardedFetch({ proxy: () => settings().oauth.egress_proxy })
  const clientDocuments = new ClientDocuments({ store, clock, settings, fetch, log })
  const clients = new Clients({ store, clock, settings, tokens, documents: clientDocuments })
  return { clients, clientDocuments }
}
