/** Reading documents, inside or outside of a transaction. */
import { Groups, type GroupAnswer, type GroupQuestion } from '../core/groups.ts'
import { fieldOf } from './field-index.ts'
import { deepFreeze } from './plain-json.ts'
import type { Queryable } from './postgres-connection.ts'
import { idBytes } from './postgres-entries.ts'
import { groupsStatement, readGroups } from './postgres-groups.ts'
import type { Known } from './postgres-known.ts'
import { questionOf, type SqlQuestion } from './postgres-questions.ts'
import { type AnyQuery, testOf } from './select.ts'
import type { Page, Stored } from './store.ts'

/** The document unless it has ended. */
export async function readDocument(on: Queryable, view: Known, id: string): Promise<Stored | undefined> {
  const text = 'SELECT body FROM assistant_core.document WHERE collection = $1 AND id = $2'
  const [row] = await on.rows({ keep: true, text, values: [view.name, idBytes(id)] })
  const document = row && parsed(row[0])
  return document && view.expiry?.isOver(document, view.now) ? undefined : document
}

/** The documents that a query asks for. Where one statement can answer, they are of one moment. */
export async function findDocuments(on: Queryable, view: Known, query: AnyQuery): Promise<Stored[]> {
  const { offset = 0, limit = Infinity } = query
  if (limit <= 0) return []
  const question = questionOf(view, query)
  if (!question.rest) return await page(on, question, query)
  const found: Stored[] = []
  const end = Math.max(0, offset) + limit
  for await (const some of filtered(on, view, query)) {
    found.push(...some)
    if (found.length >= end) break
  }
  return found.slice(Math.max(0, offset), end)
}

/** The documents that a query asks for, and how many there are in all: one statement, where one can answer. */
export async function findPage(
  on: Queryable,
  view: Known,
  query: AnyQuery,
  upTo: number,
): Promise<Page<Stored>> {
  const { where, holds, after, offset = 0, limit = Infinity } = query
  const question = questionOf(view, query)
  if (!question.rest && limit > 0) {
    const rows = await pageRows(on, question, query, upTo)
    const found = rows.map(([body]) => parsed(body))
    if (rows.length > 0 || (!after && offset <= 0)) return { found, total: Number(rows[0]?.[1] ?? 0) }
  }
  return {
    found: question.rest ? await findDocuments(on, view, query) : [],
    total: await countFound(on, view, { where, holds, limit: upTo }),
  }
}

/** How many documents a query asks for, up to its limit. */
export async function countFound(on: Queryable, view: Known, query: AnyQuery): Promise<number> {
  const { keep, from, values, rest } = questionOf(view, query)
  const { limit = Infinity } = query
  if (!rest) {
    const text = Number.isFinite(limit) ? countUpTo(limit, from) : from('count(*)')
    const [row] = await on.rows({ keep, text, values })
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

async function page(on: Queryable, question: SqlQuestion, query: AnyQuery): Promise<Stored[]> {
  return (await pageRows(on, question, query)).map(([body]) => parsed(body))
}

function pageRows(
  on: Queryable,
  { keep, from, whole, orderBy, values }: SqlQuestion,
  { offset = 0, limit = Infinity }: AnyQuery,
  upTo?: number,
): Promise<readonly unknown[][]> {
  const counted = upTo === undefined ? '' : `, (${countUpTo(upTo, whole)})`
  const bound = offset > 0 ? [...values, offset] : values
  const text = `${from(`d.body${counted}`)} ORDER BY ${orderBy}${
    Number.isFinite(limit) ? ` LIMIT ${Math.trunc(limit)}` : ''
  }${offset > 0 ? ` OFFSET $${bound.length}` : ''}`
  return on.rows({ keep, text, values: bound })
}

function countUpTo(most: number, from: (selected: string) => string): string {
  return `SELECT count(*) FROM (${from('1')} LIMIT ${Math.trunc(most)}) AS counted`
}

/** What the database finds in part, in pages of which the rest is asked here. */
export async function* filtered(on: Queryable, view: Known, query: AnyQuery): AsyncGenerator<Stored[]> {
  const { order = [] } = query
  const matches = testOf(questionOf(view, query).rest!)
  let { after } = query
  for (;;) {
    const part = { ...query, after, offset: 0, limit: pageLength }
    const found = await page(on, questionOf(view, part), part)
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
