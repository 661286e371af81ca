/** `config/clients.yaml`: what OAuth clients may at most use, whoever they act for. */
import { type Principal, roleKeyOf, systemManager } from '../core/principal.ts'
import { compileSchema, type FromSchema, type JSONSchema } from '../core/schema.ts'
import { checkDocument } from '../site/check-document.ts'
import type { Fault, SiteFiles } from '../site/site-files.ts'
import type { People } from '../users/people.ts'
import type { ClientLimit, Platform } from './platform.ts'
import { sourceOf, unknown } from './read-doctypes.ts'

const file = 'config/clients.yaml'
const names = {
  type: 'array',
  items: { type: 'string', minLength: 1 },
  minItems: 1,
  uniqueItems: true,
} as const

const clientsSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['limits'],
  properties: {
    limits: {
      type: 'array',
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['clients'],
        properties: { clients: names, roles: { ...names, minItems: 0 }, tools: { ...names, minItems: 0 } },
      },
    },
  },
} as const satisfies JSONSchema

const checkClients = compileSchema(clientsSchema)

export function readClientLimits(files: SiteFiles, faults: Fault[], people: People): ClientLimit[] {
  const document = files.documents.get(file)
  const data = document && checkDocument<FromSchema<typeof clientsSchema>>(document, checkClients, faults)
  return (data?.limits ?? []).map((limit, index) => {
    for (const [i, role] of (limit.roles ?? []).entries())
      if (!people.roles.has(role))
        faults.push(
          document!.fault(['limits', index, 'roles', i], unknown('role', role, people.roles.keys())),
        )
    return {
      clients: limit.clients,
      ...(limit.roles && { roles: limit.roles }),
      ...(limit.tools && { tools: limit.tools }),
      source: sourceOf(document!, ['limits', index]),
    }
  })
}

/** What is left of a principal when its client's limits are applied: user ∩ client, never more than either. */
export function limited(platform: Pick<Platform, 'clientLimits'>, principal: Principal): Principal {
  const limits = limitsOf(platform, principal)
  if (limits.length === 0) return principal
  let { roles, toolLimit } = principal
  for (const limit of limits) {
    if (limit.roles) roles = intersection(roles, limit.roles)
    if (limit.tools) toolLimit = toolLimit ? narrower(toolLimit, limit.tools) : limit.tools
  }
  return { ...principal, roles, roleKey: roleKeyOf(roles), ...(toolLimit && { toolLimit }) }
}

/** The limits that count for the client that the principal acts through. */
export function limitsOf(
  { clientLimits }: Pick<Platform, 'clientLimits'>,
  { client }: Principal,
): readonly ClientLimit[] {
  if (!client) return []
  return clientLimits.filter((limit) =>
    limit.clients.some((pattern) => matches(pattern, client.id) || matches(pattern, client.name)),
  )
}

/** A System Manager holds every role, and so keeps those that the client may use, not the whole. */
function intersection(roles: ReadonlySet<string>, allowed: readonly string[]): ReadonlySet<string> {
  const all = roles.has(systemManager)
  return new Set(allowed.filter((role) => all || roles.has(role)))
}

function narrower(limit: readonly string[], other: readonly string[]): string[] {
  const both: string[] = []
  for (const a of limit)
    for (const b of other) {
      if (a === b || matches(b, a)) both.push(a)
      else if (matches(a, b)) both.push(b)
    }
  return [...new Set(both)]
}

/** Whether `*` at the end of a pattern, or the pattern itself, means the name. */
function matches(pattern: string, name: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : pattern === name
}
