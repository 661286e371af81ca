import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  anything,
  type Arbitrary,
  assert as forAll,
  asyncProperty,
  constant,
  constantFrom,
  dictionary,
  integer,
  json,
  oneof,
  option,
  record,
  string,
} from '../helpers/random.ts'
import { modern, promptOf, requestOf, skillOf, startServer } from './server.ts'
import { add, askName, echo, regional } from './tools-for-tests.ts'

const version = 'io.modelcontextprotocol/protocolVersion'
const capabilities = 'io.modelcontextprotocol/clientCapabilities'
const versions = constantFrom(
  '2024-11-05',
  '2025-03-26',
  '2025-06-18',
  '2025-11-25',
  modern,
  '2030-01-01',
  'x',
  '',
)
const methods = constantFrom(
  'initialize',
  'ping',
  'tools/list',
  'tools/call',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/read',
  'resources/subscribe',
  'resources/directory/read',
  'resources/templates/list',
  'skills/list',
  'skills/get',
  'completion/complete',
  'logging/setLevel',
  'server/discover',
  'notifications/initialized',
  'notifications/cancelled',
  '__proto__',
  'toString',
)
const value = anything({ maxDepth: 2, withNullPrototype: false })
const sometimes = (known: Arbitrary<unknown>): Arbitrary<unknown> =>
  oneof({ weight: 4, arbitrary: known }, value)

const meta = dictionary(
  constantFrom(version, capabilities, 'io.modelcontextprotocol/logLevel', 'progressToken', 'x'),
  oneof(versions, constant({}), constant({ elicitation: {} }), value),
)
const params = record(
  {
    _meta: oneof({ weight: 3, arbitrary: meta }, value),
    name: sometimes(constantFrom('echo', 'add', 'ask_name', 'regional', 'greet')),
    uri: sometimes(constantFrom('skill://demo/SKILL.md', 'skill://demo', 'skill://')),
    arguments: oneof(dictionary(constantFrom('a', 'b', 'text', 'who', 'region'), value), value),
    cursor: value,
    ref: sometimes(constantFrom({ type: 'ref/prompt', name: 'greet' }, { type: 'ref/resource', uri: 'x' })),
    argument: sometimes(constantFrom({ name: 'who', value: '' })),
    protocolVersion: versions,
    requestState: value,
    inputResponses: value,
    level: sometimes(constantFrom('info')),
  },
  { requiredKeys: [] },
)
const envelope = record(
  {
    jsonrpc: oneof({ weight: 9, arbitrary: constant('2.0') }, value),
    id: oneof({ weight: 9, arbitrary: integer() }, string(), value),
    method: oneof({ weight: 9, arbitrary: methods }, value),
    params: oneof({ weight: 9, arbitrary: params }, value),
    result: value,
  },
  { requiredKeys: [] },
)
const body = oneof(
  { weight: 8, arbitrary: envelope.map((message) => JSON.stringify(message)) },
  { weight: 1, arbitrary: json() },
  { weight: 1, arbitrary: string() },
  { weight: 1, arbitrary: envelope.map((message) => `[${JSON.stringify(message)}]`) },
)
const header = string({ unit: constantFrom(...'abcXYZ019 =?/+-_.:,;"'.split('')), maxLength: 40 }).map(
  (text) => text.trim(),
)
const headers = record(
  {
    'mcp-protocol-version': oneof({ weight: 5, arbitrary: versions }, header),
    'mcp-method': oneof({ weight: 5, arbitrary: methods }, header),
    'mcp-name': oneof(constantFrom('echo', 'add', 'greet', '=?base64?ZWNobw==?='), header),
    'mcp-session-id': header,
    'mcp-param-region': header,
    accept: constantFrom('application/json', 'text/event-stream', '*/*', 'x'),
    'content-type': oneof({ weight: 9, arbitrary: constant('application/json') }, header),
    origin: option(constantFrom('http://localhost:1', 'http://evil.example', 'null', '%%'), {
      nil: undefined,
    }),
    'last-event-id': header,
  },
  { requiredKeys: ['content-type'] },
)

/** Requests whose envelope and headers agree, so that the methods themselves are reached. */
const wellFormed = record({ method: methods, given: params, revision: versions }).map(
  ({ method, given, revision }) => {
    const request = requestOf(method, given, { revision, capabilities: { elicitation: {} } })
    return [JSON.stringify(request.body), request.headers] as const
  },
)
const malformed = record({ text: body, sent: headers }).map(({ text, sent }) => {
  const kept = Object.entries(sent).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  return [text, Object.fromEntries(kept)] as const
})

describe('the MCP endpoint under a fuzzer of envelopes and headers', () => {
  it('answers every request, never with a 5xx or an internal error, and always in a known form', async (t) => {
    const server = await startServer(t, {
      tools: [echo, add, askName, regional],
      prompts: [promptOf('greet')],
      skills: [skillOf('demo', { 'SKILL.md': '# Demo' })],
    })
    const seen = new Map<number, number>()
    await forAll(
      asyncProperty(oneof(malformed, wellFormed), async ([text, sent]) => {
        const answer = await server.send(text, sent)
        seen.set(answer.status, (seen.get(answer.status) ?? 0) + 1)
        assert.ok(answer.status < 500, `${answer.status} ${answer.text}`)
        if (answer.status === 202) return assert.equal(answer.text, '')
        assert.equal(answer.json.jsonrpc, '2.0')
        assert.ok('id' in answer.json)
        assert.equal('result' in answer.json, !('error' in answer.json))
        assert.notEqual(answer.json.error?.code, -32603, answer.text)
      }),
      { numRuns: 1500 },
    )
    assert.deepEqual(server.logged, [])
    // The fuzzer reaches answers of every sort, so it means something.
    for (const status of [200, 202, 400, 403, 404, 415]) assert.ok(seen.get(status), `no ${status} seen`)
  })
})
