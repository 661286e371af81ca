/** The daemon's end of the control socket: a Unix domain socket that only its own user may open (D11). */
import { once } from 'node:events'
import { chmodSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { AppError, messageOf } from '../core/errors.ts'
import type { Services } from '../build/services.ts'
import { operations, type Operations } from './index.ts'
import { commandLineOf, isStream, runOperation } from './operation.ts'
import { controlSocketName, type ControlLine, type ControlRequest } from './protocol.ts'

/** A listening control socket. */
export interface ControlServer {
  close(): Promise<void>
}

/** Listens in the state folder. Whoever holds the state's lock owns the socket, so a left-over one is removed. */
export async function listenForControl(services: Services): Promise<ControlServer> {
  const path = join(services.folders.state, controlSocketName)
  rmSync(path, { force: true })
  const server = createServer((request, response) => void answer(services, request, response))
  // The socket is never reachable with wider rights than its final ones: the folder is 0700.
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(path, resolve))
  chmodSync(path, 0o600)
  return { close: () => closeServer(server) }
}

async function answer(services: Services, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const gone = new AbortController()
  response.on('close', () => gone.abort())
  // For a collector on this machine that can read a socket: no port needs to be open.
  if (request.method === 'GET' && request.url === '/metrics') {
    response.setHeader('content-type', services.metrics.contentType)
    return void response.end(await services.metrics.text())
  }
  const send = async (line: ControlLine): Promise<void> => {
    // A backup is as large as the state: the reader sets the pace.
    if (!response.write(`${JSON.stringify(line)}\n`)) await once(response, 'drain', { signal: gone.signal })
  }
  response.setHeader('content-type', 'application/x-ndjson')
  try {
    const name = decodeURIComponent((request.url ?? '/').slice(1))
    if (request.method !== 'POST' || !isOperation(name))
      throw new AppError('not_found', `no operation "${name}"`)
    const { actor, params } = JSON.parse(await bodyOf(request)) as ControlRequest
    const result = await runOperation(operations[name], params, commandLineOf(actor), {
      ...services,
      signal: gone.signal,
      daemon: true,
    })
    if (isStream(result)) for await (const item of result) await send({ item })
    else await send({ result: result ?? null })
  } catch (error) {
    // A result may have been begun: the fault is one more line then.
    if (!gone.signal.aborted) await send({ error: errorOf(services, error) }).catch(() => {})
  }
  response.end()
}

function isOperation(name: string): name is keyof Operations {
  return Object.hasOwn(operations, name)
}

function errorOf(
  { log }: Pick<Services, 'log'>,
  error: unknown,
): Extract<ControlLine, { error: unknown }>['error'] {
  if (error instanceof AppError) return { code: error.code, message: error.message, data: error.data }
  log.error('control operation failed', { error })
  return { code: 'internal', message: messageOf(error) }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    // Followers of the audit log never end by themselves.
    server.closeAllConnections()
  })
}
