import type { Shown } from './shown.ts'
import type { TraceContext } from './trace-context.ts'

/** The OAuth client that acts for a user, as far as permission and audit need to know it. */
export interface ActingClient {
  readonly id: string
  readonly name: string
}

/** What a token acts through that an operator issued for no other client. */
export const commandLine: ActingClient = { id: 'assistant-core-cli', name: 'assistant-core command line' }

/**
 * Who a request runs as: a user with the roles that count for this request, the client that acts
 * for the user, and where the request came from. The one thing that `oauth/` hands to `mcp/`.
 */
export interface Principal {
  /** The user's id in `config/users.yaml`: an e-mail address. */
  readonly user: string
  readonly fullName: string
  /** The user's roles, less what the client is not allowed to use. */
  readonly roles: ReadonlySet<string>
  /** `roles` as one text, equal for equal sets: the key of everything that is computed per role set. */
  readonly roleKey: string
  /** Absent for API keys, browser sessions and the command line. */
  readonly client?: ActingClient
  readonly scopes: readonly string[]
  /** When set, the only tools that this client may use; `'*'` at the end of a name matches any ending. */
  readonly toolLimit?: readonly string[]
  /** The user allowed the client to read only: tools that do more are not there for it. */
  readonly readOnly?: true
  /** What the peer calls its conversation (`Mcp-Session-Id`); correlates audit events, means nothing else. */
  readonly sessionId?: string
  readonly requestId: string
  /** Where in a trace the request stands; absent when nobody traces it. */
  readonly trace?: TraceContext
  /** Notes every document that the request is shown; absent where no event tells of it. */
  readonly shown?: Shown
  /** The peer's network address, after trusted proxies. */
  readonly address?: string
  /** When the token ends, in milliseconds since the epoch: streams close then. */
  readonly expiresAt?: number
}

/** A user as a principal that nothing narrows, for a request or a question of this id. */
export function principalFor(
  {
    id,
    fullName,
    roles,
  }: { readonly id: string; readonly fullName: string; readonly roles: ReadonlySet<string> },
  requestId: string,
): Principal {
  return { user: id, fullName, roles, roleKey: roleKeyOf(roles), scopes: [], requestId }
}

/** A principal with every property written out, so that none is forgotten: spreading costs ten times as much. */
export type WholePrincipal = { readonly [Key in keyof Required<Principal>]: Principal[Key] }

/** The same principal, which notes what it is shown and may stand elsewhere in a trace. */
export function noting(
  principal: Principal,
  shown: Shown,
  trace = principal.trace,
): WholePrincipal & { readonly shown: Shown } {
  return {
    user: principal.user,
    fullName: principal.fullName,
    roles: principal.roles,
    roleKey: principal.roleKey,
    client: principal.client,
    scopes: principal.scopes,
    toolLimit: principal.toolLimit,
    readOnly: principal.readOnly,
    sessionId: principal.sessionId,
    requestId: principal.requestId,
    trace,
    shown,
    address: principal.address,
    expiresAt: principal.expiresAt,
  }
}

/** The role that may do everything a role may allow; it does not lift document rules such as "submitted". */
export const systemManager = 'System Manager'

/** The role without which nobody uses the MCP endpoint. */
export const assistantUser = 'Assistant User'

/** The role that reads the audit log, on its page and through its tool. */
export const auditor = 'Auditor'

/** The key of a role set: its sorted names in one text. */
export function roleKeyOf(roles: Iterable<string>): string {
  return [...roles].sort().join('\n')
}

/** The role that runs the assistant: clients, tokens, what there is to see of the site. */
export const assistantAdmin = 'Assistant Admin'

/** Whether the principal holds the role; a System Manager holds every role. */
export function hasRole(principal: Pick<Principal, 'roles'>, role: string): boolean {
  return principal.roles.has(role) || principal.roles.has(systemManager)
}

/** The session id that a request's header carries (specification §2.10): visible ASCII, at most 128 characters, or none. */
export function sessionIdOf(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' && /^[\x21-\x7e]{1,128}$/.test(header) ? header : undefined
}
