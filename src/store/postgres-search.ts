/** Finding documents by words, as one statement over the column that holds them; `core/words.ts` says what it means. */
import { all, always, type Condition, hasWords } from '../core/conditions.ts'
import { smallest } from '../core/smallest.ts'
import { bestFirst, scorer, type WordAnswer, type WordHit, type WordQuestion } from '../core/words.ts'
import type { Queryable } from './postgres-connection.ts'
import { idText } from './postgres-entries.ts'
import type { Known } from './postgres-known.ts'
import { questionOf } from './postgres-questions.ts'
import { filtered } from './postgres-reading.ts'
import { nearWord, sameWord } from './postgres-tsquery.ts'
import type { AnyQuery } from './select.ts'

/** The documents that have the words, best first. */
export async function findWords(
  on: Queryable,
  view: Known,
  asked: WordQuestion,
  query: AnyQuery,
): Promise<WordAnswer> {
  const { offset = 0, limit = Infinity } = query
  const holds = all(...(await divided(on, view, asked)), ...(query.holds ? [query.holds] : []))
  const { from, values, rest } = questionOf(view, { holds })
  if (rest) {
    const found: WordHit[] = []
    const score = scorer(asked)
    for await (const page of filtered(on, view, { holds }))
      for (const document of page) found.push({ id: document.id, score: score(document) })
    const total = found.length
    return { found: smallest(found, bestFirst, offset + limit).slice(offset), total }
  }
  const bound = [...values]
  const score = scoreOf(asked, (value) => `$${bound.push(value)}::tsquery`)
  bound.push(Number.isFinite(limit) ? limit : null, offset)
  const rows = await on.rows({
    text: `WITH found AS MATERIALIZED (${from(`d.id, (${score})::float8 AS score`)})
      SELECT whole.total, page.* FROM (SELECT count(*)::int AS total FROM found) AS whole
      LEFT JOIN (SELECT * FROM found ORDER BY score DESC, id LIMIT $${bound.length - 1} OFFSET $${bound.length}) AS page
        ON true ORDER BY page.score DESC, page.id`,
    values: bound,
  })
  return {
    found: rows
      .filter(([, id]) => id !== null)
      .map(([, id, points]) => ({ id: idText(id as Buffer), score: points as number })),
    total: rows[0]![0] as number,
  }
}

/** A word in more than this part of the documents is not looked up in the index: that reads all that is known of it. */
const common = 0.25

/** That a document has the words: those that stand in many are asked of what the others find. */
async function divided(on: Queryable, view: Known, asked: WordQuestion): Promise<readonly Condition[]> {
  const { words, all: every } = asked
  if (!every || words.length === 1) return [hasWords(asked)]
  const values: unknown[] = []
  const some = [[], ...words.map((word) => [word])].map((one) => {
    const { from, values: bound } = questionOf(view, {
      holds: one.length > 0 ? hasWords({ ...asked, words: one }) : always,
    })
    const text = `(${from('1')} LIMIT 1)`.replace(
      /\$(\d+)/g,
      (_, at: string) => `$${values.length + Number(at)}`,
    )
    values.push(...bound)
    return text
  })
  const [row] = await on.rows({ text: `EXPLAIN (FORMAT JSON) SELECT ${some.join(', ')}`, values })
  const [{ Plan: plan }] = row![0] as [{ readonly Plan: Estimate }]
  const [whole = 0, ...each] = (plan.Plans ?? []).map((one) => one.Plans?.[0]?.['Plan Rows'] ?? 0)
  const least = Math.min(...each)
  const rare = words.filter((_, at) => each[at] === least || each[at]! < whole * common)
  const others = words.filter((word) => !rare.includes(word))
  return [
    hasWords({ ...asked, words: rare }),
    ...(others.length > 0 ? [{ call: 'is true', of: [hasWords({ ...asked, words: others })] }] : []),
  ]
}

/** What the planner thinks of a step. */
interface Estimate {
  readonly 'Plan Rows': number
  readonly Plans?: readonly Estimate[]
}

/** Words of documents that begin so. */
export async function wordsBeginning(
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
