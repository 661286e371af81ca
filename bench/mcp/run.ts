/**
 * How fast the MCP endpoint is: the real daemon with bearer tokens, permissions and audit, beside a bare node:http server
 * that answers the same bytes ("floor"), plain Koa doing the same, and peers that answer the same but authenticate
 * nobody and record nothing. Every answer is checked before it is measured. Rounds take turns and their medians count;
 * servers run on one core and the load comes from the other. The first number is the share of the floor's requests a
 * second, then the server's processor time for one request, then the 99th percentile of latency.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { parseArgs, promisify } from 'node:util'
import autocannon from 'autocannon'
import { freePort } from '../../test/helpers/free-port.ts'
import {
  median,
  startServerProcess,
  startService,
  stopServerProcesses,
  table,
  usedBy,
} from '../server-process.ts'

const path = '/api/method/assistant_core.api.mcp_endpoint.handle_mcp'
const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '1' }, rounds: { type: 'string', default: '3' } },
})

interface Question {
  readonly method: string
  readonly params: Readonly<Record<string, unknown>>
}

const call = (name: string, args: unknown): Question => ({
  method: 'tools/call',
  params: { name, arguments: args },
})
const questions: Readonly<Record<string, Question>> = {
  ping: { method: 'ping', params: {} },
  'tools/list': { method: 'tools/list', params: {} },
  'tools/call get_doctype_info': call('get_doctype_info', { doctype: 'Customer' }),
  'tools/call get_document': call('get_document', { doctype: 'Customer', name: 'Müller Bau' }),
  'tools/call list_documents, 20 rows': call('list_documents', { doctype: 'Customer', limit: 20 }),
  'prompts/get': {
    method: 'prompts/get',
    params: { name: 'sales_analysis', arguments: { analysis_focus: 'revenue_trends' } },
  },
  'resources/read': { method: 'resources/read', params: { uri: 'skill://finding-documents/SKILL.md' } },
}

const peers: Readonly<Record<string, { readonly name: string; readonly lacks: readonly string[] }>> = {
  koa: { name: 'Koa, the same bytes', lacks: [] },
  'mcp-lite': { name: 'mcp-lite 0.10', lacks: [] },
  'sdk-v1': { name: 'SDK v1 1.32', lacks: [] },
  'sdk-v2': { name: 'SDK v2 2.4', lacks: [] },
  fastmcp: { name: 'fastmcp 4.20', lacks: [] },
}

interface Target {
  readonly name: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly pid: number
  /** What it does not have. */
  readonly lacks: readonly string[]
}

interface Measured {
  readonly rate: number
  readonly microseconds: number
  readonly p99: number
}

const folder = mkdtempSync(join(tmpdir(), 'bench-mcp-'))
try {
  await main()
} finally {
  await stopServerProcesses()
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

async function main(): Promise<void> {
  const daemon = await startDaemon()
  const answers: Record<string, string> = {}
  for (const question of Object.values(questions)) answers[keyOf(question)] = await ask(daemon, question)
  const targets = [await startFloor(answers), daemon, ...(await startPeers(answers))]
  const rows: string[][] = []
  for (const [name, question] of Object.entries(questions)) {
    const kind = question.method
    for (const target of targets) await sameAnswer(target, question, answers[keyOf(question)]!)
    const able = targets.filter(({ lacks }) => !lacks.includes(kind))
    const measured = new Map<Target, Measured[]>(able.map((target) => [target, []]))
    // What runs for the first time is compiled first: a round that does not count.
    for (const target of able) await measure(target, question, 3)
    for (let round = 0; round < Number(values.rounds); round++)
      for (const target of able) measured.get(target)!.push(await measure(target, question))
    const base = measured.get(targets[0]!)!
    rows.push([name, ...targets.map((target) => shown(measured.get(target), base))])
    process.stderr.write(`${rows.at(-1)!.join('   ')}\n`)
  }
  table(['', ...targets.map((target) => target.name)], rows)
}

/** What a server of made answers finds its answer by. */
function keyOf({ method, params }: Question): string {
  return method === 'tools/call' ? `${method} ${String(params['name'])}` : method
}

function shown(measured: readonly Measured[] | undefined, base: readonly Measured[]): string {
  if (!measured) return 'does not have it'
  const middle = (of: readonly Measured[], key: keyof Measured): number => median(of.map((one) => one[key]))
  const share = middle(measured, 'rate') / middle(base, 'rate')
  return `**${share.toFixed(2)}**, ${Math.round(middle(measured, 'microseconds'))} µs, ${middle(measured, 'p99')} ms`
}

async function startDaemon(): Promise<Target> {
  const { port, pid, tokenOf } = await startService(folder)
  const headers = { authorization: `Bearer ${await tokenOf('sales@example.com')}` }
  return { name: 'assistant-core', url: `http://127.0.0.1:${port}${path}`, headers, pid, lacks: [] }
}

async function startFloor(answers: Readonly<Record<string, string>>): Promise<Target> {
  const env = { FLOOR_ANSWERS: JSON.stringify(answers) }
  const { port, pid } = await startServerProcess([join(import.meta.dirname, 'floor.mjs')], { env })
  return { name: 'floor', url: `http://127.0.0.1:${port}/`, headers: {}, pid, lacks: [] }
}

/** The peers in the versions of `peers/package-lock.json`, fetched for the first run. */
async function startPeers(answers: Readonly<Record<string, string>>): Promise<Target[]> {
  const cwd = join(import.meta.dirname, 'peers')
  if (!existsSync(join(cwd, 'node_modules')))
    await promisify(execFile)('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd })
  const targets: Target[] = []
  for (const [peer, { name, lacks }] of Object.entries(peers)) {
    const env = { FLOOR_ANSWERS: JSON.stringify(answers), PEER_PORT: String(await freePort()) }
    const { port, pid } = await startServerProcess(['peer.mjs', peer], { cwd, env })
    targets.push({ name, url: `http://127.0.0.1:${port}/`, headers: {}, pid, lacks })
  }
  return targets
}

function requestOf(
  target: Target,
  { method, params }: Question,
): { headers: Record<string, string>; body: string } {
  return {
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-06-18',
      ...target.headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  }
}

async function ask(target: Target, question: Question): Promise<string> {
  const response = await fetch(target.url, { method: 'POST', ...requestOf(target, question) })
  const text = await response.text()
  if (!response.ok || text.includes('"error":') || text.includes('"isError":true'))
    throw new Error(`${target.name} ${keyOf(question)}: ${response.status} ${text.slice(0, 300)}`)
  return text
}

/** What a model would read of the answer must be the same everywhere: the texts, or the names of what is listed. */
async function sameAnswer(target: Target, question: Question, expected: string): Promise<void> {
  if (target.lacks.includes(question.method)) return
  const text = await ask(target, question)
  const json = text.startsWith('{') ? text : text.replace(/^[\s\S]*?^data: /m, '')
  if (readable(json) !== readable(expected))
    throw new Error(`${target.name} ${keyOf(question)} answers otherwise: ${json.slice(0, 300)}`)
}

function readable(json: string): string {
  const { result } = JSON.parse(json) as { result: Record<string, any> }
  const { tools, content, messages, contents } = result
  if (tools) return (tools as { name: string }[]).map(({ name }) => name).join()
  return JSON.stringify([content?.[0]?.text, messages?.[0]?.content?.text, contents?.[0]?.text])
}

async function measure(
  target: Target,
  question: Question,
  seconds = Number(values.seconds),
): Promise<Measured> {
  const before = usedBy(target.pid)
  const result = await autocannon({
    url: target.url,
    method: 'POST',
    connections: 16,
    duration: seconds,
    ...requestOf(target, question),
  })
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${target.name} ${keyOf(question)}: ${result.non2xx + result.errors} refused`)
  return {
    rate: result.requests.average,
    microseconds: (usedBy(target.pid) - before) / result.requests.total,
    p99: result.latency.p99,
  }
}
