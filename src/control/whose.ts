/** Whom and what an operation is about, found by the names that people type. */
import { AppError } from '#leaf/errors.ts'
import { principalFor, systemPrincipal, type Principal } from '../core/principal.ts'
import type { Client } from '../oauth/records.ts'
import { knownUser } from '#credentials/holders.ts'
import type { Needs } from './operation.ts'

/** Returns the principal for whom an operation is done: the given user, or the operator with every right. */
export function principalOf(taken: Needs<'people'>, email: string | undefined): Principal {
  return email === undefined
    ? systemPrincipal('command line')
    : principalFor(knownUser(taken.people(), email), 'command line')
}

/** Finds a client. AppError `not_found`. */
export async function clientOf({ clients }: Needs<'clients'>, id: string): Promise<Client> {
  const client = await clients.find(id)
  if (!client) throw new AppError('not_found', `no client ${id}`)
  return client
}
