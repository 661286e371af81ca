/**
 * Reads `config/users.yaml` and `config/roles.yaml`. The three roles that the program itself asks for always
 * exist; roles.yaml describes them at will and adds the site's own.
 */
import { objectWith } from '#leaf/object-schema.ts'
import { references } from '#leaf/references.ts'
import { assistantAdmin, assistantUser, systemManager } from '../core/principal.ts'
import { fileSchema } from '#leaf/file-schema.ts'
import { type FromSchema, type JSONSchema } from '#leaf/schema.ts'
import { checkDocument, checkReferences, requiredDocument } from '#site/checking.ts'
import type { Fault, SiteFiles, SourceDocument } from '#site/site-files.ts'
import { peopleOf, type People, type Role, type User } from './people.ts'

/** The file of a site's users. */
export const usersFile = 'config/users.yaml'
/** The file of a site's roles. */
export const rolesFile = 'config/roles.yaml'

const builtInRoles: readonly Role[] = [
  { name: systemManager, description: 'May do everything a role may allow.', source: 'built in' },
  {
    name: assistantAdmin,
    description: 'Runs the assistant: its library, clients, tokens and audit log.',
    source: 'built in',
  },
  { name: assistantUser, description: 'May use the assistant over MCP.', source: 'built in' },
]

const roleName = {
  type: 'string',
  title: 'one line without commas, which part the roles that row-level security is told',
  pattern: '^[^\\s\\x00-\\x1f,](?:[^\\x00-\\x1f,]*[^\\s\\x00-\\x1f,])?$',
  maxLength: 100,
} as const

/** The schema of `config/roles.yaml`. */
export const rolesSchema = objectWith({
  roles: { type: 'array', items: objectWith({ name: roleName }, { description: { type: 'string' } }) },
}) satisfies JSONSchema

/** The schema of `config/users.yaml`. */
export const usersSchema = objectWith({
  users: {
    type: 'array',
    // Faults are reported in this order.
    items: {
      type: 'object',
      additionalProperties: false,
      required: ['email', 'full_name', 'roles'],
      properties: {
        email: { type: 'string', format: 'email', maxLength: 254 },
        full_name: { type: 'string', minLength: 1, maxLength: 140 },
        enabled: { type: 'boolean', default: true },
        // 0 or 1 (specification §2.4). It is off by default, as access is a decision.
        assistant_enabled: { type: ['boolean', 'integer'], enum: [0, 1, true, false], default: 0 },
        roles: { type: 'array', items: references('role', { type: 'string' }) },
      },
    },
  },
}) satisfies JSONSchema

const checkRoles = fileSchema(rolesSchema, { defaults: true })
const checkUsers = fileSchema(usersSchema, { defaults: true })

/** Reads the site's users and roles. Faults are collected; with any, the answer is incomplete. */
export function readPeople(files: SiteFiles, faults: Fault[]): People {
  const roles = readRoles(files.documents.get(rolesFile), faults)
  const users = readUsers(requiredDocument(files, usersFile, faults), roles, faults)
  return peopleOf({ users, roles })
}

function readRoles(document: SourceDocument | undefined, faults: Fault[]): Map<string, Role> {
  const roles = new Map(builtInRoles.map((role) => [role.name, role]))
  if (!document) return roles
  const data = checkDocument<FromSchema<typeof rolesSchema>>(document, checkRoles, faults)
  // One fault in the file must not make every role that others name look unknown; only the names are used.
  if (!data)
    for (const name of namesIn(document.data))
      roles.set(name, { name, description: '', source: document.file })
  const firstLines = new Map<string, number>()
  for (const [index, { name, description }] of (data?.roles ?? []).entries()) {
    const here = document.fault(['roles', index, 'name'], '')
    // "sales user" beside "Sales User" is a slip that would give nobody what its author meant.
    const same = name.toLowerCase()
    const builtIn = builtInRoles.find((role) => role.name.toLowerCase() === same)
    const first = firstLines.get(same)
    if (first !== undefined) {
      faults.push({ ...here, message: `"${name}" is already given in line ${first}` })
    } else if (builtIn && builtIn.name !== name) {
      faults.push({ ...here, message: `"${name}" is built in as "${builtIn.name}"` })
    } else {
      firstLines.set(same, here.line)
      roles.set(name, {
        name,
        description: description ?? builtIn?.description ?? '',
        source: `${document.file}:${here.line}`,
      })
    }
  }
  return roles
}

function namesIn(data: unknown): string[] {
  const entries = (data as { roles?: unknown } | null)?.roles
  if (!Array.isArray(entries)) return []
  return entries
    .map((entry: unknown) => (entry as { name?: unknown } | null)?.name)
    .filter((name) => typeof name === 'string')
}

function readUsers(
  document: SourceDocument | undefined,
  roles: ReadonlyMap<string, Role>,
  faults: Fault[],
): Map<string, User> {
  const users = new Map<string, User>()
  if (!document) return users
  const data = checkDocument<FromSchema<typeof usersSchema>>(document, checkUsers, faults)
  if (data) checkReferences(document, usersSchema, { role: roles }, faults)
  for (const [index, entry] of (data?.users ?? []).entries()) {
    const id = entry.email.toLowerCase()
    const here = document.fault(['users', index, 'email'], '')
    const first = users.get(id)
    if (first) {
      faults.push({ ...here, message: `"${entry.email}" is already given at ${first.source}` })
      continue
    }
    users.set(id, {
      id,
      fullName: entry.full_name,
      enabled: entry.enabled,
      assistantEnabled: entry.assistant_enabled === 1 || entry.assistant_enabled === true,
      roles: new Set(entry.roles),
      source: `${document.file}:${here.line}`,
    })
  }
  return users
}
