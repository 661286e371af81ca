/** Reads `config/clients.yaml`: the most that OAuth clients may use, whoever they act for. */
import { fileSchema } from '#leaf/file-schema.ts'
import { type FromSchema, type JSONSchema } from '#leaf/schema.ts'
import { checkDocument, checkReferences } from '#site/checking.ts'
import type { Fault, SiteFiles } from '#site/site-files.ts'
import type { People } from '../../users/people.ts'
import type { ClientLimit } from './platform.ts'
import { sourceOf } from './doctype-reading.ts'
import { references } from '#leaf/references.ts'
import { objectWith } from '#leaf/object-schema.ts'

/** The file that limits clients. */
export const clientsFile = 'config/clients.yaml'
const text = { type: 'string', minLength: 1 } as const
const names = { type: 'array', items: text, uniqueItems: true } as const

/** A limit without `roles` or `tools` leaves that side open; an empty list leaves nothing. */
export const clientsSchema = objectWith({
  limits: {
    type: 'array',
    items: objectWith(
      { clients: { ...names, minItems: 1 } },
      {
        roles: { ...names, items: references('role', text) },
        tools: { ...names, items: references('tool', text) },
      },
    ),
  },
}) satisfies JSONSchema

const checkClients = fileSchema(clientsSchema)

/** Reads the limits, in the order of the file. */
export function readClientLimits(files: SiteFiles, faults: Fault[], people: People): ClientLimit[] {
  const document = files.documents.get(clientsFile)
  const data = document && checkDocument<FromSchema<typeof clientsSchema>>(document, checkClients, faults)
  if (data) checkReferences(document, clientsSchema, { role: people.roles }, faults)
  return (data?.limits ?? []).map((limit, index) => ({
    ...limit,
    source: sourceOf(document!, ['limits', index]),
  }))
}
