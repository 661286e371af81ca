import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { Agent, type ClientRequest, createServer, type IncomingMessage, request } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { silent } from '../../../test/documents/trading-company.ts'
import { copyOfShippedSite, temporaryFolder } from '../../../test/helpers/daemon.ts'
import { until } from '../../state/test/state-folder.ts'
import { Leaving } from '#front/leaving.ts'
import { startDaemon, type Daemon } from '../../../src/daemon.ts'

const form = 'grant_type=client_credentials'

describe('a daemon that is told to stop', { timeout: 60_000 }, () => {
  it('says so while it serves on, refuses what begins later, and cuts nobody', async (t) => {
    const daemon = await start(t, { drain: 2 })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const kept = await get(daemon, '/.well-known/oauth-authorization-server', agent)
    assert.equal(kept.status, 200)
    assert.equal(kept.headers.connection, 'keep-alive')
    // Its body is under way all the time.
    const slow = post(daemon, '/token')
    slow.request.write(form.slice(0, 5))
    await until(() => daemon.services.metrics.inFlight === 1)

    const stopping = daemon.stop({ drain: true })
    const ready = await get(daemon, '/readyz')
    assert.equal(ready.status, 503)
    assert.match(ready.body, /the service is stopping; send requests elsewhere/)
    assert.equal((await get(daemon, '/healthz')).status, 200)
    const served = await get(daemon, '/.well-known/oauth-authorization-server', agent)
    assert.equal(served.status, 200, 'what comes before others have seen it is served')
    assert.equal(served.headers.connection, 'close')

    await until(async () => (await get(daemon, '/.well-known/oauth-authorization-server')).status === 503)
    const refused = await get(daemon, '/.well-known/oauth-authorization-server')
    assert.equal(refused.headers['retry-after'], '1')
    assert.equal(refused.headers.connection, 'close')
    assert.match(refused.body, /the service is stopping/)

    slow.request.end(form.slice(5))
    const answer = await slow.answered
    assert.equal(answer.status, 401, 'who was there before gets the answer')
    assert.equal(answer.headers.connection, 'close')
    await stopping
    await assert.rejects(get(daemon, '/healthz'), { code: 'ECONNREFUSED' })
    agent.destroy()
  })

  it('waits for the last answer no longer than the grace', async (t) => {
    const daemon = await start(t, { drain: 0, grace: 1 })
    const endless = post(daemon, '/token')
    endless.request.write(form.slice(0, 5))
    const cut = assert.rejects(endless.answered, { code: 'ECONNRESET' })
    await until(() => daemon.services.metrics.inFlight === 1)
    await daemon.stop({ drain: true })
    await cut
  })
})

describe('connections at the end', { timeout: 60_000 }, () => {
  for (const handedOn of [false, true])
    it(`answers who had connected and was not read yet, where the socket is ${handedOn ? '' : 'not '}handed on`, async (t) => {
      const leaving = new Leaving()
      const server = createServer((_request, response) => {
        leaving.add(response)
        response.on('close', () => leaving.remove(response))
        response.end(leaving.refuses ? 'refused' : 'served')
      })
      leaving.watch(server)
      t.after(() => server.close())
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const { port } = server.address() as AddressInfo
      const accepted = once(server, 'connection')
      const socket = connect(port, '127.0.0.1')
      await accepted
      const ended = leaving.end(server, 10_000, { handedOn })
      socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
      let answer = ''
      for await (const chunk of socket) answer += String(chunk)
      assert.match(answer, /^HTTP\/1.1 200 OK\r\n/)
      assert.match(answer, handedOn ? /served/ : /refused/)
      await ended
      await assert.rejects(get({ address: { port } }, '/'), { code: 'ECONNREFUSED' })
    })

  it('waits for nobody who connects and says nothing', async (t) => {
    const server = createServer()
    const leaving = new Leaving()
    leaving.watch(server)
    t.after(() => server.close())
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const accepted = once(server, 'connection')
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    const cut = once(socket, 'close')
    await accepted
    await leaving.end(server, 600_000)
    await cut
  })
})

async function start(t: TestContext, seconds: { drain: number; grace?: number }): Promise<Daemon> {
  const site = copyOfShippedSite(t)
  const settings = join(site, 'config/settings.yaml')
  const text = readFileSync(settings, 'utf8')
    .replace('drain_seconds: 0', `drain_seconds: ${seconds.drain}`)
    .replace('shutdown_grace_seconds: 10', `shutdown_grace_seconds: ${seconds.grace ?? 30}`)
  writeFileSync(settings, text)
  return await startDaemon({
    site,
    state: join(temporaryFolder(t), 'state'),
    host: '127.0.0.1',
    port: 0,
    analysis: false,
    log: silent,
  })
}

interface Answered {
  readonly status: number | undefined
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

function get(
  daemon: { readonly address: { readonly port: number } },
  path: string,
  agent?: Agent,
): Promise<Answered> {
  const sent = request({ host: '127.0.0.1', port: daemon.address.port, path, ...(agent && { agent }) })
  sent.end()
  return answerOf(sent)
}

function post(daemon: Daemon, path: string): { request: ClientRequest; answered: Promise<Answered> } {
  const sent = request({
    host: '127.0.0.1',
    port: daemon.address.port,
    path,
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', 'content-length': form.length },
  })
  return { request: sent, answered: answerOf(sent) }
}

function answerOf(sent: ClientRequest): Promise<Answered> {
  return new Promise((resolve, reject) => {
    sent.on('error', reject)
    sent.on('response', (response) => {
      let body = ''
      response.on('data', (chunk: Buffer) => (body += chunk.toString()))
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, body }))
      response.on('error', reject)
    })
  })
}
