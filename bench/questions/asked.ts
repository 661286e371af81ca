/** Questions, the ways in which a model may ask them, and what an answer is worth. */
import type { Company, Reply } from './company.ts'

/** One call of a tool, and which columns of its answer hold what was asked. */
export interface Call {
  readonly tool: string
  readonly args: unknown
  readonly take?: readonly string[]
  /** True if the answer is to be drawn as well. */
  readonly drawn?: true
}
/** Calls in a row, each may look at the answer before; the last one answers. */
export type Attempt = Call | readonly (Call | ((last: Reply) => Call))[]
/** What a model tries, one after the other, as long as it is told that it has not been understood. */
export type Way = readonly Attempt[]
export const kinds = ['obvious', 'sloppy', 'wrong'] as const
export type Kind = (typeof kinds)[number]

export interface Question {
  readonly text: string
  readonly person: string
  /** The right answer, in SQL over what the person may read, or "refused" where none may be given. */
  readonly truth: string
  readonly ways: Readonly<Record<Kind, Way>>
}

/** A question with the obvious way first; a wrong way is one that nobody can understand for sure. */
export function question(
  text: string,
  person: string,
  truth: string,
  obvious: Attempt | Way,
  sloppy: Attempt | Way,
  wrong: Attempt | Way,
): Question {
  return { text, person, truth, ways: { obvious: way(obvious), sloppy: way(sloppy), wrong: way(wrong) } }
}

/** Several attempts, the next where the one before was refused. */
export const tries = (...attempts: Attempt[]): Way & { readonly several: true } =>
  Object.assign(attempts, { several: true as const })
const way = (given: Attempt | Way): Way => ('several' in given ? (given as Way) : [given as Attempt])

export const count = (doctype: string, filters?: unknown): Call => ({
  tool: 'count_documents',
  args: { doctype, ...(filters !== undefined && { filters }) },
})
export const list = (doctype: string, filters: unknown, take: readonly string[], more = {}): Call => ({
  tool: 'list_documents',
  args: { doctype, filters, fields: take, limit: 200, ...more },
  take,
})
/** `sum grand_total` and such, by groups. */
export const totals = (
  doctype: string,
  metrics: string,
  groupBy: readonly string[] = [],
  filters?: unknown,
  more = {},
): Call => ({
  tool: 'aggregate',
  args: {
    doctype,
    ...(groupBy.length > 0 && { group_by: groupBy }),
    metrics: metrics.split(', ').map((one) => {
      const [name, field] = one.split(' ')
      return { function: name, ...(field !== undefined && { field }) }
    }),
    ...(filters !== undefined && { filters }),
    ...more,
  },
})
export const sql = (query: string, more = {}): Call => ({
  tool: 'query_and_analyze',
  args: { query, ...more },
})
/** Rows that are also drawn. */
export const drawn = (query: string, draw: unknown, more = {}): Call => ({
  tool: 'query_and_analyze',
  args: { query, draw, ...more },
  drawn: true,
})
export const report = (name: string, filters: unknown, take: readonly string[]): Call => ({
  tool: 'generate_report',
  args: { report_name: name, filters },
  take,
})
export const link = (doctype: string, query: string, more = {}): Call => ({
  tool: 'search_link',
  args: { doctype, query, ...more },
  take: ['value'],
})
export const get = (doctype: string, name: string, take: readonly string[]): Call => ({
  tool: 'get_document',
  args: { doctype, name },
  take,
})
export const call = (tool: string, args: unknown, take?: readonly string[]): Call => ({
  tool,
  args,
  ...(take && { take }),
})

/** What was counted of one way of one question. */
export interface Outcome {
  readonly verdict: 'right' | 'honest error' | 'silently wrong'
  readonly calls: number
  readonly errors: number
  readonly argumentTokens: number
  readonly answerTokens: number
  /** The last call and its answer. */
  readonly last: { readonly call: Call; readonly reply: Reply }
}

/** Asks as a model would: the next attempt where the one before was refused, and believing whatever is no refusal. */
export async function outcomeOf(
  company: Company,
  asked: Question,
  kind: Kind,
  tokensOf: (text: string) => number,
): Promise<Outcome> {
  const truth = asked.truth === 'refused' ? undefined : await company.truth(asked.person, asked.truth)
  if (truth?.every((row) => row.every((cell) => ['', '0.00'].includes(plain(cell)))))
    throw new Error(
      `${asked.text}: nothing is the right answer, which whoever understands nothing gives as well`,
    )
  const counted = { calls: 0, errors: 0, argumentTokens: 0, answerTokens: 0 }
  let outcome: Outcome | undefined
  for (const attempt of asked.ways[kind]) {
    let reply: Reply | undefined
    let made!: Call
    for (const step of Array.isArray(attempt) ? attempt : [attempt]) {
      made = typeof step === 'function' ? step(reply!) : (step as Call)
      reply = await company.call(asked.person, made.tool, made.args)
      counted.calls++
      counted.argumentTokens += tokensOf(JSON.stringify({ name: made.tool, arguments: made.args }))
      counted.answerTokens += tokensOf(reply.text)
      // Where nothing may be told, a refusal is the answer.
      if (reply.failed && truth) counted.errors++
      if (reply.failed) break
    }
    const verdict = verdictOf(reply!, made, truth, asked.truth)
    outcome = { verdict, ...counted, last: { call: made, reply: reply! } }
    if (verdict !== 'honest error') break
  }
  return outcome!
}

function verdictOf(
  reply: Reply,
  made: Call,
  truth: readonly (readonly unknown[])[] | undefined,
  statement: string,
): Outcome['verdict'] {
  if (!truth) return reply.failed ? 'right' : 'silently wrong'
  if (reply.failed) return 'honest error'
  const rows = rowsOf(reply.json, made.take)
  if (isRight(rows, truth, statement) && (!made.drawn || reply.pictures > 0)) return 'right'
  const partOfAll = reply.json.total_count === truth.length && rows.length < truth.length
  return tellsDoubt(reply.json) || partOfAll ? 'honest error' : 'silently wrong'
}

/** Whether rows say what the truth says, in its order if its statement has one. */
export function isRight(
  rows: readonly (readonly unknown[])[],
  truth: readonly (readonly unknown[])[],
  statement: string,
): boolean {
  const [found, meant] = [rows, truth].map((some) => some.map((row) => row.map(plain).join('\t')))
  if (!/\border by\b/i.test(statement)) for (const one of [found!, meant!]) one.sort()
  return JSON.stringify(found) === JSON.stringify(meant)
}

/** What an answer says of itself: that it may not be what was meant, or what was probably meant. */
export function doubtsOf(json: any): string {
  const said = ['warnings', 'warning', 'note', 'notes', 'did_you_mean', 'suggestions', 'hint']
  const found = said
    .map((key) => json[key])
    .filter((one) => one !== undefined && one !== '' && one?.length !== 0)
  return found.length === 0 ? '' : JSON.stringify(found)
}

/** Whether it says so, or that it counted drafts or cancelled ones besides. */
function tellsDoubt(json: any): boolean {
  const { draft = 0, submitted = 0, cancelled = 0 } = json.counted ?? {}
  return doubtsOf(json) !== '' || [draft, submitted, cancelled].filter((number) => number > 0).length > 1
}

/** The rows of an answer in any of the shapes that tools have: objects, columns with rows, one document, one number. */
export function rowsOf(json: any, take?: readonly string[]): readonly (readonly unknown[])[] {
  if (typeof json.count === 'number' && !holder(json)) return [[json.count]]
  const held = holder(json) ?? json
  if (!Array.isArray(held)) {
    const document = held.data ?? held
    return [(take ?? Object.keys(document)).map((column) => document[column])]
  }
  const names = (json.columns ?? json.data?.columns)?.map((one: any) => one.name ?? one) as
    string[] | undefined
  const missing = take?.find((one) => held.length > 0 && !(names ?? Object.keys(held[0])).includes(one))
  if (missing !== undefined)
    throw new Error(`the question takes a column ${missing}, which no row of ${JSON.stringify(held[0])} has`)
  return held.map((row) => {
    if (!Array.isArray(row)) return take ? take.map((column) => row[column]) : Object.values(row)
    return take ? take.map((column) => row[names!.indexOf(column)]) : row
  })
}

const holders = [
  'rows',
  'data',
  'results',
  'reports',
  'doctypes',
  'pending_approvals',
  'skills',
  'attachments',
]
function holder(json: any): any[] | undefined {
  for (const key of holders) {
    if (Array.isArray(json[key])) return json[key]
    if (Array.isArray(json[key]?.rows)) return json[key].rows
  }
  return undefined
}

/** One spelling for each value: money with two digits, days without a time, yes as 1. */
export function plain(value: any): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'boolean') return value ? '1.00' : '0.00'
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  if (/^-?\d+(\.\d+)?(e-?\d+)?$/i.test(text))
    return Number(text)
      .toFixed(2)
      .replace(/^-0\.00$/, '0.00')
  const time = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}:\d{2})/.exec(text)
  return time ? (time[2] === '00:00:00' ? time[1]! : `${time[1]} ${time[2]}`) : text
}
