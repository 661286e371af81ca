/** What is tried, one after the other; each settles once all of it is answered, refused or left. */
import { Agent, request } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { paths } from '../../src/oauth/urls.ts'
import { password } from '../../test/oauth/server.ts'
import { Browser } from '../../test/helpers/browser.ts'
import { bomb } from '../../packages/sandbox/test/sample-files.ts'
import type { WatchedDaemon } from '../watched-daemon.ts'
import { leaver, type Refreshing, type Sizes } from './filling.ts'

/** A daemon over a filled state, and who tries. */
export interface Trying {
  readonly watched: WatchedDaemon
  readonly size: Sizes
  /** The token of who asks. */
  readonly asking: string
  readonly refreshing: Refreshing
  /** The same user at a browser. */
  readonly pages: Browser
  /** True where others may share the state, where less is tried. */
  readonly isShared: boolean
}

export type Attempt = readonly [what: string, attempt: () => Promise<unknown>]

const administrator = 'admin@example.com'
const connections = 1000
const opportunity = { doctype: 'Opportunity' }

export function attempts(trying: Trying): readonly Attempt[] {
  return [
    ...ofTokens(trying),
    ...ofAudit(trying),
    ...ofCharts(trying),
    ...(trying.isShared ? [] : ofFiles(trying)),
  ]
}

/** Signs the administrator in. */
export async function signedIn({ daemon }: WatchedDaemon): Promise<Browser> {
  const { code, stderr } = await daemon.cli(['users', 'passwd', administrator, '--password-stdin'], password)
  if (code !== 0) throw new Error(stderr)
  const browser = new Browser()
  const page = await browser.open(`${daemon.url}/sign-in`, { headers: { accept: 'text/html' } })
  await browser.submit(page as never, { username: administrator, password })
  return browser
}

function ofTokens({ watched, size, refreshing, isShared }: Trying): readonly Attempt[] {
  const { daemon } = watched
  const { tokens, used, client } = refreshing
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const refresh = (token: string): Promise<number> => {
    const fields = { grant_type: 'refresh_token', refresh_token: token, client_id: client }
    return post(agent, `${daemon.url}${paths.token}`, new URLSearchParams(fields).toString())
  }
  const flood = (list: readonly string[]) => () => Promise.all(list.map((token) => refresh(token)))
  const count = tokens.length.toLocaleString('en')
  const wrong = tokens.map((token) => `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`)
  return [
    [`${count} refreshes at once, of as many families`, flood(tokens)],
    ['the same again', flood(tokens)],
    ['as many of one family', flood(tokens.map(() => tokens[0]!))],
    ['as many with wrong tokens', flood(wrong)],
    [
      `a refresh token of a family with ${size.tokens.toLocaleString('en')} tokens, used twice`,
      async () => {
        if ((await refresh(used)) !== 400) throw new Error('it was not refused')
      },
    ],
    [
      `\`tokens revoke\` of a user with ${size.families.toLocaleString('en')} families`,
      async () => {
        const { code, stderr } = await daemon.cli(['tokens', 'revoke', '--user', leaver])
        if (code !== 0) throw new Error(stderr)
      },
    ],
    ...(isShared
      ? []
      : [
          [
            `${size.over.toLocaleString('en')} tokens that are forgotten at once`,
            () => wait(15_000),
          ] as const,
        ]),
  ]
}

function ofAudit({ watched, size, asking, pages, isShared }: Trying): readonly Attempt[] {
  const open = async (question: string, signal?: AbortSignal): Promise<void> => {
    const page = await pages.open(`${watched.daemon.url}/audit${question}`, { ...(signal && { signal }) })
    if (!('status' in page) || page.status !== 200) throw new Error(`/audit${question} was not shown`)
  }
  const nothing = '?text=never%20told'
  const eight = (work: () => Promise<unknown>) => () => Promise.all(Array.from({ length: 8 }, work))
  const leaving = (question: string, after: number) => () =>
    open(question, AbortSignal.timeout(after)).catch((error: Error) => {
      if (error.name !== 'TimeoutError') throw error
    })
  const log = `over ${size.events.toLocaleString('en')} events`
  const search = () => watched.call(asking, 'search_audit', { text: 'never told' })
  return [
    [`\`/audit\` ${log}`, () => open('')],
    ['`/audit`, renewing itself', () => open('?live=1')],
    ['`/audit`, of what never happened', () => open(nothing)],
    ['the same, eight at once, for ten seconds', eight(leaving(nothing, 10_000))],
    ['the same, of eight who leave at once', eight(leaving(nothing, 500))],
    ['`search_audit` of what never happened', search],
    ...(isShared ? [] : [['`/audit` as CSV, left after half a second', leaving('/audit.csv', 500)] as const]),
  ]
}

function ofCharts({ watched, size, asking, pages, isShared }: Trying): readonly Attempt[] {
  let charts = 0
  const named = { dashboard_name: 'Of the bench' }
  const draw =
    (type: string, over: object, more: object = named) =>
    () =>
      watched.call(asking, 'create_dashboard_chart', {
        ...opportunity,
        chart_name: `Chart ${++charts}`,
        chart_type: type,
        aggregate_function: 'Count',
        timespan: 'All Time',
        ...over,
        ...more,
      })
  const days = { time_series_based_on: 'expected_close' }
  const groups = { based_on: 'title' }
  const count = size.documents.toLocaleString('en')
  const rows = (n: number) => `SELECT range AS label, range % 17 + 1 AS value FROM range(${n})`
  const drawn = (as: string) =>
    watched.call(asking, 'query_and_analyze', {
      query: rows(1000),
      limit: 1000,
      draw: { as, x: 'label', y: ['value'] },
    })
  const open = async (path: string): Promise<string> => {
    const page = await pages.open(watched.daemon.url + path)
    if (!('status' in page) || page.status !== 200)
      throw new Error(`${path}: ${JSON.stringify(page).slice(0, 300)}`)
    return page.html
  }
  const dashboard = async (): Promise<string> => {
    const [, path] = /href="(\/desk\/[^"]+)"/.exec(await open('/desk')) ?? []
    if (path === undefined) throw new Error('there is no dashboard')
    return open(path)
  }
  const pictures = async (): Promise<unknown> => {
    const found = [...(await dashboard()).matchAll(/\/desk\/charts\/[\w-]+/g)].map(([path]) => path)
    if (found.length === 0) throw new Error('there are no pictures')
    return await Promise.all([...new Set(found)].map((path) => pages.open(watched.daemon.url + path)))
  }
  return [
    [`a line chart of ${count} days, kept`, draw('line', days, {})],
    [
      'a dashboard of it',
      () => watched.call(asking, 'create_dashboard', { ...named, chart_names: ['Chart 1'] }),
    ],
    ...['bar', 'heatmap'].map((type): Attempt => [
      `a ${type} chart of ${count} days, kept`,
      draw(type, days),
    ]),
    ...['bar', 'pie', 'percentage'].map((type): Attempt => [
      `a ${type} chart of ${count} groups, kept`,
      draw(type, groups),
    ]),
    ['the dashboard of all of these, as a page', dashboard],
    ['its pictures, all at once', pictures],
    ...(isShared
      ? []
      : ([
          ['eight line charts at once', () => Promise.all(Array.from({ length: 8 }, draw('line', days)))],
          [
            'bars of 1,000 rows, eight at once',
            () => Promise.all(Array.from({ length: 8 }, () => drawn('bar'))),
          ],
          ['a pie of 1,000 rows', () => drawn('pie')],
        ] as const)),
  ]
}

function ofFiles({ watched, asking }: Trying): readonly Attempt[] {
  const note = { doctype: 'Note', file_name: 'bomb.pdf' }
  const members = Object.fromEntries(Array.from({ length: 90_000 }, (_, n) => [`k${n}`, n]))
  let name = ''
  const read = () => watched.call(asking, 'extract_file_content', { ...note, name, operation: 'extract' })
  return [
    [
      'a PDF that says ten million words, attached',
      async () => {
        const made = await watched.call(asking, 'create_document', {
          doctype: 'Note',
          data: { title: 'A file' },
        })
        name = /\\"name\\":\s*\\"([^"\\]+)/.exec(made)![1]!
        await watched.call(asking, 'attach_file', { ...note, name, base64: bomb().toString('base64') })
      },
    ],
    ['read by four at once', () => Promise.all(Array.from({ length: 4 }, read))],
    [
      'bodies with 90,000 members, in eight lanes',
      () =>
        Promise.all(
          Array.from({ length: 8 }, async () => {
            for (let n = 0; n < 5; n++)
              await watched.call(asking, 'list_documents', { doctype: 'Note', filters: members })
          }),
        ),
    ],
  ]
}

/** Answers the status: of a connection that ends too soon, 0. */
function post(agent: Agent, url: string, body: string): Promise<number> {
  return new Promise((resolve) => {
    const headers = {
      'Content-Type': 'application/x-www-form-urlencoded',
      'Content-Length': Buffer.byteLength(body),
    }
    const asked = request(url, { method: 'POST', agent, headers }, (answer) => {
      answer.resume().on('close', () => resolve(answer.statusCode!))
    })
    asked.on('error', () => resolve(0)).end(body)
  })
}
