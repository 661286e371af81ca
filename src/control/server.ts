/** The daemon's end of the control socket: a Unix domain socket that only its own user may open (D11). */
import { once } from 'node:events'
import { chmodSync, rmSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { http } from '#leaf/node-http.ts'
import { compileSchema } from '#leaf/schema.ts'
import { AppError, messageOf } from '#leaf/errors.ts'
import type { Services } from '../house/services.ts'
import { operations, type Operations } from './index.ts'
import {
  type ControlLine,
  type ControlRequest,
  controlSocketName,
  isStream,
  runOperation,
} from './operation.ts'
// Loaded at the start, as only operations need these: once the daemon runs, its files may be those of another version.
import '#audit/reading.ts'
import '../documents/asking/exporting.ts'
import '../documents/explaining.ts'
import '../documents/importing/import-rows.ts'
import '../documents/importing/import-target.ts'
import '../documents/state-problems.ts'
import '../documents/told-outcomes.ts'
import './status.ts'

// What compiles schemas as well: a first look cannot tell this one.
compileSchema({ not: {} })(null)

/** Listens in the state folder. The holder of the state's lock owns the socket, so a left-over one is removed. */
export async function listenForControl(services: Services): Promise<{ close: () => Promise<void> }> {
  const path = join(services.folders.state, controlSocketName)
  rmSync(path, { force: true })
  const server = http.createServer((request, response) => void answer(services, request, response))
  // The folder is 0700, so the socket is never reachable with wider rights than its final ones.
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(path, resolve))
  chmodSync(path, 0o600)
  const close = async (): Promise<void> => {
    const closed = once(server.close(), 'close')
    // Followers of the audit log never end by themselves.
    server.closeAllConnections()
    await closed
  }
  return { close }
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
    if (request.method !== 'POST' || !Object.hasOwn(operations, name))
      throw new AppError('not_found', `no operation "${name}"`)
    const { actor, params } = JSON.parse(await text(request)) as ControlRequest
    if (typeof actor !== 'string' || actor === '') throw new AppError('invalid', 'actor must say who asks')
    const asking = { actor, signal: gone.signal }
    const result = await runOperation(operations[name as keyof Operations], params, services, asking)
    if (isStream(result)) for await (const item of result) await send({ item })
    else await send({ result: result ?? null })
  } catch (error) {
    const isKnown = error instanceof AppError
    if (!isKnown && !gone.signal.aborted) services.log.error('control operation failed', { error })
    const { code, message, data } = isKnown
      ? error
      : { code: 'internal' as const, message: messageOf(error), data: undefined }
    // Part of the result may have been sent: then the error is one more line.
    if (!gone.signal.aborted) await send({ error: { code, message, data } }).catch(() => {})
  }
  response.end()
}
