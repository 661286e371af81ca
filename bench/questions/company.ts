/** A company that is asked: the real program over a site of its own, people's tokens, and SQL over the same rows by another way. */
import { execFile } from 'node:child_process'
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'
import { startServerProcess } from '../server-process.ts'
import { openRows, type Rows } from './rows.ts'

const endpoint = '/api/method/assistant_core.api.mcp_endpoint.handle_mcp'
const dayMilliseconds = 86_400_000
/** The day in the shipped seeds that becomes today, so that "this month" and "overdue" mean something. */
const seededToday = Date.parse('2026-06-30T00:00:00Z')

/** What a company is made of. */
export interface CompanyPlan {
  readonly name: string
  /** The template that its site begins as. */
  readonly template: string
  /** Short names of the people who ask. */
  readonly people: Readonly<Record<string, string>>
  /** What each may read of a table, in SQL over its rows, written from the permissions by hand; all of a table without a line. */
  readonly visible: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** Lines for the end of a file of the site, by path. */
  readonly more?: Readonly<Record<string, string>>
  /** Whole files of the site, by path. */
  readonly files?: Readonly<Record<string, string>>
}

/** What a tool answered. */
export interface Reply {
  readonly text: string
  readonly json: any
  readonly failed: boolean
  readonly pictures: number
}

/** A company that runs. */
export interface Company {
  readonly name: string
  readonly plan: CompanyPlan
  call(person: string, tool: string, args: unknown): Promise<Reply>
  /** The answer of SQL over what a person may read. */
  truth(person: string, sql: string): Promise<readonly (readonly unknown[])[]>
  /** What a host gives a model: names, descriptions and schemas of the tools. */
  catalogue(person: string): Promise<readonly OfferedTool[]>
  /** What the program tells a model once about itself. */
  instructions(person: string): Promise<string>
  /** All documents but those that drawing makes, as the state has them now: to see that nothing changed. */
  fingerprint(): string
  close(): void
}

export interface OfferedTool {
  readonly name: string
  readonly description: string
  readonly inputSchema: any
}

/** Starts the program over a fresh site; another program of that kind, such as an older release, where one is named. */
export async function startCompany(plan: CompanyPlan, program: string): Promise<Company> {
  const folder = mkdtempSync(join(tmpdir(), 'assistant-core-questions-'))
  const [site, state] = [join(folder, 'site'), join(folder, 'state')]
  const env = { ASSISTANT_CORE_SITE: site, ASSISTANT_CORE_STATE: state, TZ: 'UTC' }
  const run = async (...args: string[]): Promise<string> => {
    const options = { env: { ...process.env, ...env } }
    return (await promisify(execFile)(process.execPath, [program, ...args], options)).stdout
  }
  await run('init', site, '--template', plan.template)
  prepare(site, plan)
  const { port } = await startServerProcess([program, 'serve', '--port', '0'], { env, anywhere: true })
  const issued = Object.entries(plan.people).map(async ([person, email]) => {
    const { access_token: token } = JSON.parse(await run('tokens', 'issue', '--user', email, '--json'))
    return [person, token as string] as const
  })
  const tokens = new Map(await Promise.all(issued))
  const rows: Rows = await openRows(site, state, plan)
  const url = `http://127.0.0.1:${port}${endpoint}`
  const send = async (person: string, method: string, params: unknown): Promise<any> => {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${tokens.get(person)!}`,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method}: ${response.status} ${text}`)
    const event = text.split('\n').findLast((line) => line.startsWith('data:'))
    return JSON.parse(event ? event.slice(5) : text)
  }
  return {
    name: plan.name,
    plan,
    call: async (person, tool, args) =>
      replyOf(await send(person, 'tools/call', { name: tool, arguments: args })),
    truth: (person, sql) => rows.ask(person, sql),
    catalogue: async (person) => {
      const { result } = await send(person, 'tools/list', {})
      return (result.tools as OfferedTool[]).map(({ name, description, inputSchema }) => ({
        name,
        description,
        inputSchema,
      }))
    },
    instructions: async (person) => {
      const asked = {
        protocolVersion: '2025-06-18',
        capabilities: {},
        clientInfo: { name: 'bench', version: '1' },
      }
      return (await send(person, 'initialize', asked)).result.instructions ?? ''
    },
    fingerprint: () => rows.fingerprint(),
    close() {
      rows.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Moves the seeds so that they end about today, takes the limits of requests away, and adds the lines of the plan. */
function prepare(site: string, plan: CompanyPlan): void {
  const today = Math.floor(Date.now() / dayMilliseconds) * dayMilliseconds
  const moved = (date: string): string =>
    new Date(Date.parse(date) + today - seededToday).toISOString().slice(0, 10)
  for (const [path, text] of Object.entries(plan.files ?? {})) {
    mkdirSync(dirname(join(site, path)), { recursive: true })
    writeFileSync(join(site, path), text)
  }
  const seeds = join(site, 'config/seeds')
  for (const file of readdirSync(seeds)) {
    const text = readFileSync(join(seeds, file), 'utf8')
    // Birthdays stay.
    writeFileSync(join(seeds, file), text.replaceAll(/\b202[56]-\d{2}-\d{2}\b/g, moved))
  }
  const settings = join(site, 'config/settings.yaml')
  const text = readFileSync(settings, 'utf8')
  writeFileSync(settings, text.replace(/(^rate_limits:\n(?:\s*#.*\n)*\s+enabled:) true/m, '$1 false'))
  for (const [path, lines] of Object.entries(plan.more ?? {})) appendFileSync(join(site, path), lines)
}

function replyOf({ result, error }: any): Reply {
  if (error) return { text: error.message, json: {}, failed: true, pictures: 0 }
  const texts = result.content.filter(({ type }: { type: string }) => type === 'text')
  const text = texts.map((one: { text: string }) => one.text).join('\n')
  return {
    text,
    json: parsed(text),
    failed: result.isError === true,
    pictures: result.content.length - texts.length,
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}
