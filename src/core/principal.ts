import { isoTime } from '#leaf/clock.ts'
import type { Narrowing } from './narrowing.ts'
import type { Shown } from './shown.ts'
import type { TraceContext } from '#telemetry/trace-context.ts'

/** The OAuth client that acts for a user, as far as permission and audit need to know it. */
export interface ActingClient {
  readonly id: string
  readonly name: string
}

/** The client of a token that an operator issued for no other client. */
export const commandLine: ActingClient = { id: 'assistant-core-cli', name: 'assistant-core command line' }

/** Returns the names by which people know clients, the command line included. */
export function clientNames(clients: readonly ActingClient[]): ReadonlyMap<string, string> {
  return new Map([commandLine, ...clients].map(({ id, name }) => [id, name]))
}

/**
 * The identity that a request runs as: a user with the roles that count for this request, the client that
 * acts for the user, and the origin of the request. The one thing that `oauth/` hands to `mcp/`.
 */
export interface Principal {
  /** The user's id in `config/users.yaml`: an e-mail address. */
  readonly user: string
  readonly fullName: string
  /** The language in which a person reads what is said to them; absent for programs. */
  readonly language?: string
  /** The user's roles, without those that the client may not use. */
  readonly roles: ReadonlySet<string>
  /** `roles` as one text, equal for equal sets: the key of everything that is computed per role set. */
  readonly roleKey: string
  /** Absent for API keys, browser sessions and the command line. */
  readonly client?: ActingClient
  /** The id of the API key that it acts by. */
  readonly apiKey?: string
  readonly scopes: readonly string[]
  /** The only tools that this client may use, when set; `'*'` at the end of a name matches any ending. */
  readonly toolLimit?: readonly string[]
  /** Set when the user allowed the client only to read: it is not offered tools that do more. */
  readonly readOnly?: true
  /** The tools that the request itself wants to do with. */
  readonly narrowing?: Narrowing
  /** The peer's name for its conversation (`Mcp-Session-Id`); it correlates audit events and means nothing else. */
  readonly sessionId?: string
  readonly requestId: string
  /** The request's place in a trace; absent when nobody traces it. */
  readonly trace?: TraceContext
  /** Records every document that the request is shown; absent where no event reports them. */
  readonly shown?: Shown
  /** Charges milliseconds that the work costs everybody to the budget of its requests; absent where there is no budget. */
  readonly pay?: (milliseconds: number) => void
  /** The peer's network address, beyond any trusted proxies. */
  readonly address?: string
  /** The end of the token in milliseconds since the epoch: streams close then. */
  readonly expiresAt?: number
  /**
   * Resolves once the token is known to be valid still, and rejects when it is not; absent where that is known already.
   * Until then nothing is shown, kept or told in this name.
   */
  readonly proven?: Promise<void>
}

/** Returns a user as a principal without restrictions, for the request or question with this id. */
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

/** Returns the same principal, which records what it is shown and may stand elsewhere in a trace. */
export function noting(
  principal: Principal,
  shown: Shown,
  trace = principal.trace,
): WholePrincipal & { readonly shown: Shown } {
  return {
    user: principal.user,
    fullName: principal.fullName,
    language: principal.language,
    roles: principal.roles,
    roleKey: principal.roleKey,
    client: principal.client,
    apiKey: principal.apiKey,
    scopes: principal.scopes,
    toolLimit: principal.toolLimit,
    readOnly: principal.readOnly,
    narrowing: principal.narrowing,
    sessionId: principal.sessionId,
    requestId: principal.requestId,
    trace,
    shown,
    pay: principal.pay,
    address: principal.address,
    expiresAt: principal.expiresAt,
    proven: principal.proven,
  }
}

/** Tells a model whom it works for, of which day and in which currency: tools and instructions say the same. */
export function describedCaller(
  { user, fullName, roles, client }: Principal,
  now: number,
  currency: string | null = null,
): Readonly<Record<string, unknown>> {
  return {
    user,
    name: fullName,
    roles: [...roles].sort(),
    ...(client && { client: client.name }),
    today: isoTime(now).slice(0, 10),
    time_zone: 'UTC',
    ...(currency !== null && { currency }),
  }
}

/** The role that may do everything a role may allow; it does not lift document rules such as "submitted". */
export const systemManager = 'System Manager'

/** The role without which nobody uses the MCP endpoint. */
export const assistantUser = 'Assistant User'

/** The role that reads the audit log, on its page and through its tool. */
export const auditor = 'Auditor'

/** Returns the key of a role set: its sorted names in one text. */
export function roleKeyOf(roles: Iterable<string>): string {
  return [...roles].sort().join('\n')
}

/** The role that runs the assistant: it manages clients and tokens, and sees what there is to see of the site. */
export const assistantAdmin = 'Assistant Admin'

/** True when the principal holds the role; a System Manager holds every role. */
export function hasRole(principal: Pick<Principal, 'roles'>, role: string): boolean {
  return principal.roles.has(role) || principal.roles.has(systemManager)
}

/** Returns the session id in a request's header (specification §2.10): visible ASCII, at most 128 characters, or none. */
export function sessionIdOf(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' && /^[\x21-\x7e]{1,128}$/.test(header) ? header : undefined
}

/** Returns the principal as which the program itself acts. */
export function systemPrincipal(requestId: string): Principal {
  const roles = new Set([systemManager])
  return { user: 'system', fullName: 'System', roles, roleKey: roleKeyOf(roles), scopes: [], requestId }
}
