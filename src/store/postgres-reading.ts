/** Reading documents, inside or outside of a transaction. */
import { Groups, type GroupAnswer, type GroupQuestion } from '../core/groups.ts'
import { fieldOf } from './field-index.ts'
import { deepFreeze } from './plain-json.ts'
import type { Queryable } from './postgres-connection.ts'
import { idBytes } from './postgres-entries.ts'
import { groupsStatement, readGroups } from './postgres-groups.ts'
import type { Known } from './postgres-known.ts'
import { questionOf } from './postgres-questions.ts'
import { type AnyQuery, testOf } from './select.ts'
import type { Stored } from './store.ts'

/** The document unless it has ended. */
export async function readDocument(on: Queryable, view: Known, id: string): Promise<Stored | undefined> {
  const text = 'SELECT body FROM assistant_core.document WHERE collection = $1 AND id = $2'
  const [row] = await on.rows({ name: 'get', text, values: [view.name, idBytes(id)] })
  const document = row && parsed(row[0])
  return document && view.expiry?.isOver(document, view.now) ? undefined : document
}

/** The documents that a query asks for. Where one statement can answer, they are of one moment. */
export async function findDocuments(on: Queryable, view: Known, query: AnyQuery): Promise<Stored[]> {
  const { offset = 0, limit = Infinity } = query
  if (limit <= 0) return []
  if (!questionOf(view, query).rest) return await page(on, view, query)
  const found: Stored[] = []
  const end = Math.max(0, offset) + limit
  for await (const some of filtered(on, view, query)) {
    found.push(...some)
    if (found.length >= end) break
  }
  return found.slice(Math.max(0, offset), end)
}

/** How many documents a query asks for, up to its limit. */
export async function countFound(on: Queryable, view: Known, query: AnyQuery): Promise<number> {
  const { name, from, values, rest } = questionOf(view, query)
  const { limit = Infinity } = query
  if (!rest && Number.isFinite(limit)) {
    const text = `SELECT count(*) FROM (${from('1')} LIMIT $${values.length + 1}) AS counted`
    return Number((await on.rows({ text, values: [...values, limit] }))[0]![0])
  }
  if (!rest) {
    const [row] = await on.rows({ ...(name && { name: `count_${name}` }), text: from('count(*)'), values })
    return Number(row![0])
  }
  let count = 0
  for await (const some of filtered(on, view, query)) {
    count += some.length
    if (count >= limit) break
  }
  return Math.min(count, limit)
}

/** What is calculated over groups of the documents that a query asks for. */
export async function groupDocuments(
  on: Queryable,
  view: Known,
  asked: GroupQuestion,
  query: AnyQuery,
): Promise<GroupAnswer> {
  const question = questionOf(view, query)
  if (!question.rest) return readGroups(await on.rows(groupsStatement(question, asked)), asked)
  const groups = new Groups(asked)
  for await (const some of filtered(on, view, query)) for (const document of some) groups.add(document)
  return groups.answer()
}

/** So many documents are read at once where the database cannot answer all of a question. */
const pageLength = 500

async function page(on: Queryable, view: Known, query: AnyQuery): Promise<Stored[]> {
  const { offset = 0, limit = Infinity } = query
  const { name, from, orderBy, values } = questionOf(view, query)
  const all = [...values, Number.isFinite(limit) ? limit : null, Math.max(0, offset)]
  const text = `${from('d.body')} ORDER BY ${orderBy} LIMIT $${all.length - 1} OFFSET $${all.length}`
  const rows = await on.rows({ ...(name && { name: `page_${name}` }), text, values: all })
  return rows.map(([body]) => parsed(body))
}

/** What the database finds in part, in pages of which the rest is asked here. */
export async function* filtered(on: Queryable, view: Known, query: AnyQuery): AsyncGenerator<Stored[]> {
  const { order = [] } = query
  const matches = testOf(questionOf(view, query).rest!)
  let { after } = query
  for (;;) {
    const found = await page(on, view, { ...query, after, offset: 0, limit: pageLength })
    yield found.filter(matches)
    const last = found.at(-1)
    if (!last || found.length < pageLength) return
    after = [...order.map(({ field }) => fieldOf(last, field)), last.id]
  }
}

/** A document as it came from the database, frozen. */
export function parsed(body: unknown): Stored {
  return deepFreeze(JSON.parse(body as string) as Stored)
}
