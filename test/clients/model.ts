/**
 * Stands in for the model of a host: says what it is told to say, in the words of four providers. Each time the host asks
 * it with the tool at hand, the next step of the script runs: another call of the tool, or a last word.
 */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What the model does when the host asks: arguments for the tool, or undefined to end. `last` is what the host sent. */
export type Script = (turn: number, last: string) => Promise<Record<string, unknown> | undefined>

/** Answers hosts at `url`, each kind of provider below its own path. */
export async function standIn(
  tool: RegExp,
  script: Script,
): Promise<{ readonly url: string; readonly asked: string[]; readonly close: () => void }> {
  const asked: string[] = []
  let turn = 0
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => void answer(Buffer.concat(parts).toString()))
    const answer = async (body: string): Promise<void> => {
      asked.push(`${request.method} ${request.url} ${body.length}`)
      const provider = Object.entries(providers).find(([path]) => request.url?.includes(path))?.[1]
      if (!provider || request.method !== 'POST') {
        response.writeHead(404, { 'content-type': 'application/json' }).end('{}')
        return
      }
      const name = nameOf(body, tool)
      // Titles, summaries and the like are asked for without tools.
      const args = name === undefined ? undefined : await script(turn++, body)
      provider(
        response,
        name !== undefined && args ? { ...name, args: JSON.stringify(args) } : undefined,
        body,
      )
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

interface Named {
  readonly name: string
  /** Codex keeps the tools of a server in a namespace. */
  readonly namespace?: string
}

/** The tool by the name that the host gives it. */
function nameOf(body: string, wanted: RegExp): Named | undefined {
  const { tools } = JSON.parse(body || '{}') as { tools?: any[] }
  for (const tool of tools ?? []) {
    for (const one of tool.functionDeclarations ?? []) if (wanted.test(one.name)) return { name: one.name }
    for (const one of tool.type === 'namespace' ? tool.tools : [])
      if (wanted.test(one.name)) return { name: one.name, namespace: tool.name }
    const name = tool.function?.name ?? tool.name
    if (typeof name === 'string' && wanted.test(name)) return { name }
  }
  return undefined
}

type Answer = (response: ServerResponse, call: (Named & { args: string }) | undefined, body: string) => void

let calls = 0
const done = 'That is all.'

const providers: Readonly<Record<string, Answer>> = {
  '/v1/messages': (response, call) => {
    const block = call
      ? { type: 'tool_use', id: `toolu_${++calls}`, name: call.name, input: {} }
      : { type: 'text', text: '' }
    const delta = call
      ? { type: 'input_json_delta', partial_json: call.args }
      : { type: 'text_delta', text: done }
    const usage = { input_tokens: 1, output_tokens: 1 }
    const message = {
      id: `msg_${++calls}`,
      type: 'message',
      role: 'assistant',
      model: 'stand-in',
      content: [],
      usage,
    }
    stream(response, [
      { type: 'message_start', message },
      { type: 'content_block_start', index: 0, content_block: block },
      { type: 'content_block_delta', index: 0, delta },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: call ? 'tool_use' : 'end_turn' }, usage },
      { type: 'message_stop' },
    ])
  },
  '/responses': (response, call) => {
    const item = call
      ? {
          type: 'function_call',
          id: `fc_${++calls}`,
          call_id: `call_${calls}`,
          name: call.name,
          arguments: call.args,
          ...(call.namespace !== undefined && { namespace: call.namespace }),
        }
      : {
          type: 'message',
          id: `msg_${++calls}`,
          role: 'assistant',
          content: [{ type: 'output_text', text: done }],
        }
    const id = `resp_${calls}`
    const usage = {
      input_tokens: 1,
      output_tokens: 1,
      total_tokens: 2,
      input_tokens_details: null,
      output_tokens_details: null,
    }
    stream(response, [
      { type: 'response.created', response: { id } },
      { type: 'response.output_item.added', output_index: 0, item },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: { id, usage } },
    ])
  },
  '/chat/completions': (response, call) => {
    const said = call
      ? {
          tool_calls: [
            {
              index: 0,
              id: `call_${++calls}`,
              type: 'function',
              function: { name: call.name, arguments: call.args },
            },
          ],
        }
      : { content: done }
    const chunk = (delta: object, finish: string | null): object => ({
      id: 'chat',
      object: 'chat.completion.chunk',
      created: 0,
      model: 'stand-in',
      choices: [{ index: 0, delta, finish_reason: finish }],
    })
    stream(
      response,
      [chunk({ role: 'assistant', ...said }, null), chunk({}, call ? 'tool_calls' : 'stop')],
      true,
    )
  },
  GenerateContent: (response, call) => {
    const part = call
      ? { functionCall: { name: call.name, args: JSON.parse(call.args) as object } }
      : { text: done }
    stream(response, [
      {
        candidates: [{ index: 0, content: { role: 'model', parts: [part] }, finishReason: 'STOP' }],
        usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
      },
    ])
  },
}

function stream(response: ServerResponse, events: readonly object[], ending = false): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const event of events) {
    if ('type' in event) response.write(`event: ${String(event.type)}\n`)
    response.write(`data: ${JSON.stringify(event)}\n\n`)
  }
  response.end(ending ? 'data: [DONE]\n\n' : '')
}
