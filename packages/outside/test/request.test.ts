import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { type Outgoing, send } from '#outside/request.ts'

async function serve(
  t: TestContext,
  listener: RequestListener,
): Promise<{
  readonly asked: () => number
  readonly ask: (more?: Partial<Outgoing>) => ReturnType<typeof send>
}> {
  let asked = 0
  const server = createServer((request, response) => {
    asked++
    listener(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  const signal = new AbortController().signal
  const usual = { method: 'POST', url, headers: {}, allowPrivate: true, maxBytes: 100, signal }
  return { asked: () => asked, ask: (more = {}) => send({ ...usual, ...more }) }
}

describe('a request to an address that the operator wrote', () => {
  it('gives whatever is answered, and follows nothing', async (t) => {
    const { ask, asked } = await serve(t, (request, response) => {
      request.pipe(response.writeHead(302, { location: '/other' }))
    })
    const { status, headers, text } = await ask({ body: 'grüße' })
    assert.deepEqual([status, headers.location, text], [302, '/other', 'grüße'])
    assert.equal(asked(), 1)
  })

  it('dials no inner address unless it is allowed', async (t) => {
    const { ask, asked } = await serve(t, (_request, response) => void response.end())
    await assert.rejects(ask({ allowPrivate: false }), /not on the public internet/)
    await assert.rejects(ask({ allowPrivate: false, url: new URL('http://localhost/') }), /not on the public/)
    assert.equal(asked(), 0)
  })

  it('reads no more than its bound, and ends with its caller', async (t) => {
    const { ask } = await serve(t, (_request, response) => void response.end('x'.repeat(101)))
    await assert.rejects(ask(), /answered more than 100 bytes/)
    assert.equal((await ask({ maxBytes: 101 })).text.length, 101)
    const silent = await serve(t, () => undefined)
    const controller = new AbortController()
    const asked = silent.ask({ signal: controller.signal })
    controller.abort(new Error('she left'))
    await assert.rejects(asked, /she left/)
  })
})
