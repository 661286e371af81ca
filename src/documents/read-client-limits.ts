/** `config/clients.yaml`: what OAuth clients may at most use, whoever they act for. */
import { compileSchema, type FromSchema, type JSONSchema } from '../core/schema.ts'
import { checkDocument, checkNames } from '../site/check-document.ts'
import type { Fault, SiteFiles } from '../site/site-files.ts'
import type { People } from '../users/people.ts'
import type { ClientLimit } from './platform.ts'
import { sourceOf } from './doctype-reading.ts'
import { objectWith } from '../core/object-schema.ts'

const file = 'config/clients.yaml'
const names = {
  type: 'array',
  items: { type: 'string', minLength: 1 },
  minItems: 1,
  uniqueItems: true,
} as const

/** A limit without `roles` or `tools` leaves that side open; an empty list leaves nothing. */
export const clientsSchema = objectWith({
  limits: {
    type: 'array',
    items: objectWith(
      { clients: names },
      { roles: { ...names, minItems: 0 }, tools: { ...names, minItems: 0 } },
    ),
  },
}) satisfies JSONSchema

const checkClients = compileSchema(clientsSchema)

/** The limits in the order of the file; all that fit a client hold together. */
export function readClientLimits(files: SiteFiles, faults: Fault[], people: People): ClientLimit[] {
  const document = files.documents.get(file)
  const data = document && checkDocument<FromSchema<typeof clientsSchema>>(document, checkClients, faults)
  return (data?.limits ?? []).map((limit, index) => {
    checkNames(document!, ['limits', index, 'roles'], 'role', limit.roles, people.roles, faults)
    return {
      clients: limit.clients,
      ...(limit.roles && { roles: limit.roles }),
      ...(limit.tools && { tools: limit.tools }),
      source: sourceOf(document!, ['limits', index]),
    }
  })
}
