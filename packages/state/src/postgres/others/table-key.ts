/** The names of documents that lie in a table: the columns of its key, joined where there are several. */
import type { Bind } from '../translating/dialect.ts'
import { constantOf, textOf, type Value } from '../translating/column-kinds.ts'

/** Joins the parts of a key; a slash in one is written `~1`, a tilde `~0` (as in RFC 6901). */
export function keyText(parts: readonly string[]): string {
  if (parts.length === 1) return parts[0]!
  return parts.map((part) => part.replaceAll('~', '~0').replaceAll('/', '~1')).join('/')
}

/** Splits a name into the parts of the key; undefined for one that no document can have. */
export function keyParts(key: readonly unknown[], name: string): readonly string[] | undefined {
  if (key.length === 1) return [name]
  const parts = name.split('/')
  if (parts.length !== key.length || parts.some((part) => /~(?![01])/.test(part))) return undefined
  return parts.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** Returns SQL for the name of a document. */
export function keySql(key: readonly Value[]): string {
  if (key.length === 1) return textOf(key[0]!)
  return `(${key.map((one) => `replace(replace(${textOf(one)}, '~', '~0'), '/', '~1')`).join(" || '/' || ")})`
}

const signs: Readonly<Record<string, string>> = {
  'sorts with': '=',
  'sorts before': '<',
  'sorts after': '>',
  'up to': '<=',
  from: '>=',
}

/** Returns the parts of a name as the columns of the key take them; undefined for one that no document can have. */
export function constantsOf(key: readonly Value[], name: unknown, bind: Bind): readonly string[] | undefined {
  const parts = typeof name === 'string' ? keyParts(key, name) : undefined
  const found = parts?.map((part, at) => constantOf(key[at]!, part, bind))
  return found?.every((one) => typeof one === 'object') ? found.map(({ sql }) => sql) : undefined
}

/** Compares the name of a document, by the columns of its key: in the order of the database, which an index is in. */
export function comparedKey(
  key: readonly Value[],
  operator: string,
  value: unknown,
  bind: Bind,
): string | undefined {
  const constants = (name: unknown): readonly string[] | undefined => constantsOf(key, name, bind)
  const columns = row(key.map(({ column }) => column))
  if (operator === 'in' || operator === '=') {
    const wanted = operator === 'in' ? value : [value]
    if (!Array.isArray(wanted)) return undefined
    const found = wanted.flatMap((one) => {
      const parts = constants(one)
      return parts ? [row(parts)] : []
    })
    if (found.length === 0) return 'false'
    const [only, ...others] = key
    return others.length === 0 && only!.kind.is === 'text' && only!.kind.type !== 'int8'
      ? `(${only!.dialect.among(only!.column, found)})`
      : `(${columns} IN (${found.join(', ')}))`
  }
  const sign = signs[operator]
  if (sign === undefined) return undefined
  const parts = constants(value)
  return parts ? `(${columns} ${sign} ${row(parts)})` : 'false'
}

function row(parts: readonly string[]): string {
  return parts.length === 1 ? parts[0]! : `(${parts.join(', ')})`
}
