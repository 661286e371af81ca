/**
 * How fast the MCP endpoint is, as a multiple of a bare node:http server that answers the same bytes ("floor"):
 * the real daemon with bearer tokens, permissions and audit. Rounds interleave, medians count; read the ratios, not the numbers.
 * Beside them the processor time of the server for one request, which a busy machine moves least, and the 99th percentile.
 * `node --import tsx bench/mcp/run.ts [--seconds 3] [--rounds 3]`
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { parseArgs, promisify } from 'node:util'
import { execFile } from 'node:child_process'
import autocannon from 'autocannon'

const root = resolve(import.meta.dirname, '../..')
const path = '/api/method/assistant_core.api.mcp_endpoint.handle_mcp'
const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '3' }, rounds: { type: 'string', default: '3' } },
})

const requests: Record<string, Record<string, unknown>> = {
  ping: {},
  'tools/list': {},
  'tools/call': { name: 'list_documents', arguments: { doctype: 'Customer', limit: 5 } },
  'prompts/get': { name: 'sales_analysis', arguments: { analysis_focus: 'revenue_trends' } },
  'resources/read': { uri: 'skill://finding-documents/SKILL.md' },
}

interface Target {
  readonly name: string
  readonly url: string
  readonly headers: Record<string, string>
  readonly methods: readonly string[]
  /** Of the server. */
  readonly pid: number
}

interface Measured {
  readonly rate: number
  readonly microseconds: number
  readonly p99: number
}

const children: ChildProcess[] = []
const folder = mkdtempSync(join(tmpdir(), 'bench-mcp-'))
try {
  await main()
} finally {
  for (const child of children) child.kill('SIGTERM')
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

async function main(): Promise<void> {
  const daemon = await startDaemon()
  const answers: Record<string, string> = {}
  for (const method of Object.keys(requests)) answers[method] = await ask(daemon, method)
  const env = { FLOOR_ANSWERS: JSON.stringify(answers) }
  const started = async (name: string, file: string, methods: readonly string[]): Promise<Target> => {
    const child = start(['--import', 'tsx', join(import.meta.dirname, file)], env)
    const port = await listening(child)
    return { name, url: `http://127.0.0.1:${port}/`, headers: {}, methods, pid: child.pid! }
  }
  const floor = await started('floor', 'floor.ts', Object.keys(requests))
  const peer = await started('SDK v1 low-level', 'peer-sdk.ts', ['tools/list', 'tools/call', 'prompts/get'])
  const targets = [floor, daemon, peer]

  for (const method of Object.keys(requests)) {
    const rates = new Map<Target, Measured[]>(targets.map((target) => [target, []]))
    for (let round = 0; round < Number(values.rounds); round++) {
      for (const target of targets) {
        if (target.methods.includes(method)) rates.get(target)!.push(await measure(target, method))
      }
    }
    const middle = (target: Target, of: keyof Measured): number =>
      median(rates.get(target)!.map((measured) => measured[of]))
    const base = middle(floor, 'rate')
    const shown = targets
      .filter((target) => target.methods.includes(method))
      .map((target) => {
        const rate = middle(target, 'rate')
        const cost = `${Math.round(middle(target, 'microseconds'))} µs, p99 ${middle(target, 'p99')} ms`
        return `${target.name} ${Math.round(rate)}/s (${(rate / base).toFixed(2)}; ${cost})`
      })
    console.log(`${method.padEnd(15)} ${shown.join('   ')}`)
  }
}

/** The real daemon over a copy of the shipped site, without rate limits. */
async function startDaemon(): Promise<Target> {
  const site = join(folder, 'site')
  for (const part of ['config', 'prompts', 'skills'])
    cpSync(join(root, part), join(site, part), { recursive: true })
  const settings = join(site, 'config/settings.yaml')
  const text = readFileSync(settings, 'utf8')
  writeFileSync(settings, text.replace(/(^rate_limits:\n(?:\s*#.*\n)*\s+enabled:) true/m, '$1 false'))
  const env = { ASSISTANT_CORE_SITE: site, ASSISTANT_CORE_STATE: join(folder, 'state') }
  const program = join(root, 'bin/assistant-core')
  const child = start([program, 'serve', '--port', '0'], env)
  const port = await listening(child)
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [program, 'tokens', 'issue', '--user', 'sales@example.com', '--json'],
    { env: { ...process.env, ...env } },
  )
  const { access_token: token } = JSON.parse(stdout) as { access_token: string }
  return {
    name: 'assistant-core',
    url: `http://127.0.0.1:${port}${path}`,
    headers: { authorization: `Bearer ${token}` },
    methods: Object.keys(requests),
    pid: child.pid!,
  }
}

/** Servers run on core 0 and the load comes from core 1, where the machine lets us choose. */
function start(args: readonly string[], env: Record<string, string>): ChildProcess {
  const pinned = process.platform === 'linux' ? ['taskset', '-c', '0', process.execPath] : [process.execPath]
  const child = spawn(pinned[0]!, [...pinned.slice(1), ...args], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  return child
}

function listening(child: ChildProcess): Promise<number> {
  return new Promise((resolvePort, reject) => {
    child.on('close', (code) => reject(new Error(`a server ended with ${code}`)))
    createInterface({ input: child.stdout! }).on('line', (line) => {
      if (line.includes('"listening"')) resolvePort((JSON.parse(line) as { port: number }).port)
    })
  })
}

function requestOf(target: Target, method: string): { headers: Record<string, string>; body: string } {
  return {
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-06-18',
      ...target.headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: requests[method] }),
  }
}

async function ask(target: Target, method: string): Promise<string> {
  const response = await fetch(target.url, { method: 'POST', ...requestOf(target, method) })
  const text = await response.text()
  if (!response.ok || text.includes('"error":')) throw new Error(`${method}: ${text.slice(0, 300)}`)
  return text
}

/** Processor time that a process has used, in microseconds (proc(5): utime and stime, in ticks of 10 ms). */
function usedBy(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10_000
}

async function measure(target: Target, method: string): Promise<Measured> {
  const before = usedBy(target.pid)
  const result = await autocannon({
    url: target.url,
    method: 'POST',
    connections: 16,
    duration: Number(values.seconds),
    ...requestOf(target, method),
  })
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${target.name} ${method}: ${result.non2xx} refused`)
  return {
    rate: result.requests.average,
    microseconds: (usedBy(target.pid) - before) / result.requests.total,
    p99: result.latency.p99,
  }
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)]!
}
