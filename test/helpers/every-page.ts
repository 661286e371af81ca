/** The pages that an administrator of the shipped site can open, by the name of their pictures; tests and benches look at all of them. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type PageRow, type PageName, pages } from '../../src/pages/pages.ts'
import type { RunningDaemon } from './daemon.ts'
import { sayingOf, textOfCall, tokenOf } from './tool-calls.ts'

/** Who looks: an administrator who may also read the log, somebody who sells, and an auditor. */
export const people = {
  admin: 'admin@example.com',
  sales: 'sales@example.com',
  auditor: 'audit@example.com',
} as const

/** Pages that are met only on a way, and in several states. */
const onTheWay: readonly PageName[] = ['home', 'signIn', 'secondStep', 'oneTimeLink', 'consent']

type Drawn = {
  [Name in PageName]: (typeof pages)[Name] extends { readonly view: string } ? Name : never
}[PageName]

/** Pages of which there are many. */
type WithParameters = {
  [Name in Drawn]: (typeof pages)[Name]['path'] extends `${string}:${string}` ? Name : never
}[Drawn]

/** Each page whose address says everything, by the name of its picture. */
const fixed = Object.fromEntries(
  (Object.entries(pages) as [PageName, PageRow][])
    .filter(([name, { path, view }]) => view !== undefined && !path.includes(':') && !onTheWay.includes(name))
    .map(([name, { path }]) => [name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`), path]),
)

/** Those of which there are many, as they are looked at, by the names of their pictures. */
const examples: Record<
  Exclude<WithParameters, 'dashboard' | 'approval'>,
  Readonly<Record<string, string>>
> = {
  records: { records: '/documents/Sales%20Order' },
  record: { record: '/documents/Sales%20Order/SO-00001' },
  changeDocument: { 'change-document': '/documents/Sales%20Order/SO-00001/edit' },
  newDocument: { 'new-document': '/new-document/Sales%20Order' },
  adminTool: { 'admin-tool': '/admin/tools/list_documents' },
  report: { report: '/reports/Sales%20by%20Customer' },
  prompt: { prompt: '/prompts/sales_analysis' },
  promptHistory: { 'prompt-history': '/prompts/sales_analysis/history' },
  promptEditor: { 'prompt-edit': '/prompts/letter/edit' },
  skill: { skill: '/skills/finding-documents' },
  skillFile: { 'skill-file': '/skills/finding-documents/files/references/filters.md' },
}

/** What pages of the administration show of one thing. */
const details = {
  'admin-person': '/admin/people?user=sales@example.com&subject=Customer',
  'admin-client': '/admin/clients?client=assistant-core-cli',
  'admin-file': '/admin/files?file=config/users.yaml',
}

/** The names of the pages that are there without anything being made first. */
export const namesOfPages = [fixed, details, ...Object.values(examples)].flatMap((some) => Object.keys(some))

const letter = `---
title: A letter to somebody
description: Greets whoever it is for, formally or not.
status: Draft
visibility: Private
owner: ${people.admin}
arguments:
  - { argument_name: who, display_label: Who, description: The name as it is to stand there., is_required: 1 }
  - { argument_name: regions, display_label: Regions, argument_type: multiselect, allowed_values: [North, South] }
  - { argument_name: when, display_label: When, argument_type: date }
  - { argument_name: formal, display_label: Formal, argument_type: boolean }
tests:
  - { name: greets, arguments: { who: Ada }, contains: Ada }
  - { name: is formal, arguments: { who: Ada }, contains: Esteemed }
---
Dear {{ who }}{% if formal %},{% endif %} {{ regions }} {{ when }}
`

/** Writes into a site what the pages are to show: an auditor, and a prompt that has everything. */
export function furnish(site: string): void {
  const users = join(site, 'config/users.yaml')
  const auditor = `{ email: ${people.auditor}, full_name: Ada Audit, roles: [Assistant User, Auditor], assistant_enabled: 1 }`
  const known = readFileSync(users, 'utf8').replace(
    '- System Manager\n',
    '- System Manager\n      - Auditor\n',
  )
  writeFileSync(users, `${known.trimEnd()}\n  - ${auditor}\n`)
  writeFileSync(join(site, 'prompts/letter.md'), letter)
}

/** Calls a tool and answers what it says. */
type Call = (name: string, args: object) => Promise<string>

/** Fills a daemon over a furnished site, lets calls wait from then on, and answers where everything stands. */
export async function pagesOf(
  daemon: Pick<RunningDaemon, 'url' | 'site' | 'cli'>,
): Promise<Readonly<Record<string, string>>> {
  const call = await sayingOf(daemon, people.admin)
  const token = await tokenOf(daemon, people.admin)
  // What has to be approved is not done, and says where to go.
  const approval = async (name: string, args: object): Promise<string> => {
    const text = await textOfCall(daemon, token, name, args)
    const address = /https?:\/\/\S+(\/approvals\/[\w-]+)/.exec(text)?.[1]
    assert.ok(address, text)
    return address
  }
  const listed = await call('list_documents', { doctype: 'Customer', fields: ['territory'], limit: 1 })
  const { name } = (JSON.parse(listed) as { data: [{ name: string }] }).data[0]
  const customer = { doctype: 'Customer', name }
  const order = { doctype: 'Sales Order', name: 'SO-00001' }
  await call('add_comment', { ...order, comment: 'They ask for delivery in the morning.' })
  await call('attach_file', { ...order, file_name: 'delivery note.txt', text: 'Four boxes, one pallet.' })
  const note = { title: 'Meeting on Monday', content: 'Bring the figures.\nAsk about the new house.' }
  const code = 'rows = tools.list_documents("Customer")\nfor row in rows:\n    print(row["name"])\n'
  const charts = await dashboard(call, 'Sales this quarter', ofEachKind)
  await letCallsWait(daemon)
  const made: Record<Exclude<WithParameters, keyof typeof examples>, Readonly<Record<string, string>>> = {
    dashboard: { dashboard: `/desk/${charts}` },
    approval: {
      'approval-create': await approval('create_document', { doctype: 'Note', data: note }),
      'approval-update': await approval('update_document', {
        ...customer,
        data: { territory: 'South', credit_limit: 250000 },
      }),
      'approval-delete': await approval('delete_document', customer),
      'approval-program': await approval('run_python_code', { code }),
    },
  }
  return Object.assign({}, fixed, details, ...Object.values(examples), ...Object.values(made))
}

const ofEachKind = {
  'Orders by status': { chart_type: 'bar', doctype: 'Sales Order', based_on: 'status' },
  'Tasks by priority': { chart_type: 'pie', doctype: 'Task', based_on: 'priority' },
  'Orders by month': {
    chart_type: 'line',
    doctype: 'Sales Order',
    time_series_based_on: 'order_date',
    time_interval: 'Monthly',
    timespan: 'All Time',
  },
  'Customers by territory': { chart_type: 'donut', doctype: 'Customer', based_on: 'territory' },
}

/** Makes a dashboard of so many charts that are drawn as pictures, and answers where it stands. */
export async function dashboardOfPictures(
  daemon: Pick<RunningDaemon, 'url' | 'cli'>,
  count: number,
): Promise<string> {
  const days = {
    chart_type: 'heatmap',
    doctype: 'Task',
    time_series_based_on: 'creation',
    timespan: 'All Time',
  }
  const charts = Object.fromEntries(
    Array.from({ length: count }, (_, index) => [`Tasks by day ${index}`, days]),
  )
  return `/desk/${await dashboard(await sayingOf(daemon, people.admin), 'Pictures', charts)}`
}

/** Makes a dashboard of charts. */
async function dashboard(
  call: Call,
  name: string,
  charts: Readonly<Record<string, object>>,
): Promise<string> {
  const ids: string[] = []
  for (const [chart_name, chart] of Object.entries(charts)) {
    const made = await call('create_dashboard_chart', { chart_name, ...chart, aggregate_function: 'Count' })
    ids.push((JSON.parse(made) as { chart_id: string }).chart_id)
  }
  const made = await call('create_dashboard', { dashboard_name: name, chart_names: ids })
  return String((JSON.parse(made) as { dashboard_id: unknown }).dashboard_id)
}

/** From now on the person decides on a page what is written or run. */
async function letCallsWait({ site, cli }: Pick<RunningDaemon, 'site' | 'cli'>): Promise<void> {
  const tools = join(site, 'config/tools.yaml')
  const confirmed = ['create_document', 'update_document', 'delete_document', 'run_python_code']
  const asking = confirmed.map((name) => `  ${name}: { confirm: page }\n`).join('')
  writeFileSync(tools, readFileSync(tools, 'utf8').replace(/\ntools:[^]*$/, `\ntools:\n${asking}`))
  const { code, stderr } = await cli(['reload'])
  assert.equal(code, 0, stderr)
}

/** What a browser loads besides a page itself: its style, scripts, icon and pictures, each once; not what waits to be opened. */
export function alsoLoadedBy(html: string): readonly string[] {
  const open = html.replaceAll(/<details>(?:(?!<\/?details)[^])*<\/details>/g, '')
  const found = open.matchAll(/<(?:link|script|img)\b[^>]*? (?:href|src)="([^"]+)"/g)
  return [...new Set([...found].map(([, source]) => source!.replaceAll('&amp;', '&')))]
}

/** Where an app that nobody knows asks to be allowed. */
export async function consentAddress({ url }: Pick<RunningDaemon, 'url'>): Promise<string> {
  const metadata = (await (await fetch(`${url}/.well-known/openid-configuration`)).json()) as Record<
    string,
    string
  >
  const redirectUri = 'https://login.app.example/callback'
  const registration = await fetch(metadata['registration_endpoint']!, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'Helpful Desktop',
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: 'none',
    }),
  })
  const asked = new URL(metadata['authorization_endpoint']!)
  for (const [name, value] of Object.entries({
    response_type: 'code',
    client_id: ((await registration.json()) as { client_id: string }).client_id,
    redirect_uri: redirectUri,
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  }))
    asked.searchParams.set(name, value)
  return asked.href
}
