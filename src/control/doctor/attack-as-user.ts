/** `doctor --attack URL`, the rows that need a token: what any user may send, and what nobody else may wait for. */
import { setTimeout as delay } from 'node:timers/promises'
import { promptMethodPrefix } from '../../library/prompt-methods-endpoint.ts'
import { paths } from '../../oauth/urls.ts'
import { answered, type Attack, type Outcome } from './attack-row.ts'
import { ask, type PublicAnswer } from './public-ask.ts'

/** Others may wait this many milliseconds longer than before. */
const patience = 1000
const previewsOfBudget = 200
const previewsAtOnce = 10

/** Templates that are short to write and were long to render. */
const costlyTemplates = [
  '{{ ("a "*500000)|wordwrap(1)|length }}',
  '{% for i in range(20000) %}{% set x=(9**19000)//(7**9000) %}{% endfor %}',
  '{% set s = "a" * 400000 %}{% for i in range(100000) %}{% set n = s.count("ab") + s.find("ba") %}{% endfor %}',
  '{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}',
]
const letters = Array.from('abcdefghijklmnopqrstuvwxyz').join(' ')
const settingsStatements = [
  'SELECT * FROM duckdb_settings()',
  'SELECT * FROM system.main."duckdb_settings" /* */ ()',
  `SELECT "current_setting"('threads')`,
  `SELECT * FROM query('FROM duckdb_' || 'settings()')`,
  'SELECT * FROM pg_catalog.pg_settings',
]

/** The rows; without a token they say that they need one. */
export function attacksOfUsers(origin: string, token: string | undefined): readonly Attack[] {
  const rows = rowsFor(origin, { authorization: `Bearer ${token ?? ''}`, 'content-type': 'application/json' })
  return Object.entries(rows).map(([check, run]) => ({
    check,
    run: token === undefined ? () => Promise.resolve(needsToken) : run,
  }))
}

const needsToken: Outcome = { held: undefined, detail: 'needs the token of a user: --token-stdin' }

function rowsFor(
  origin: string,
  headers: Readonly<Record<string, string>>,
): Record<string, () => Promise<Outcome>> {
  const preview = (body: Readonly<Record<string, unknown>>): Promise<PublicAnswer | Outcome> =>
    answered(`${origin}${promptMethodPrefix}preview_template`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
  const call = (name: string, args: Readonly<Record<string, unknown>>): Promise<PublicAnswer | Outcome> =>
    answered(origin + paths.mcp, {
      method: 'POST',
      headers: { ...headers, accept: 'application/json, text/event-stream' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name, arguments: args },
      }),
    })
  return {
    ...attacksByTemplates(origin, preview),
    ...attacksByTools(origin, call),
    preview_budget: () => useUp(preview),
  }
}

type Preview = (body: Readonly<Record<string, unknown>>) => Promise<PublicAnswer | Outcome>
type Call = (name: string, args: Readonly<Record<string, unknown>>) => Promise<PublicAnswer | Outcome>
type Rows = Record<string, () => Promise<Outcome>>

function attacksByTemplates(origin: string, preview: Preview): Rows {
  return {
    costly_templates: () =>
      besides(origin, async () =>
        all(costlyTemplates, async (template) => {
          const answer = await preview({ template_content: template })
          return 'held' in answer
            ? answer
            : judged(answer.status === 400, `a costly template: ${answer.status}`)
        }),
      ),
    deep_template: async () => {
      const template = `{{ ${'('.repeat(30_000)}1${')'.repeat(30_000)} }}`
      const answer = await besides(origin, async () => {
        const said = await preview({ template_content: template })
        return 'held' in said ? said : judged(said.status === 400, `30,000 parentheses: ${said.status}`)
      })
      return answer
    },
    format_string: async () => {
      const names = ['__proto__', 'constructor', 'hasOwnProperty']
      const body = {
        template_content: names.map((name) => `[{${name}}]`).join(''),
        rendering_engine: 'Format String',
      }
      const answer = await preview(body)
      if ('held' in answer) return answer
      const held = answer.status === 200 && answer.text.includes('[][][]')
      return judged(held, `a format string ${held ? 'reaches nothing' : 'may reach'} beside its own values`)
    },
  }
}

function attacksByTools(origin: string, call: Call): Rows {
  return {
    search: () =>
      besides(origin, async () => {
        const answers = await Promise.all(
          Array.from({ length: 4 }, () => call('search_documents', { query: letters })),
        )
        const other = answers.find((answer) => 'held' in answer)
        if (other && 'held' in other) return other
        const understood = answers.every((answer) => isAnswer(answer as PublicAnswer))
        return judged(understood, `four searches for 26 letters are ${understood ? '' : 'not '}answered`)
      }),
    chart: () =>
      refusedCall(call, 'create_document', {
        doctype: 'Dashboard Chart',
        dry_run: true,
        data: {
          chart_name: 'doctor',
          chart_type: 'bar',
          document_type: 'Dashboard Chart',
          vega_lite: { mark: 'bar', encoding: { href: { value: 'javascript:void' } } },
        },
      }),
    sql_settings: () => all(settingsStatements, (query) => refusedCall(call, 'query_and_analyze', { query })),
  }
}

/** The last of them: it takes the minute's budget of the user. */
async function useUp(preview: Preview): Promise<Outcome> {
  for (let sent = 0; sent < previewsOfBudget; sent += previewsAtOnce) {
    const answers = await Promise.all(
      Array.from({ length: previewsAtOnce }, () => preview({ template_content: '1' })),
    )
    if (answers.some((answer) => 'status' in answer && answer.status === 429))
      return judged(
        true,
        `after ${sent} to ${sent + previewsAtOnce} previews the budget of the minute is used up`,
      )
  }
  return judged(false, `${previewsOfBudget} previews in a row are answered`)
}

function judged(held: boolean, detail: string): Outcome {
  return { held, detail }
}

/** The first that did not hold, or all of them. */
async function all<Item>(items: readonly Item[], run: (item: Item) => Promise<Outcome>): Promise<Outcome> {
  const outcomes: Outcome[] = []
  for (const item of items) outcomes.push(await run(item))
  return (
    outcomes.find(({ held }) => held !== true) ??
    judged(true, `${items.length} of ${items.length}; ${outcomes[0]!.detail}`)
  )
}

function isAnswer({ status, text }: PublicAnswer): boolean {
  return status === 200 && text.includes('"jsonrpc"')
}

/** A call that must be refused for what it asks; whoever may not make it at all learns nothing by it. */
async function refusedCall(
  call: Call,
  name: string,
  args: Readonly<Record<string, unknown>>,
): Promise<Outcome> {
  const answer = await call(name, args)
  if ('held' in answer) return answer
  const what = `${name}(${JSON.stringify(args).slice(0, 100)}…)`
  if (!isAnswer(answer)) return judged(false, `${what} is answered with ${answer.status}`)
  if (/"error":|may not create|not offered/.test(answer.text))
    return { held: undefined, detail: `the user of the token may not use ${name}` }
  const held = answer.text.includes('"isError":true') && /is not allowed|nobody's business/.test(answer.text)
  return judged(held, `${what} is ${held ? 'refused' : 'not refused'}`)
}

/** Runs an attack and asks /healthz all the while: whoever waits for it waits no longer than before. */
async function besides(origin: string, attack: () => Promise<Outcome>): Promise<Outcome> {
  const healthMilliseconds = async (): Promise<number> => {
    const began = performance.now()
    await ask(`${origin}/healthz`)
    return performance.now() - began
  }
  const before = await healthMilliseconds()
  let longest = 0
  const over = new AbortController()
  const watching = (async () => {
    while (!over.signal.aborted) {
      longest = Math.max(longest, await healthMilliseconds())
      await delay(50)
    }
  })()
  const { held, detail } = await attack()
  over.abort()
  await watching
  const waited = `/healthz took ${Math.round(longest)} ms at most`
  return { held: held === true ? longest < before + patience : held, detail: `${detail}; ${waited}` }
}
