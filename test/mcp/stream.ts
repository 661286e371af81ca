/** An MCP answer that comes as an event stream, read message by message. */
import type { TestContext } from 'node:test'
import { type CallOptions, requestOf } from './server.ts'

export interface EventStream {
  readonly status: number
  readonly headers: Headers
  /** The next message; undefined at the end of the stream. */
  next(): Promise<any>
  /** Goes away without a word. */
  leave(): void
}

/** Sends a request and gives its answer's messages as they come. */
export async function streamOf(
  t: TestContext,
  url: string,
  method: string,
  params: Record<string, unknown> = {},
  options: CallOptions = {},
): Promise<EventStream> {
  const request = requestOf(method, params, options)
  return open(t, url, { method: 'POST', body: JSON.stringify(request.body), headers: request.headers })
}

/** Opens the GET stream of a legacy conversation. */
export function getStream(
  t: TestContext,
  url: string,
  headers: Record<string, string> = {},
): Promise<EventStream> {
  return open(t, url, { method: 'GET', headers })
}

async function open(
  t: TestContext,
  url: string,
  init: { method: string; body?: string; headers: Record<string, string> },
): Promise<EventStream> {
  const controller = new AbortController()
  t.after(() => controller.abort())
  const response = await fetch(url, {
    ...init,
    signal: controller.signal,
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      ...init.headers,
    },
  })
  const reader = response.body!.getReader()
  const decoder = new TextDecoder()
  let waiting = ''
  return {
    status: response.status,
    headers: response.headers,
    leave: () => controller.abort(),
    next: async () => {
      for (;;) {
        const end = waiting.indexOf('\n\n')
        if (end >= 0) {
          const data = waiting
            .slice(0, end)
            .split('\n')
            .find((line) => line.startsWith('data: '))
          waiting = waiting.slice(end + 2)
          if (data) return JSON.parse(data.slice(6))
          continue
        }
        const { done, value } = await reader.read()
        if (!done) waiting += decoder.decode(value, { stream: true })
        else if (waiting.startsWith('{')) {
          const message: unknown = JSON.parse(waiting)
          waiting = ''
          return message
        } else return undefined
      }
    },
  }
}
