/**
 * Acknowledged writes a second of the real daemon over HTTP, everything on, each with its audit event: a note made, a note
 * changed, a token issued (by a refresh), by 1, 16 and 256 connections; beside bare appends of 400 bytes with fdatasync by
 * one writer, which are measured before and after each. Every answer is checked.
 * `node --import tsx bench/audit/writes.ts [SECONDS]`, after `npm run build`.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import process from 'node:process'
import { setTimeout } from 'node:timers/promises'
import { paths } from '../../src/oauth/urls.ts'
import { runCli } from '../../test/helpers/daemon.ts'
import { Browser, connect } from '../../test/oauth/browser.ts'
import { password } from '../../test/oauth/server.ts'
import { startService, stopServerProcesses, table, usedBy } from '../server-process.ts'

const seconds = Number(process.argv[2] ?? 2)
const connections = [1, 16, 256]
const user = 'sales@example.com'
const folder = mkdtempSync(join(tmpdir(), 'bench-writes-'))

class Refused extends Error {
  readonly isBusy: boolean

  constructor(status: number | undefined, text: string) {
    super(`${status} ${text}`)
    this.isBusy = status === 503
  }
}

/** A write of one connection. */
type Write = (lane: number) => Promise<void>

try {
  spawnSync('taskset', ['-cp', '1', String(process.pid)])
  await main()
} finally {
  await stopServerProcesses()
  rmSync(folder, { recursive: true, force: true })
}

async function main(): Promise<void> {
  const { port, pid, tokenOf } = await startService(folder, 8000)
  const writes = await writesOf(port, await tokenOf(user))
  const rows: (string | number)[][] = []
  for (const [name, write] of Object.entries(writes))
    for (const many of connections) {
      const [before, used] = [await bareAppends(), usedBy(pid)]
      const { rate, count } = await repeated(write, many)
      const microseconds = Math.round((usedBy(pid) - used) / count)
      const bare = (before + (await bareAppends())) / 2
      rows.push([name, many, Math.round(rate), Math.round(bare), (rate / bare).toFixed(2), microseconds])
    }
  table(
    [
      'write',
      'connections',
      'a second',
      'bare appends with fdatasync a second',
      'ratio',
      'CPU µs of the server',
    ],
    rows,
  )
}

async function writesOf(port: number, token: string): Promise<Record<string, Write>> {
  const agent = new Agent({ keepAlive: true, maxSockets: Infinity })
  const json = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }
  const headers = { ...json, Authorization: `Bearer ${token}` }
  const call = async (name: string, args: object): Promise<string> => {
    const params = { name, arguments: args }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    const answer = await post(agent, port, paths.mcp, headers, body)
    if (!answer.includes('"isError":false') && !/"success\\*":true/.test(answer)) throw new Error(answer)
    return answer
  }
  const made: string[] = []
  while (made.length < Math.max(...connections)) {
    const answer = await call('create_document', { doctype: 'Note', data: { title: 'A call' } })
    made.push(/\\"name\\":\s*\\"([^"\\]+)/.exec(answer)?.[1] ?? '')
  }
  const { client, tokens } = await begun(port)
  let changes = 0
  return {
    'a note is made': async () =>
      void (await call('create_document', { doctype: 'Note', data: { title: 'A call' } })),
    'a note is changed': async (lane) => {
      const data = { title: `Change ${++changes}` }
      await call('update_document', { doctype: 'Note', name: made[lane]!, data })
    },
    'a token is issued': async (lane) => {
      const fields = { grant_type: 'refresh_token', refresh_token: tokens[lane]!, client_id: client }
      const form = { 'Content-Type': 'application/x-www-form-urlencoded' }
      const answer = await post(agent, port, paths.token, form, new URLSearchParams(fields).toString())
      tokens[lane] = (JSON.parse(answer) as { refresh_token: string }).refresh_token
    },
  }
}

/** A client, and a refresh token for each connection. */
async function begun(port: number): Promise<{ readonly client: string; readonly tokens: string[] }> {
  const env = { ASSISTANT_CORE_SITE: join(folder, 'site'), ASSISTANT_CORE_STATE: join(folder, 'state') }
  const told = await runCli(['users', 'passwd', user, '--password-stdin'], { env, input: `${password}\n` })
  if (told.code !== 0) throw new Error(told.stderr)
  const server = { url: `http://localhost:${port}` }
  const browser = new Browser(server)
  const first = await connect(server, { browser, user })
  const tokens = [first.tokens.refresh_token]
  while (tokens.length < Math.max(...connections))
    tokens.push((await connect(server, { browser, user, client: first.client })).tokens.refresh_token)
  return { client: first.client, tokens }
}

function post(
  agent: Agent,
  port: number,
  path: string,
  headers: Record<string, string>,
  body: string,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = request({ agent, port, host: 'localhost', path, method: 'POST', headers }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (part: string) => (text += part))
      response.on('end', () =>
        response.statusCode === 200 ? resolve(text) : reject(new Refused(response.statusCode, text)),
      )
    })
    asked.on('error', reject)
    asked.end(body)
  })
}

/** A write; who is told to come again does. */
async function until(write: Write, lane: number): Promise<void> {
  for (;;) {
    const refused = await write(lane).then(
      () => undefined,
      (error: unknown) => error,
    )
    if (refused === undefined) return
    if (!(refused instanceof Refused && refused.isBusy)) throw refused
    await setTimeout(10)
  }
}

/** Writes by so many connections for the time given. */
async function repeated(write: Write, many: number): Promise<{ rate: number; count: number }> {
  const [began, end] = [performance.now(), performance.now() + seconds * 1000]
  let count = 0
  await Promise.all(
    Array.from({ length: many }, async (_, lane) => {
      while (performance.now() < end) {
        await until(write, lane)
        count++
      }
    }),
  )
  return { rate: (count * 1000) / (performance.now() - began), count }
}

async function bareAppends(): Promise<number> {
  const file = await open(join(folder, 'bare'), 'w')
  const bytes = Buffer.alloc(400, 'x')
  const end = performance.now() + seconds * 250
  let count = 0
  while (performance.now() < end) {
    await file.write(bytes)
    await file.datasync()
    count++
  }
  await file.close()
  return (count * 1000) / (seconds * 250)
}
