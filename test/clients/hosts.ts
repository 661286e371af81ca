/** The programs that people use: each signs in as its user would, and its model is one that we speak for. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import type { Walk } from './lane.ts'
import { standIn } from './model.ts'
import { nodeOf, type Ran, run, surroundings } from './programs.ts'

const called = { doctype: 'Customer', limit: 1 }
/** What the answer to the call has in it, however a host wraps it. */
const answered = /total_count/

/** What happens before each call that the model makes; a last deed that is no call ends the conversation. */
type Plan = readonly (() => Promise<'call' | 'end'>)[]

const call = (): Promise<'call'> => Promise.resolve('call')
const editAndExpire = (walk: Walk) => async (): Promise<'call'> => {
  await walk.edit()
  await walk.expire()
  return 'call'
}
const revoke = (walk: Walk) => async (): Promise<'call'> => {
  await walk.revoke()
  return 'call'
}

/** A host whose model asks for one tool again and again. */
async function converse(plan: Plan, talk: (model: string) => Promise<Ran>): Promise<void> {
  let turns = 0
  let fault: unknown
  const model = await standIn(/list_documents$/, async (turn, last) => {
    turns = turn + 1
    try {
      if (turn === 1 && !answered.test(last)) throw new Error('the first call had no answer')
      return (await plan[turn]?.()) === 'call' ? called : undefined
    } catch (error) {
      fault ??= error
      return undefined
    }
  })
  try {
    const { output } = await talk(model.url)
    if (fault) throw fault
    if (turns < plan.length)
      throw new Error(`its model was asked ${turns} times (${model.asked.join(', ')}): ${output.slice(-800)}`)
  } finally {
    model.close()
  }
}

function must(ran: Ran, words: RegExp): string {
  if (words.test(ran.output)) return ran.output
  throw new Error(`it said nothing of ${words}: ${ran.output.slice(-1200)}`)
}

function write(home: string, path: string, content: object | string): void {
  const file = join(home, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
}

/** Some sign in only where they have a terminal. */
function onTerminal(command: string, env: NodeJS.ProcessEnv, cwd: string): Promise<Ran> {
  return run('script', ['-qec', command, '/dev/null'], { env, cwd })
}

export type Go = (walk: Walk, folder: string) => Promise<void>

export const claudeCode: Go = async (walk, folder) => {
  const claude = join(folder, 'node_modules/@anthropic-ai/claude-code-linux-x64/claude')
  const env = {
    ...surroundings(walk, folder),
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    ENABLE_TOOL_SEARCH: 'false',
    // By itself it asks its model after five seconds, with what tools have come by then.
    MCP_CONNECT_TIMEOUT_MS: '120000',
    MCP_TIMEOUT: '120000',
  }
  const at = { env, cwd: walk.home }
  must(await run(claude, ['mcp', 'add', '--transport', 'http', 'assistant', walk.url], at), /Added/)
  await onTerminal(`${claude} mcp login assistant`, env, walk.home)
  must(await run(claude, ['mcp', 'list'], at), /Connected/)
  await converse([call, editAndExpire(walk), revoke(walk)], (model) =>
    run(claude, ['-p', 'List customers', '--allowedTools', 'mcp__assistant'], {
      ...at,
      env: { ...env, ANTHROPIC_BASE_URL: model, ANTHROPIC_API_KEY: 'none' },
    }),
  )
}

export const codex: Go = async (walk, folder) => {
  const vendor = join(folder, 'node_modules/codex-linux-x64/vendor')
  const program = join(vendor, readdirSync(vendor)[0]!, 'bin/codex')
  const env = surroundings(walk, folder)
  const at = { env, cwd: walk.home }
  must(await run(program, ['mcp', 'add', 'assistant', '--url', walk.url], at), /logged in/)
  must(await run(program, ['mcp', 'list'], at), /OAuth/)
  await converse([call, editAndExpire(walk), revoke(walk)], (model) => {
    const provider = `model_providers.standin={name="s",base_url="${model}/v1",wire_api="responses"}`
    const required = 'mcp_servers.assistant.required=true'
    const settings = ['model=stand-in', 'model_provider=standin', required, provider].flatMap((one) => [
      '-c',
      one,
    ])
    const flags = ['--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox']
    return run(program, ['exec', ...flags, ...settings, 'List customers'], at)
  })
}

export const openCode: Go = async (walk, folder) => {
  const program = join(folder, 'node_modules/opencode-linux-x64/bin/opencode')
  const env = { ...surroundings(walk, folder), OPENCODE_DISABLE_MODELS_FETCH: '1' }
  const config = (model: string): object => ({
    mcp: { assistant: { type: 'remote', url: walk.url, enabled: true } },
    autoupdate: false,
    share: 'disabled',
    model: 'standin/m',
    provider: {
      standin: {
        npm: '@ai-sdk/openai-compatible',
        options: { baseURL: `${model}/v1`, apiKey: 'none' },
        models: { m: { tool_call: true } },
      },
    },
  })
  write(walk.home, '.config/opencode/opencode.json', config('http://127.0.0.1:9'))
  await onTerminal(`${program} mcp auth assistant`, env, walk.home)
  await converse([call, editAndExpire(walk), revoke(walk)], (model) => {
    write(walk.home, '.config/opencode/opencode.json', config(model))
    return run(program, ['run', 'List customers'], { env, cwd: walk.home })
  })
}

export const geminiCli: Go = async (walk, folder) => {
  const program = join(folder, 'node_modules/@google/gemini-cli/bundle/gemini.js')
  write(walk.home, '.gemini/settings.json', {
    mcpServers: { assistant: { httpUrl: walk.url, oauth: { enabled: true } } },
    security: { auth: { selectedType: 'gemini-api-key' }, folderTrust: { enabled: false } },
    general: { enableAutoUpdate: false },
    privacy: { usageStatisticsEnabled: false },
  })
  const env = {
    ...surroundings(walk, folder),
    GEMINI_API_KEY: 'none',
    GEMINI_CLI_TRUST_WORKSPACE: 'true',
    GEMINI_SANDBOX: 'false',
  }
  const talk = (model: string): Promise<Ran> =>
    // It asks whether it may open the browser.
    run(nodeOf(folder), [program, '-y', '-p', 'List customers'], {
      env: { ...env, GOOGLE_GEMINI_BASE_URL: model },
      cwd: walk.home,
      input: 'Y\n',
    })
  // It renews its token when it connects, and not while it is connected.
  const stop = async (): Promise<'end'> => {
    await editAndExpire(walk)()
    return 'end'
  }
  await converse([call, stop], talk)
  await converse([call, revoke(walk)], talk)
}

export const mcporter: Go = async (walk, folder) => {
  const env = surroundings(walk, folder)
  write(walk.home, '.mcporter/mcporter.json', {
    mcpServers: { assistant: { url: walk.url, auth: 'oauth' } },
    imports: [],
  })
  const ask = (args: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<Ran> =>
    run(nodeOf(folder), [join(folder, 'node_modules/mcporter/dist/cli.js'), ...args], {
      env: { ...env, ...more },
      cwd: walk.home,
      timeout: 40_000,
    })
  const call = ['call', 'assistant.list_documents', 'doctype=Customer', 'limit=1']
  must(await ask(['auth', 'assistant']), /./)
  must(await ask(['list', 'assistant']), /list_documents/)
  must(await ask(['resource', 'assistant']), /skill:\/\//)
  must(await ask(call), answered)
  await walk.edit()
  await walk.expire()
  must(await ask(call), answered)
  await walk.revoke()
  // It would sign in anew by itself; nobody is there.
  const { output } = await ask([...call, '--oauth-timeout', '2000'], { MATRIX_PERSON: '/dev/null' })
  if (answered.test(output)) throw new Error('what was revoked still works')
}

type Ask = (...args: string[]) => Promise<Ran>

/** The Inspector's command line, which keeps connections in a program of its own in the background. */
export async function mcpdo(
  walk: Walk,
  folder: string,
  more: NodeJS.ProcessEnv = {},
): Promise<{ readonly ask: Ask; readonly stop: () => Promise<unknown> }> {
  const program = join(folder, 'node_modules/.bin/mcpdo')
  const own = { ...surroundings(walk, folder), ...more }
  const exports = await run(program, ['private'], { env: own, cwd: walk.home })
  const given = (name: string): string => new RegExp(`${name}='([^']+)'`).exec(exports.output)?.[1] ?? ''
  const env = {
    ...own,
    MCP_INSPECTOR_DAEMON_TOKEN: given('MCP_INSPECTOR_DAEMON_TOKEN'),
    MCP_INSPECTOR_DAEMON_DIR: given('MCP_INSPECTOR_DAEMON_DIR'),
  }
  const ask: Ask = (...args) => run(program, args, { env, cwd: walk.home, timeout: 60_000 })
  return { ask, stop: () => ask('daemon', 'stop') }
}

/** What there is to do once the Inspector has its connection. */
export async function walkWith(walk: Walk, ask: Ask): Promise<void> {
  must(await ask('connections/show', '@x'), /assistant-core/)
  must(await ask('--connection', 'x', 'tools/list'), /list_documents/)
  must(await ask('--connection', 'x', 'prompts/list'), /sales_analysis/)
  must(await ask('--connection', 'x', 'resources/list'), /skill:\/\//)
  const call = ['--connection', 'x', 'tools/call', 'list_documents', 'doctype:=Customer', 'limit:=1']
  must(await ask(...call), answered)
  await walk.edit()
  await walk.expire()
  must(await ask(...call), answered)
  await walk.revoke()
  await ask(...call)
}

export function inspector(era: 'legacy' | 'modern'): Go {
  return async (walk, folder) => {
    const { ask, stop } = await mcpdo(walk, folder)
    try {
      const connect = await ask('connect', walk.url, '--connection', 'x', '--transport', 'http', '--era', era)
      const [address] = /http:\S+authorize\?\S+/.exec(must(connect, /authorize\?/))!
      await fetch(await walk.signIn(address))
      await walkWith(walk, ask)
    } finally {
      await stop()
    }
  }
}

export const mcpRemote: Go = async (walk, folder) => {
  const client = new Client({ name: 'stdio', version: '1' })
  const transport = new StdioClientTransport({
    command: nodeOf(folder),
    args: [
      join(folder, 'node_modules/mcp-remote/dist/proxy.js'),
      walk.url,
      '--transport',
      'http-only',
      '--allow-http',
    ],
    env: surroundings(walk, folder) as Record<string, string>,
    cwd: walk.home,
    stderr: 'pipe',
  })
  let said = ''
  let signedIn: Promise<unknown> | undefined
  transport.stderr!.on('data', (part: Buffer) => {
    said += part.toString()
    const [address] = /http:\S+authorize\?\S+(?=\n)/.exec(said) ?? []
    // The person takes the address from the terminal.
    if (address !== undefined) signedIn ??= walk.signIn(address).then((back) => fetch(back))
  })
  await client.connect(transport, { timeout: 30_000 })
  await signedIn
  try {
    await client.listTools()
    await client.listPrompts()
    await client.listResources()
    const call = async (): Promise<unknown> =>
      (await client.callTool({ name: 'list_documents', arguments: called }, undefined, { timeout: 10_000 }))
        .isError
    if (await call()) throw new Error('the call failed')
    await walk.edit()
    await walk.expire()
    if (await call()) throw new Error('the call failed once the token had ended')
    await walk.revoke()
    const works = await call().then(
      (isError) => isError !== true,
      () => false,
    )
    if (works) throw new Error('what was revoked still works')
  } finally {
    await client.close()
  }
}
