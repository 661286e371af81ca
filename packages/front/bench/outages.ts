/**
 * Looks for outages: for each kind of data that a user without a business role may write, draws questions of every tool
 * and page that this user is offered, asks them alone and eight at a time, and tells the longest turn of the daemon's own
 * thread and its memory: `node --import tsx packages/front/bench/outages.ts [seconds for each kind] [seed]`. The questions that
 * took the longest are told on stderr, so that `test/attacks/own-data.test.ts` can keep them.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { oneof, sample } from 'fast-check'
import { paths } from '../../../src/oauth/urls.ts'
import { own, watchLag } from '../../../test/attacks/lag.ts'
import { tokenOf } from '../../../test/helpers/tool-calls.ts'
import { Browser } from '../../../test/helpers/browser.ts'
import { copyOfShippedSite, startDaemon, type RunningDaemon } from '../../../test/helpers/daemon.ts'
import { table } from '../../../bench/server-process.ts'
import { address, argumentsOf, dataKinds, type DrawnData, thing, thingRow } from './drawn-questions.ts'

const seconds = Number(process.argv[2] ?? 60)
const seed = Number(process.argv[3] ?? 1)
const user = 'hr@example.com'
const password = 'correct horse battery staple'
const patience = 20_000
/** Longer turns are told. */
const told = 50

interface Asked {
  readonly what: string
  readonly took: number
  readonly megabytes: number
}

const rows: (string | number)[][] = []
for (const data of dataKinds) rows.push(await tried(data))
table(['data', 'documents', 'questions', 'refused', 'turns over 50 ms', 'longest turn', 'most memory'], rows)

async function tried(data: DrawnData): Promise<(string | number)[]> {
  const undo: (() => unknown)[] = []
  const t = { after: (step: () => unknown) => void undo.push(step) } as never
  try {
    const site = siteWithThings(t)
    const daemon = await startDaemon(t, { site, state: join(site, '../state') })
    const lag = watchLag(t, daemon)
    const token = await tokenOf(daemon, user)
    const written = await fill(daemon, token, data)
    const pages = await signedIn(daemon)
    const asked: Asked[] = []
    let refused = 0
    const end = Date.now() + seconds * 1000
    for await (const { what, ask } of questions(daemon, token, pages, data.name)) {
      if (Date.now() > end || daemon.process.exitCode !== null) break
      for (const lanes of [1, 8]) {
        await lag()
        const answers = await Promise.all(Array.from({ length: lanes }, () => ask()))
        const under = await lag()
        if (answers.some((answer) => !answer)) refused++
        asked.push({
          what: `${lanes} × ${what()}`,
          took: own(under, under.max),
          megabytes: memoryOf(daemon),
        })
      }
    }
    const worst = asked.toSorted((a, b) => b.took - a.took)
    for (const { what, took } of worst.slice(0, 8))
      if (took > told) process.stderr.write(`${data.name}: ${took.toFixed(0)} ms: ${what}\n`)
    const over = asked.filter(({ took }) => took > told).length
    const megabytes = asked.reduce((most, one) => Math.max(most, one.megabytes), 0)
    const row = [data.name, written, asked.length, refused, over]
    const ended = daemon.process.exitCode === null ? '' : ', and it ended'
    const full = [...row, `${worst[0]?.took.toFixed(0)} ms`, `${megabytes.toFixed(0)} MB${ended}`]
    process.stderr.write(`${full.join('   ')}\n`)
    return full
  } finally {
    for (const step of undo.reverse()) await step()
  }
}

function siteWithThings(t: never): string {
  const site = copyOfShippedSite(t)
  writeFileSync(join(site, 'config/doctypes/thing.yaml'), thing)
  writeFileSync(join(site, 'config/doctypes/thing-row.yaml'), thingRow)
  const settings = join(site, 'config/settings.yaml')
  // What a minute allows, and what one person may keep, is not what is looked for.
  const unlimited = readFileSync(settings, 'utf8')
    .replace(/(^rate_limits:\n(?:\s*#.*\n)*\s+enabled:) true/m, '$1 false')
    .replace('max_bytes_per_user: 134217728', 'max_bytes_per_user: 0')
  writeFileSync(settings, unlimited)
  return site
}

/** Writes the documents; answers how many there are then. */
async function fill(daemon: RunningDaemon, token: string, { count, document }: DrawnData): Promise<number> {
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < count) {
      const args = { doctype: 'Thing', data: document(next++) }
      await call(daemon, token, 'tools/call', { name: 'create_document', arguments: args })
    }
  }
  await Promise.all(Array.from({ length: 6 }, lane))
  const counting = { name: 'count_documents', arguments: { doctype: 'Thing' } }
  const answer = await call(daemon, token, 'tools/call', counting)
  const written = Number(/\\"count\\":(\d+)/.exec(answer)?.[1])
  if (!(written > 0)) throw new Error(answer.slice(0, 500))
  return written
}

async function signedIn(daemon: RunningDaemon): Promise<Browser> {
  const { code, stderr } = await daemon.cli(['users', 'passwd', user, '--password-stdin'], password)
  if (code !== 0) throw new Error(stderr)
  const browser = new Browser()
  const page = await browser.open(`${daemon.url}/sign-in`, { headers: { accept: 'text/html' } })
  await browser.submit(page as never, { username: user, password })
  return browser
}

interface Question {
  readonly what: () => string
  /** Whether it was answered; nobody waits for ever. */
  readonly ask: () => Promise<boolean>
}

/** More than there is time for, in an order that the seed gives. */
async function* questions(
  daemon: RunningDaemon,
  token: string,
  pages: Browser,
  data: string,
): AsyncGenerator<Question> {
  const listed = JSON.parse(await call(daemon, token, 'tools/list', {})) as {
    result: { tools: { name: string; inputSchema: object }[] }
  }
  const tools = listed.result.tools.map(({ name, inputSchema }) =>
    argumentsOf(inputSchema).map((args) => ({
      what: () => `${name} ${JSON.stringify(args, shortened)}`,
      ask: async () =>
        !/"isError":true|"error":/.test(await call(daemon, token, 'tools/call', { name, arguments: args })),
    })),
  )
  const opened = address.map((path) => ({
    what: () => `GET ${path}`,
    ask: async () => {
      const page = await pages
        .open(daemon.url + path, { signal: AbortSignal.timeout(patience) })
        .catch(() => null)
      return page !== null && 'status' in page && page.status === 200
    },
  }))
  const drawn = oneof(opened, ...tools)
  const first = seed * 1_000_000 + data.length * 10_000
  for (let batch = 0; ; batch++) yield* sample(drawn, { seed: first + batch, numRuns: 20 })
}

function shortened(_: string, value: unknown): unknown {
  if (typeof value === 'string' && value.length > 80) return `${value.slice(0, 20)}… (${value.length})`
  return Array.isArray(value) && value.length > 12 ? [...value.slice(0, 2), `… (${value.length})`] : value
}

async function call(daemon: RunningDaemon, token: string, method: string, params: unknown): Promise<string> {
  try {
    const response = await fetch(daemon.url + paths.mcp, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      signal: AbortSignal.timeout(patience),
    })
    return await response.text()
  } catch (error) {
    return `"error": ${String(error)}`
  }
}

/** What the process has had at most, since it began. */
function memoryOf({ process: { pid } }: RunningDaemon): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024
  } catch {
    return 0
  }
}
