/** A server over streamable HTTP. */
import { AppError } from '#leaf/errors.ts'
import { send } from '#outside/request.ts'
import { maxBytes, type Message, responseOf, revision, type Texts, type Transport } from './messages.ts'

/** Where a server listens. */
export interface HttpServer {
  readonly url: string
  /** Returns the headers of each request, read anew as secrets change. */
  readonly headers: () => Promise<Texts>
  readonly allowPrivate: boolean
}

export function overHttp({ url, headers: own, allowPrivate }: HttpServer): Transport {
  let session: string | undefined
  const exchange: Transport['exchange'] = async (message, signal, headers) => {
    const answer = await send({
      method: 'POST',
      url: new URL(url),
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        'mcp-protocol-version': revision,
        ...(session !== undefined && { 'mcp-session-id': session }),
        ...(await own()),
        ...headers,
      },
      body: JSON.stringify(message),
      allowPrivate,
      maxBytes,
      signal,
    })
    const given = answer.headers['mcp-session-id']
    if (typeof given === 'string') session = given
    if (message.id === undefined) return undefined
    if (answer.status !== 200)
      throw new AppError('unavailable', `the upstream server answered ${answer.status}`)
    return responseIn(answer.text, answer.headers['content-type'] ?? '', message.id)
  }
  return { exchange, close: () => void (session = undefined) }
}

/** Finds the response with the id, in a JSON body or among the events of a stream. */
function responseIn(text: string, type: string, id: number): Message {
  const dataOf = (event: string): string =>
    event
      .split('\n')
      .filter((line) => line.startsWith('data:'))
      .map((line) => line.slice(5).trimStart())
      .join('\n')
  const isStream = type.startsWith('text/event-stream')
  const texts = isStream ? text.replaceAll('\r\n', '\n').split('\n\n').map(dataOf) : [text]
  const found = texts.map(responseOf).find((message) => message?.id === id)
  if (!found) throw new AppError('unavailable', 'the upstream server did not answer')
  return found
}
