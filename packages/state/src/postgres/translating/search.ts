/** Word search as one statement over the column `words`; `#state/questions/words.ts` defines what it means. */
import type { Bind } from './dialect.ts'
import { all, type Condition, hasWords } from '../../questions/conditions.ts'
import { smallest } from '#leaf/smallest.ts'
import {
  type AskedWord,
  bestFirst,
  scorer,
  type WordAnswer,
  type WordHit,
  type WordQuestion,
} from '../../questions/words.ts'
import type { Queryable } from '../servers/connection.ts'
import type { Known } from '../known.ts'
import type { CommonWords } from '../picture.ts'
import { questionOf } from './questions.ts'
import type { Layout } from './layout.ts'
import { countFound, filtered, findDocuments, findPage, groupDocuments, sliced } from '../reading.ts'
import type { AnyQuery } from '../../embedded/select.ts'
import type { Stored } from '../../store.ts'
import type { StoppableQuery, CollectionReads } from '../../stored-collection.ts'

/** Finds the documents that have the words, best first. */
async function findWords(
  on: Queryable,
  view: Known,
  asked: WordQuestion,
  query: AnyQuery,
): Promise<WordAnswer<Stored>> {
  const { offset = 0, limit = Infinity } = query
  const holds = all(...divided(view, asked), ...(query.holds ? [query.holds] : []))
  const { keep, from, values, rest } = questionOf(view, { holds })
  if (rest) {
    const found: WordHit<Stored>[] = []
    const score = scorer(asked)
    await filtered(on, view, { holds }, (document) => {
      return found.push({ id: document.id, score: score(document), document: () => document }) > 0
    })
    const total = found.length
    const page = await sliced(on, smallest(found, bestFirst, offset + limit))
    return { found: page.slice(offset), total }
  }
  const { layout } = view
  const { keys } = layout
  const bound = [...values]
  const bind: Bind = (value) => `$${bound.push(value)}`
  const score = scoreOf(asked, layout, bind)
  const most = bind(Number.isFinite(limit) ? limit : null)
  const first = bind(offset)
  const columns = keys.map((key, at) => `${key} AS key${at}`)
  const order = ['score DESC', ...keys.map((_, at) => `key${at}`)].join(', ')
  const again = [...layout.base, ...keys.map((key, at) => `${key} = page.key${at}`)].join(' AND ')
  const documents = layout.from.includes(' JOIN ') ? `(${layout.from})` : layout.from
  const scored = from(
    [...columns, `${layout.dialect.as(`(${score})`, 'float8')} AS score`, 'count(*) OVER () AS total'].join(
      ', ',
    ),
  )
  const rows = await on.rows({
    text: `SELECT page.total, ${layout.id}, page.score, ${layout.body} FROM (${scored} ORDER BY ${order} LIMIT ${most} OFFSET ${first}) AS page
      JOIN ${documents} ON ${again} ORDER BY ${order}`,
    keep,
    values: bound,
  })
  const isBehind = rows.length === 0 && (offset > 0 || limit <= 0)
  return {
    found: rows.map(([, id, points, body]) => ({
      id: layout.readId(id),
      score: points as number,
      document: () => layout.read(body),
    })),
    total: isBehind ? await countFound(on, view, { holds }) : Number(rows[0]?.[0] ?? 0),
  }
}

/** The share of documents from which a word is not looked up in the index: that would read all its entries. */
const many = 0.25

/** Splits the condition that a document has the words: frequent ones are tested on what the rare ones find. */
function divided({ common }: Known, asked: WordQuestion): readonly Condition[] {
  const { words, all: every } = asked
  if (!every || words.length === 1) return [hasWords(asked)]
  const parts = words.map((word) => partWith(word, asked.fields, common))
  const least = Math.min(...parts)
  const rare = words.filter((_, at) => parts[at] === least || parts[at]! < many)
  const others = words.filter((word) => !rare.includes(word))
  return [
    hasWords({ ...asked, words: rare }),
    ...(others.length > 0 ? [{ call: 'is true', of: [hasWords({ ...asked, words: others })] }] : []),
  ]
}

/** Returns the largest share of documents that may have a word, as far as is known. */
function partWith({ word, instead }: AskedWord, fields: WordQuestion['fields'], common: CommonWords): number {
  let part = 0
  for (const [at, often] of common) {
    const cut = at.indexOf('=')
    const one = at.slice(cut + 1)
    const meant = word.length > 1 ? one.startsWith(word) : one === word
    if ((meant || instead.includes(one)) && fields.some(({ path }) => path === at.slice(0, cut)))
      part += often
  }
  return part
}

/** Returns words of documents that begin with `start`. */
async function wordsBeginning(
  on: Queryable,
  view: Known,
  start: string,
  fields: WordQuestion['fields'],
  { holds, limit }: AnyQuery,
): Promise<readonly string[]> {
  const some = hasWords({ words: [{ word: start, instead: [] }], all: true, fields })
  const { from, values } = questionOf(view, { holds: all(some, ...(holds ? [holds] : [])) })
  const bound = [...values, fields.map(({ path }) => `${path}=${start}`), limit]
  const rows = await on.rows({
    text: `SELECT DISTINCT substr(one, strpos(one, '=') + 1) COLLATE "C" AS word
      FROM (${from('d.words')}) AS held, unnest(tsvector_to_array(held.words)) AS one
      WHERE one ^@ ANY($${bound.length - 1}::text[]) ORDER BY word LIMIT $${bound.length}`,
    values: bound,
  })
  return rows.map(([word]) => word as string)
}

function scoreOf({ words, all: every, fields }: WordQuestion, layout: Layout, bind: Bind): string {
  const weights = [...new Set(fields.map(({ weight }) => weight))]
  return words
    .map((word) => {
      const scores = weights.flatMap((weight) => {
        const paths = fields.filter((field) => field.weight === weight).map(({ path }) => path)
        const has = (how: 'same' | 'near'): string => layout.hasWord(word, paths, how, bind)
        const same = has('same')
        return same === 'false' ? [] : [{ weight, same, near: () => has('near') }]
      })
      // What was found has the word: in these fields where there are no others.
      const isHere = scores.length === 1 && (every || words.length === 1)
      const cases = scores.map(({ weight, same, near }) =>
        isHere
          ? `CASE WHEN ${same} THEN ${weight} ELSE ${weight / 2} END`
          : `CASE WHEN ${same} THEN ${weight} WHEN ${near()} THEN ${weight / 2} ELSE 0 END`,
      )
      return cases.length > 1 ? `GREATEST(${cases.join(', ')})` : (cases[0] ?? '0')
    })
    .join(' + ')
}

/** Returns the read operations of a collection, as statements to the database. */
export function rowReads(
  read: <R>(work: (on: Queryable, view: Known) => Promise<R>) => Promise<R>,
): CollectionReads {
  const until = <R>(
    { stop }: StoppableQuery,
    work: (on: Queryable, view: Known) => Promise<R>,
  ): Promise<R> => {
    if (!stop) return read(work)
    return read((on, view) => work({ stop, rows: (statement) => on.rows({ ...statement, stop }) }, view))
  }
  return {
    find: (query) => until(query, (on, view) => findDocuments(on, view, query)),
    page: (query, upTo) => until(query, (on, view) => findPage(on, view, query, upTo)),
    count: (query) => until(query, (on, view) => countFound(on, view, query)),
    aggregate: (groups, query) => until(query, (on, view) => groupDocuments(on, view, groups, query)),
    search: (words, query) => until(query, (on, view) => findWords(on, view, words, query)),
    beginning: (start, fields, query) =>
      until(query, (on, view) => wordsBeginning(on, view, start, fields, query)),
  }
}
