/** The map of the source (`src/README.md`) leads where it says: its paths exist, and its how-to rows work as written. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, it } from 'node:test'
import { paths } from '../src/oauth/urls.ts'
import { compileFaults } from './helpers/compiler.ts'
import { copyOfProgram, copyOfShippedSite, projectRoot, startDaemon } from './helpers/daemon.ts'
import { tokenOf } from './helpers/tool-calls.ts'

const map = readFileSync(join(projectRoot, 'src/README.md'), 'utf8')

const readmes = readdirSync(projectRoot, { recursive: true, encoding: 'utf8' }).filter(
  (file) => /(^|\/)README\.md$/.test(file) && !/(^|\/)(node_modules|dist)\//.test(file),
)

describe('the READMEs', () => {
  it('are found, the map among them', () => {
    assert.ok(readmes.length >= 8 && readmes.includes('src/README.md'), readmes.join(' '))
  })

  for (const readme of readmes) {
    it(`${readme} names only files and folders that exist`, () => {
      const text = readFileSync(join(projectRoot, readme), 'utf8').replaceAll(/^```[\s\S]*?^```$/gm, '')
      const missing = namedPaths(text).filter(
        (path) => !readersOwn.has(path) && !existsFrom(dirname(readme), path),
      )
      assert.deepEqual(missing, [])
    })
  }
})

/** What a reader makes on their own machine, or a name that many folders have. */
const readersOwn = new Set(['.vscode/mcp.json', 'prompts/visit_report.md', 'SKILL.md'])

/** Targets of links, and what stands in backquotes and looks like a file or, with a slash at its end, a folder. */
function namedPaths(text: string): string[] {
  const links = [...text.matchAll(/\]\(([^)#\s]+)/g)].map((match) => match[1]!)
  const quoted = [...text.matchAll(/`([^`\n]+)`/g)].map((match) => match[1]!)
  const looksLikeOne = (word: string): boolean =>
    /^[\w.@][\w./@-]*\.(ts|mjs|md|json|service|socket|conf|sh|html|css)$/.test(word) ||
    /^[\w.-]+(\/[\w.-]+)*\/$/.test(word)
  return [...new Set([...links.filter((link) => !/^[a-z]+:/.test(link)), ...quoted.filter(looksLikeOne)])]
}

/** Paths are told from where the README stands, or from one of the folders that readers start at. */
function existsFrom(folder: string, path: string): boolean {
  return [folder, `${folder}/src`, '.', 'src', 'test', 'config', 'packages'].some((start) =>
    existsSync(join(projectRoot, start, path)),
  )
}

const rows = howToRows(map)

/** Each row by its first cell: what it says to write, where to register it, and where its test goes. */
function howToRows(text: string): ReadonlyMap<string, readonly string[]> {
  const table = /^## I want to add …$([\s\S]*?)^## /m.exec(text)?.[1] ?? ''
  const cells = [...table.matchAll(/^\| (.+) \|$/gm)].map((match) => match[1]!.split(' | '))
  return new Map(cells.slice(1).map(([what, ...rest]) => [what!, rest]))
}

/** Rows that a test of their own proves. */
const provenElsewhere: Readonly<Record<string, string>> = {
  'an operation': 'test/cli/adding.test.ts',
  'an odd command': 'test/cli/adding.test.ts',
  'a setting': 'test/settings/read-settings.test.ts',
  'a prompt argument type': 'test/core/value-types.test.ts',
  'a field type': 'test/core/value-types.test.ts',
  'a doctype, prompt, skill': 'test/cli/operations.test.ts',
  'a kind of file in a site': 'test/cli/templates.test.ts',
  'a view for MCP hosts': 'test/e2e/host-views.test.ts',
  'a word on a page': 'test/pages/messages.test.ts',
  'something that people fill in': 'packages/ui/test/typed-form.test.ts',
  'a list that is sorted, searched, filtered, kept and exported': 'test/pages/prompts.test.ts',
  'an effect that is no tool': 'test/house/consent-and-deed.test.ts',
  'a limit that a README, a comment of a setting, a tool or a command tells': 'test/house/limits.test.ts',
}

describe('the rows of "I want to add …"', () => {
  it('are each proven: here, or in a test that exists', () => {
    const known = [...Object.keys(additions), ...Object.keys(provenElsewhere)].sort()
    assert.deepEqual([...rows.keys()].sort(), known)
    for (const file of Object.values(provenElsewhere)) assert.ok(existsSync(join(projectRoot, file)), file)
  })

  it('name folders and files that exist', () => {
    for (const [what, cells] of rows) {
      const named = cells.flatMap((cell) => [...cell.matchAll(/`([^`]+\/[^`]*)`/g)].map((match) => match[1]!))
      for (const path of named) {
        const there = path.includes('<') ? path.slice(0, path.indexOf('<')).replace(/[^/]*$/, '') : path
        assert.ok(/<area>/.test(path) || existsFrom('src', there), `${what}: ${path}`)
      }
    }
  })

  it('give a program that compiles and has what was added', { timeout: 300_000 }, async (t) => {
    const program = copyOfProgram(t)
    for (const [what, { write, register }] of Object.entries(additions)) {
      const [where = '', list = ''] = rows.get(what)!
      for (const [file, text] of Object.entries(write)) {
        assert.ok(
          where.includes(`${dirname(file)}/`) || where.includes('<area>'),
          `${what}: ${file} in ${where}`,
        )
        writeFileSync(join(program, 'src', file), text)
      }
      assert.ok(list.includes(register.file), `${what}: ${list}`)
      register.in(join(program, 'src', register.file))
    }
    const added = Object.values(additions).flatMap(({ write }) => Object.keys(write))
    assert.deepEqual(
      await compileFaults(program, [
        'src/app.ts',
        ...added.filter((file) => file.endsWith('.ts')).map((file) => `src/${file}`),
      ]),
      [],
    )
    const site = copyOfShippedSite(t)
    edit(join(site, 'config/tools.yaml'), /^( *)- list_documents$/m, '$&\n$1- repeat')
    const daemon = await startDaemon(t, { site, program: join(program, 'start.mjs') })
    const token = await tokenOf(daemon, 'sales@example.com')
    for (const { expect } of Object.values(additions)) await expect({ url: daemon.url, token })
  })
})

interface Addition {
  /** What is written, by its path in `src/`. */
  readonly write: Readonly<Record<string, string>>
  readonly register: { readonly file: string; readonly in: (file: string) => void }
  readonly expect: (program: { readonly url: string; readonly token: string }) => Promise<void>
}

const additions: Readonly<Record<string, Addition>> = {
  'a tool': {
    write: {
      'tools/reading/repeat.ts': `import { defineTool } from '../tool.ts'
        export const repeat = defineTool({
          name: 'repeat', title: 'Repeat', description: 'Says it again.', category: 'read_only',
          input: { type: 'object', additionalProperties: false, required: ['text'], properties: { text: { type: 'string' } } },
          example: { text: 'once' },
          run: async ({ text }) => ({ text: text + text }),
        })`,
    },
    register: {
      file: 'tools/index.ts',
      in: (file) => addMember(file, 'repeat', './reading/repeat.ts', /readonly Tool\[\] = \[/),
    },
    expect: async (program) => {
      const listed = JSON.stringify(await callMcp(program, 'tools/list', {}))
      assert.match(listed, /"name":"repeat"/)
      const called = await callMcp(program, 'tools/call', { name: 'repeat', arguments: { text: 'ab' } })
      assert.match(JSON.stringify(called), /abab/)
    },
  },
  'a grant type': {
    write: {
      'oauth/grant-types/echo.ts': `import { OAuthError } from '../protocol.ts'
        import type { GrantType } from './grant-type.ts'
        export const echoGrant: GrantType = {
          name: 'urn:example:echo',
          exchange: async () => { throw new OAuthError('invalid_grant', 'the echo grant was asked') },
        }`,
    },
    register: {
      file: 'oauth/grant-types/index.ts',
      in: (file) => addMember(file, 'echoGrant', './echo.ts', /readonly GrantType\[\] = \[/),
    },
    expect: async ({ url }) => {
      for (const path of [paths.openidConfiguration, paths.authorizationServer]) {
        const document = (await (await fetch(url + path)).json()) as { grant_types_supported: string[] }
        assert.ok(document.grant_types_supported.includes('urn:example:echo'), path)
      }
      const described = { redirect_uris: ['https://app.example/cb'], token_endpoint_auth_method: 'none' }
      const grants = { grant_types: ['authorization_code', 'urn:example:echo'] }
      const registered = await postJson(url + paths.register, { ...described, ...grants })
      assert.equal(registered.status, 201)
      const client = (await registered.json()) as { client_id: string; grant_types: string[] }
      assert.ok(client.grant_types.includes('urn:example:echo'))
      const body = new URLSearchParams({ grant_type: 'urn:example:echo', client_id: client.client_id })
      const refused = await (await fetch(url + paths.token, { method: 'POST', body })).text()
      assert.match(refused, /the echo grant was asked/)
    },
  },
  'an MCP method': {
    write: {
      'mcp/parrot.ts': `import type { Call } from './call.ts'
        export const parrot = (call: Call): Record<string, unknown> => ({ said: call.params['say'] })`,
    },
    register: {
      file: 'mcp/methods.ts',
      in: (file) => {
        edit(file, /^import /m, "import { parrot } from './parrot.ts'\nimport ")
        edit(file, /^ {2}initialize: /m, "  'parrot/say': { in: 'both', handle: parrot },\n  initialize: ")
      },
    },
    expect: async (program) => {
      assert.match(JSON.stringify(await callMcp(program, 'parrot/say', { say: 'hello' })), /"said":"hello"/)
    },
  },
  'a page': {
    write: {
      'pages/kettle-page.ts': `import type { OwnPage, OwnPageDeps } from './own-page.ts'
        export const kettlePage = (deps: OwnPageDeps): OwnPage => ({
          show: async ({ user }) => ({ user: user.id, water: 'hot', now: deps.clock.now() }),
          deeds: {},
        })`,
      'pages/views/kettle.njk':
        '{% extends "layout.njk" %}{% block title %}Kettle{% endblock %}{% block main %}<p>{{ water }}</p>{% endblock %}',
    },
    register: {
      file: 'pages/routes.ts',
      in: (file) => {
        const row =
          "kettle: { path: '/kettle', view: 'kettle', for: 'signedIn', navigation: 'navigation.home' },"
        edit(join(dirname(file), 'pages.ts'), /^ {2}signOut: /m, `  ${row}\n$&`)
        edit(file, /^import /m, "import { kettlePage } from './kettle-page.ts'\nimport ")
        edit(file, /^ {2}account: accountPage,$/m, '$&\n  kettle: kettlePage,')
      },
    },
    expect: async ({ url }) => {
      const nobody = await fetch(`${url}/kettle`, { redirect: 'manual' })
      assert.deepEqual([nobody.status, nobody.headers.get('location')], [303, '/sign-in?next=%2Fkettle'])
    },
  },
  'a URL': {
    write: {
      'pages/teapot-endpoint.ts': `import type { Middleware } from 'koa'
        export const teapotEndpoint = (): Middleware => (ctx) => { ctx.status = 418 }`,
    },
    register: {
      file: 'app.ts',
      in: (file) => {
        edit(file, /^import /m, "import { teapotEndpoint } from './pages/teapot-endpoint.ts'\nimport ")
        edit(
          file,
          /^( *)router\.get\('\/healthz'/m,
          "$1router.get('/teapot', teapotEndpoint())\n$1router.get('/healthz'",
        )
      },
    },
    expect: async ({ url }) => assert.equal((await fetch(`${url}/teapot`)).status, 418),
  },
}

function edit(file: string, what: RegExp, into: string): void {
  const text = readFileSync(file, 'utf8')
  assert.match(text, what, relative(projectRoot, file))
  writeFileSync(file, text.replace(what, into))
}

function addMember(file: string, name: string, from: string, list: RegExp): void {
  edit(file, /^import /m, `import { ${name} } from '${from}'\nimport `)
  edit(file, list, `$&${name}, `)
}

function postJson(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'Content-Type': 'application/json', ...headers },
  })
}

async function callMcp(
  { url, token }: { readonly url: string; readonly token: string },
  method: string,
  params: object,
): Promise<unknown> {
  const headers = { Authorization: `Bearer ${token}`, Accept: 'application/json, text/event-stream' }
  return (await postJson(url + paths.mcp, { jsonrpc: '2.0', id: 1, method, params }, headers)).json()
}
