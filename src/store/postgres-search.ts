/** Finding documents by words, as one statement over the column that holds them; `core/words.ts` says what it means. */
import { all, type Condition, hasWords } from '../core/conditions.ts'
import { smallest } from '../core/smallest.ts'
import {
  type AskedWord,
  bestFirst,
  scorer,
  type WordAnswer,
  type WordHit,
  type WordQuestion,
} from '../core/words.ts'
import type { Queryable } from './postgres-connection.ts'
import { idText } from './postgres-entries.ts'
import type { Known } from './postgres-known.ts'
import type { CommonWords } from './postgres-picture.ts'
import { questionOf } from './postgres-questions.ts'
import { quoted } from './postgres-language.ts'
import { countFound, filtered, findDocuments, findPage, groupDocuments, parsed } from './postgres-reading.ts'
import { nearWord, sameWord } from './postgres-tsquery.ts'
import type { AnyQuery } from './select.ts'
import type { Stored } from './store.ts'
import type { CollectionReads } from './stored-collection.ts'

/** The documents that have the words, best first. */
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
    for await (const page of filtered(on, view, { holds }))
      for (const document of page)
        found.push({ id: document.id, score: score(document), document: () => document })
    const total = found.length
    return { found: smallest(found, bestFirst, offset + limit).slice(offset), total }
  }
  const bound = [...values]
  const score = scoreOf(asked, (value) => `$${bound.push(value)}::tsquery`)
  const most = `$${bound.push(Number.isFinite(limit) ? limit : null)}`
  const first = `$${bound.push(offset)}`
  const rows = await on.rows({
    text: `WITH found AS MATERIALIZED (${from(`d.id, (${score})::float8 AS score`)})
      SELECT whole.total, page.id, page.score, d.body FROM (SELECT count(*)::int AS total FROM found) AS whole
      LEFT JOIN (SELECT * FROM found ORDER BY score DESC, id LIMIT ${most} OFFSET ${first}) AS page ON true
      LEFT JOIN assistant_core.document d ON d.collection = ${quoted(view.name)} AND d.id = page.id
      ORDER BY page.score DESC, page.id`,
    keep,
    values: bound,
  })
  return {
    found: rows
      .filter(([, id]) => id !== null)
      .map(([, id, points, body]) => ({
        id: idText(id as Buffer),
        score: points as number,
        document: () => parsed(body),
      })),
    total: rows[0]![0] as number,
  }
}

/** A word in more than this part of the documents is not looked up in the index: that reads all that is known of it. */
const many = 0.25

/** That a document has the words: those that stand in many are asked of what the others find. */
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

/** In what part of the documents a word stands at most, as far as is known. */
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

/** Words of documents that begin so. */
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

function scoreOf({ words, fields }: WordQuestion, bind: (value: string) => string): string {
  const weights = [...new Set(fields.map(({ weight }) => weight))]
  return words
    .map((word) => {
      const scores = weights.map((weight) => {
        const paths = fields.filter((field) => field.weight === weight).map(({ path }) => path)
        const [same, near] = [bind(sameWord(word.word, paths)), bind(nearWord(word, paths))]
        return `CASE WHEN d.words @@ ${same} THEN ${weight} WHEN d.words @@ ${near} THEN ${weight / 2} ELSE 0 END`
      })
      return `GREATEST(${scores.join(', ')})`
    })
    .join(' + ')
}

/** Reads of a collection, each by what it needs of the database. */
export function rowReads(
  read: <R>(work: (on: Queryable, view: Known) => Promise<R>) => Promise<R>,
): CollectionReads {
  return {
    find: (query) => read((on, view) => findDocuments(on, view, query)),
    page: (query, upTo) => read((on, view) => findPage(on, view, query, upTo)),
    count: (query) => read((on, view) => countFound(on, view, query)),
    aggregate: (groups, query) => read((on, view) => groupDocuments(on, view, groups, query)),
    search: (words, query) => read((on, view) => findWords(on, view, words, query)),
    beginning: (start, fields, query) => read((on, view) => wordsBeginning(on, view, start, fields, query)),
  }
}
