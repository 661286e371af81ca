/** The parameters of a query or form: each at most once, empty ones left out. */
import type { Context } from 'koa'

/** The parameters of a query or form. */
export interface Params {
  get(name: string): string | undefined
  /** The values of `resource`, the only parameter that may come several times (RFC 8707 §2). */
  readonly resources: readonly string[]
  /** Names that came more than once, which RFC 6749 §3.1 forbids. */
  readonly repeated: readonly string[]
}

/** Reads the parameters of a query or a form body. */
export function readParams(search: URLSearchParams): Params {
  const values = new Map<string, string>()
  const repeated = new Set<string>()
  const resources: string[] = []
  for (const [name, value] of search) {
    // RFC 6749 §3.1: a parameter without a value counts as omitted.
    if (value === '') continue
    if (name === 'resource') resources.push(value)
    else if (values.has(name)) repeated.add(name)
    else values.set(name, value)
  }
  return { get: (name) => values.get(name), resources, repeated: [...repeated] }
}

/** Returns one parameter of the query of an address; empty when it is not there. */
export function asked({ querystring }: Pick<Context, 'querystring'>, name: string): string {
  return (new URLSearchParams(querystring).get(name) ?? '').trim()
}

/** Returns a part of the path of an address by its name in the page table; empty when it is not there. */
export function pathPart(ctx: Context, name: string): string {
  return (ctx['params'] as Readonly<Record<string, string | undefined>>)[name] ?? ''
}

/** Returns the query of the same question from its first page on, with something else in it. */
export function queryOf(
  { querystring }: Pick<Context, 'querystring'>,
  other: Readonly<Record<string, string>> = {},
): string {
  const query = new URLSearchParams([...new URLSearchParams(querystring)].filter(([, value]) => value !== ''))
  for (const name of ['after', 'offset']) query.delete(name)
  for (const [name, value] of Object.entries(other)) query.set(name, value)
  return query.toString()
}
