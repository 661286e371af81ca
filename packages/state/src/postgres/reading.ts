/** Reads documents, inside or outside of a transaction. */
import { Groups, type GroupAnswer, type GroupQuestion } from '../questions/groups.ts'
import { AppError } from '#leaf/errors.ts'
import { placeOf } from '../questions/places.ts'
import { inOwnTurns, inTurns, Slice, type Slices } from '#leaf/slices.ts'
import type { Queryable } from './servers/connection.ts'
import { parsed } from './translating/document-layout.ts'
import { groupsStatement, readGroups } from './translating/groups.ts'
import type { Known } from './known.ts'
import { idBytes, quoted } from './language.ts'
import { questionOf, type SqlQuestion } from './translating/questions.ts'
import { upToBytes } from '../embedded/search.ts'
import { type AnyQuery, testOf } from '../embedded/select.ts'
import type { Page, Stored } from '../store.ts'

/** Reads the document of an id, expired or not. */
export async function readStored(on: Queryable, name: string, id: string): Promise<Stored | undefined> {
  const text = `SELECT body FROM assistant_core.document WHERE collection = ${quoted(name)} AND id = $1`
  const [row] = await on.rows({ keep: true, text, values: [idBytes(id)] })
  return row && parsed(row[0])
}

/** Runs work on rows in slices; a transaction's slices skip the line, because others wait for the transaction anyway. */
export function sliced<R>(on: Queryable, work: Slices<R>): Promise<R> {
  return on.isTransaction ? inOwnTurns(work) : inTurns(work, on.stop)
}

/** Reads the document of an id unless it has expired. */
export async function readDocument(on: Queryable, view: Known, id: string): Promise<Stored | undefined> {
  const document = await readStored(on, view.name, id)
  return document && view.expiry?.isOver(document, view.now) ? undefined : document
}

/** Finds the documents that a query asks for. Where one statement can answer, they are of one snapshot. */
export async function findDocuments(on: Queryable, view: Known, query: AnyQuery): Promise<Stored[]> {
  const { offset = 0, limit = Infinity } = query
  if (limit <= 0) return []
  const found: Stored[] = []
  const question = questionOf(view, query)
  if (!question.rest) {
    const { rows } = await pageRows(on, view, question, query)
    await sliced(
      on,
      readRows(view, rows, (one) => found.push(one) > 0),
    )
    return found
  }
  const end = Math.max(0, offset) + limit
  await filtered(on, view, query, (document) => found.push(document) < end)
  return found.slice(Math.max(0, offset), end)
}

/** Finds the documents of a query and their number in all: with one statement, where one can answer. */
export async function findPage(
  on: Queryable,
  view: Known,
  query: AnyQuery,
  upTo: number,
): Promise<Page<Stored>> {
  const { where, holds, after, offset = 0, limit = Infinity } = query
  const question = questionOf(view, query)
  if (!question.rest && limit > 0) {
    const found: Stored[] = []
    const { rows, cut } = await pageRows(on, view, question, query, upTo)
    await sliced(
      on,
      readRows(view, rows, (one) => found.push(one) > 0),
    )
    if (rows.length > 0 || (!after && offset <= 0)) return { found, total: Number(rows[0]?.[1] ?? 0), cut }
  }
  const all = question.rest ? await findDocuments(on, view, query) : []
  const found = upToBytes(all, query.bytes)
  const total = upTo > 0 ? await countFound(on, view, { where, holds, limit: upTo }) : 0
  return { found, total, cut: found.length < all.length }
}

/** Counts the documents that a query asks for, up to its limit. */
export async function countFound(on: Queryable, view: Known, query: AnyQuery): Promise<number> {
  const { keep, from, values, rest } = questionOf(view, query)
  const { limit = Infinity } = query
  if (!rest) {
    const text = Number.isFinite(limit) ? countUpTo(limit, from) : from('count(*)')
    const [row] = await on.rows({ keep, text, values })
    return Number(row![0])
  }
  let count = 0
  await filtered(on, view, query, () => ++count < limit)
  return Math.min(count, limit)
}

/** Calculates a group query over the documents that a query asks for. */
export async function groupDocuments(
  on: Queryable,
  view: Known,
  asked: GroupQuestion,
  query: AnyQuery,
): Promise<GroupAnswer> {
  const question = questionOf(view, query)
  if (!question.rest) {
    const answer = async (part: GroupQuestion): Promise<GroupAnswer> =>
      await sliced(
        on,
        readGroups(await on.rows(groupsStatement(view.layout, question, part)), part, view.layout),
      )
    const page = await answer(asked)
    // Rows tell how many there are: behind the last there is none.
    const isBehind = page.rows.length === 0 && ((asked.offset ?? 0) > 0 || asked.limit === 0)
    return isBehind ? { ...(await answer({ ...asked, offset: 0, limit: 1 })), rows: [] } : page
  }
  const groups = new Groups(asked)
  await filtered(on, view, query, (document) => {
    groups.add(document)
    return true
  })
  return await sliced(on, groups.answer())
}

/** The size of a batch where the database cannot answer all of a query. */
const part = { limit: 500, bytes: 4 << 20 }

/** Reads rows that begin with the body of a document; `cut` is true when others were left out for their bytes. */
async function pageRows(
  on: Queryable,
  { layout }: Known,
  { keep, from, whole, orderBy, values }: SqlQuestion,
  { offset = 0, limit = Infinity, bytes }: AnyQuery,
  upTo = 0,
): Promise<{ readonly rows: readonly unknown[][]; readonly cut: boolean }> {
  const counted = upTo === 0 ? '0' : `(${countUpTo(upTo, whole)})`
  const bound = offset > 0 ? [...values, offset] : values
  const all = `${from(`${layout.body} AS body, ${counted} AS total`)} ORDER BY ${orderBy}${
    Number.isFinite(limit)
      ? ` LIMIT ${Math.trunc(limit)}`
      : offset > 0
        ? ` LIMIT ${Number.MAX_SAFE_INTEGER}`
        : ''
  }${offset > 0 ? ` OFFSET $${bound.length}` : ''}`
  if (bytes === undefined || !layout.dialect.cuts) {
    const rows = await on.rows({ keep, text: all, values: bound })
    const fit = bytes === undefined ? rows : fitting(rows, bytes)
    return { rows: fit, cut: fit.length < rows.length }
  }
  const text = `SELECT body, total, there FROM (SELECT page.*, count(*) OVER () AS there,
          sum(octet_length(body)) OVER (ROWS UNBOUNDED PRECEDING) - octet_length(body) AS before
          FROM (${all}) AS page) AS page WHERE before < ${bytes}`
  const rows = await on.rows({ keep, text, values: bound })
  return { rows, cut: rows.length < Number(rows[0]?.[2] ?? 0) }
}

/** Returns the rows before which there are fewer bytes. */
function fitting(rows: readonly unknown[][], bytes: number): readonly unknown[][] {
  let before = 0
  const end = rows.findIndex(([body]) => {
    const isOver = before >= bytes
    before += Buffer.byteLength(body as string)
    return isOver
  })
  return end < 0 ? rows : rows.slice(0, end)
}

function countUpTo(most: number, from: (selected: string) => string): string {
  return `SELECT count(*) FROM (${from('1')} LIMIT ${Math.trunc(most)}) AS counted`
}

type Visit = (document: Stored) => boolean

const tooMany =
  'the database that holds these documents cannot answer this by itself, and they are too many to look at one by one: narrow it with a filter of another kind'

/** Visits the documents that the database finds and that also meet the rest of the query, until `visit` returns false. */
export async function filtered(on: Queryable, view: Known, query: AnyQuery, visit: Visit): Promise<void> {
  const { order = [] } = query
  const matches = testOf(questionOf(view, query).rest!)
  let { after } = query
  let tested = 0
  for (;;) {
    const one = { ...query, ...part, after, offset: 0 }
    const { rows, cut } = await pageRows(on, view, questionOf(view, one), one)
    let last: Stored | undefined
    const goesOn = readRows(view, rows, (document) => !matches((last = document)) || visit(document))
    if (!(await sliced(on, goesOn)) || !last || (!cut && rows.length < part.limit)) return
    if ((tested += rows.length) > view.layout.mostTested) throw new AppError('invalid', tooMany)
    after = placeOf(order, last)
  }
}

/** Visits the documents of rows; returns false when the visitor stopped. */
function* readRows({ layout }: Known, rows: readonly (readonly unknown[])[], visit: Visit): Slices<boolean> {
  const slice = new Slice()
  for (const [body] of rows) {
    if (!visit(layout.read(body))) return false
    if (!slice.isOver()) continue
    yield
    slice.begin()
  }
  return true
}
