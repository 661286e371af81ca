/**
 * A long steady load on the real daemon, watched from outside: `node --import tsx bench/soak/soak.ts [minutes]` (15 unless
 * told). Every ten seconds it notes memory and open files; at the end it says whether they are flat: the median of the last third
 * against that of the second. Ends with 1 when memory grew by more than a tenth, files by more than 8, or a request failed.
 */
import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { operate } from '../../src/cli/control.ts'

const minutes = Number(process.argv[2] ?? 15)
const root = resolve(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'assistant-core-soak-'))
const site = join(folder, 'site')
const state = join(folder, 'state')
for (const part of ['config', 'prompts', 'skills'])
  cpSync(join(root, part), join(site, part), { recursive: true })
const settings = join(site, 'config/settings.yaml')
writeFileSync(
  settings,
  readFileSync(settings, 'utf8')
    .replace('rate_limits:\n  # false', 'rate_limits:\n  # off')
    .replace(/^( {2}enabled: )true(\n {2}# MCP requests)/m, '$1false$2'),
)

const daemon = spawn(join(root, 'bin/assistant-core'), [
  'serve',
  '--port',
  '0',
  '--site',
  site,
  '--state',
  state,
])
const port = await new Promise<number>((listening, failed) => {
  daemon.once('exit', (code) => failed(new Error(`the daemon ended with ${code}`)))
  createInterface({ input: daemon.stdout }).on('line', (line) => {
    const entry = JSON.parse(line) as { msg?: string; port?: number }
    if (entry.msg === 'listening') listening(entry.port!)
  })
})
const { access_token: token } = await operate({ site, state, json: true }, 'tokens.issue', {
  user: 'admin@example.com',
  seconds: minutes * 60 + 600,
})
const endpoint = `http://localhost:${port}/api/method/assistant_core.api.mcp_endpoint.handle_mcp`
const call = (name: string, args: object): object => ({
  method: 'tools/call',
  params: { name, arguments: args },
})
/** What the workers ask in turn. */
const reads: readonly object[] = [
  { method: 'tools/list' },
  { method: 'prompts/list' },
  call('list_documents', { doctype: 'Customer', limit: 5 }),
  call('count_documents', { doctype: 'Customer' }),
  { method: 'resources/list' },
  call('search_documents', { query: 'paper' }),
  call('query_and_analyze', { query: 'select count(*) as n from customer' }),
]
/** Now and then a worker writes, and takes it back (the history of both stays, so this must be rare), or runs Python. */
function workOf(turn: number, worker: number): object {
  const name = `Soak ${worker} ${turn - (turn % 200)}`
  if (turn % 200 === 20)
    return call('create_document', { doctype: 'Supplier', data: { supplier_name: name } })
  if (turn % 200 === 40) return call('delete_document', { doctype: 'Supplier', name })
  if (turn % 200 === 60) return call('run_python_code', { code: 'print(sum(range(1000)))' })
  return reads[turn % reads.length]!
}

interface Sample {
  readonly seconds: number
  readonly megabytes: number
  readonly files: number
  readonly requests: number
}

const samples: Sample[] = []
let requests = 0
let failed = 0
const began = performance.now()
const ends = began + minutes * 60_000
const load = Array.from({ length: 4 }, async (_, worker) => {
  for (let turn = 0; performance.now() < ends; turn++) {
    const body = JSON.stringify({ jsonrpc: '2.0', id: turn, ...workOf(turn, worker) })
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const answer = await fetch(endpoint, { method: 'POST', headers, body }).then(
      async (response) => (response.ok ? await response.text() : ''),
      () => '',
    )
    requests++
    if (!answer.includes('"result"') || answer.includes('"isError":true')) {
      if (failed++ === 0) console.log(`first failure: ${body} ${answer.slice(0, 500)}`)
    }
    await delay(5)
  }
})
const pause = Math.min(10_000, (minutes * 60_000) / 12)
while (performance.now() < ends) {
  await delay(pause)
  const resident = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${daemon.pid}/status`, 'utf8'))?.[1]
  samples.push({
    seconds: Math.round((performance.now() - began) / 1000),
    megabytes: Math.round(Number(resident) / 1024),
    files: readdirSync(`/proc/${daemon.pid}/fd`).length,
    requests,
  })
  console.log(JSON.stringify(samples.at(-1)))
}
await Promise.all(load)
daemon.kill('SIGTERM')
await new Promise((ended) => daemon.once('close', ended))
rmSync(folder, { recursive: true, force: true })

const third = Math.floor(samples.length / 3)
const median = (part: readonly Sample[], of: (sample: Sample) => number): number =>
  part.map(of).sort((a, b) => a - b)[Math.floor(part.length / 2)] ?? 0
const middle = samples.slice(third, 2 * third)
const last = samples.slice(2 * third)
const growth = median(last, ({ megabytes }) => megabytes) / median(middle, ({ megabytes }) => megabytes)
const files = median(last, (sample) => sample.files) - median(middle, (sample) => sample.files)
const flat = growth < 1.1 && files <= 8 && failed === 0
console.log(
  `${requests} requests, ${failed} failed; memory × ${growth.toFixed(3)}, files ${files >= 0 ? '+' : ''}${files}: ${flat ? 'flat' : 'NOT FLAT'}`,
)
process.exitCode = flat ? 0 : 1
