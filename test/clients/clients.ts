/** Who is driven, what each does not do, and whose fault that is. */
import { inspectorUnderProvider, serveProvider } from './enterprise.ts'
import * as hosts from './hosts.ts'
import type { Step, Walk } from './lane.ts'
import { servePage, useMcp } from './page.ts'
import { library, versionOf } from './programs.ts'

/** The service that clients walk through. */
export interface LaneKind {
  /** How many of them there are, side by side. */
  readonly lanes?: number
  readonly settings?: readonly [string, string][]
  /** What has to stand before the service does. */
  readonly prepare?: (folder: string) => Promise<Prepared>
}

/** What stands beside a service, and the settings that let it. */
export interface Prepared {
  readonly settings: readonly [string, string][]
  readonly given: unknown
  readonly close: () => Promise<void>
}

/** One client. */
export interface Driven {
  readonly name: string
  readonly version: string
  readonly lane: LaneKind
  /** Steps that it does not take, and why not: theirs, unless it says otherwise. A step that it does take fails the run. */
  readonly lacks: Readonly<Partial<Record<Step, string>>>
  readonly note?: string
  go(walk: Walk, folder: string, given: unknown): Promise<void>
}

const plain: LaneKind = { lanes: 3 }
const other: LaneKind = { lanes: 3 }
const documents: LaneKind = {
  settings: [['client_id_metadata_documents: auto', 'client_id_metadata_documents: true']],
}
const inPage: LaneKind = { prepare: servePage }
/** The Inspector's callback has one port, so that its runs come one after the other. */
const company: LaneKind = { prepare: serveProvider }
const toolsOnly = { prompts: 'its model gets tools only (theirs)', resources: 'likewise' }
const noStream = 'it opens no stream (theirs)'

function libraryOf(
  name: string,
  args: readonly [string, ...string[]],
  version: string,
  lacks: Driven['lacks'] = {},
  note?: string,
): Driven {
  return {
    name,
    version,
    lane: other,
    lacks,
    ...(note !== undefined && { note }),
    go: (walk, folder) => library(folder, walk, args),
  }
}

const sdk1 = ['1.10.2', '1.13.3', '1.17.5', '1.20.2', '1.25.3', '1.32.2']

export const clients: readonly Driven[] = [
  ...sdk1.map((version) => libraryOf('@modelcontextprotocol/sdk', [`sdk-${version}`], version)),
  libraryOf('@modelcontextprotocol/client', ['sdk-2.4.0', 'legacy'], versionOf('sdk-2.4.0')),
  libraryOf('@modelcontextprotocol/client, 2026-07-28', ['sdk-2.4.0', 'modern'], versionOf('sdk-2.4.0')),
  { name: 'mcp-remote', version: versionOf('mcp-remote'), lane: plain, lacks: {}, go: hosts.mcpRemote },
  {
    name: 'MCP Inspector (mcpdo)',
    version: versionOf('@modelcontextprotocol/inspector'),
    lane: company,
    lacks: {},
    go: hosts.inspector('legacy'),
  },
  {
    name: 'MCP Inspector, 2026-07-28',
    version: versionOf('@modelcontextprotocol/inspector'),
    lane: company,
    lacks: {},
    go: hosts.inspector('modern'),
  },
  {
    name: 'MCP Inspector `--ema`',
    version: versionOf('@modelcontextprotocol/inspector'),
    lane: company,
    lacks: {
      registration: 'an administrator registers it',
      'sign-in': "it is the identity provider's",
      consent: 'the identity provider decides for its company',
      revocation: 'the provider vouches anew; who is to stay out is removed there, or as a user here',
    },
    go: inspectorUnderProvider,
  },
  {
    name: 'Claude Code',
    version: versionOf('@anthropic-ai/claude-code-linux-x64'),
    lane: plain,
    lacks: {},
    go: hosts.claudeCode,
  },
  {
    name: 'Claude Code, documents advertised',
    version: versionOf('@anthropic-ai/claude-code-linux-x64'),
    lane: documents,
    lacks: {},
    go: hosts.claudeCode,
  },
  { name: 'Codex', version: versionOf('codex-linux-x64'), lane: plain, lacks: toolsOnly, go: hosts.codex },
  {
    name: 'Codex, documents advertised',
    version: versionOf('codex-linux-x64'),
    lane: documents,
    lacks: toolsOnly,
    go: hosts.codex,
  },
  {
    name: 'OpenCode',
    version: versionOf('opencode-linux-x64'),
    lane: plain,
    lacks: toolsOnly,
    go: hosts.openCode,
  },
  {
    name: 'Gemini CLI',
    version: versionOf('@google/gemini-cli'),
    lane: plain,
    lacks: {},
    note: 'within a conversation its token is not renewed, only when it connects (theirs)',
    go: hosts.geminiCli,
  },
  {
    name: 'mcporter',
    version: versionOf('mcporter'),
    lane: plain,
    lacks: {
      prompts: 'it has no command for them (theirs)',
      'live edit': 'its streams last as long as one command (theirs)',
    },
    note: 'its callback has another port at each start, so that it registers and signs in anew when it is refused (theirs)',
    go: hosts.mcporter,
  },
  { name: 'use-mcp in a page', version: versionOf('use-mcp'), lane: inPage, lacks: {}, go: useMcp },
  libraryOf('Vercel @ai-sdk/mcp', ['ai-sdk'], versionOf('@ai-sdk/mcp'), { 'live edit': noStream }),
  libraryOf('LangChain @langchain/mcp-adapters', ['langchain'], versionOf('@langchain/mcp-adapters'), {
    prompts: 'it has none (theirs)',
  }),
  libraryOf('OpenAI Agents @openai/agents', ['openai-agents'], versionOf('@openai/agents'), {
    prompts: 'it has none (theirs)',
    'live edit': noStream,
  }),
  libraryOf('Mastra @mastra/mcp', ['mastra'], versionOf('@mastra/mcp'), { 'live edit': noStream }),
  libraryOf(
    'mcp-use',
    ['mcp-use'],
    versionOf('mcp-use'),
    {},
    'the client of its line 2 is the package `@mcp-use/client`, which the registry does not have',
  ),
  libraryOf('openid-client', ['openid-client'], versionOf('openid-client'), {
    'live edit': 'it speaks OAuth only; the calls are bare requests',
  }),
  libraryOf('oauth4webapi', ['oauth4webapi'], versionOf('oauth4webapi'), {
    'live edit': 'it speaks OAuth only; the calls are bare requests',
  }),
]
