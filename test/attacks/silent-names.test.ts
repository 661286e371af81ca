/** Client ids at names whose name server never answers: they hold up nobody else's look-ups. */
import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { FetchShares } from '#outside/fetch-shares.ts'
import { guardedFetch, HostUnreachable } from '#outside/guarded-fetch.ts'
import { authorizeUrl } from '../oauth/browser.ts'
import { MovableClock, startServer } from '../oauth/server.ts'

/** A name server that takes questions and answers none. */
async function silentNameServer(t: TestContext): Promise<{ address: string; asked: () => number }> {
  const socket = createSocket('udp4')
  let asked = 0
  socket.on('message', () => asked++)
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.after(() => socket.close())
  return { address: `127.0.0.1:${socket.address().port}`, asked: () => asked }
}

describe('a silent name server', () => {
  it('ends its own fetches in time, and leaves every other look-up of the process alone', async (t) => {
    const silent = await silentNameServer(t)
    const fetch = guardedFetch({ nameServers: [silent.address], timeoutMilliseconds: 5000 })
    let ended = 0
    const fetches = Array.from({ length: 100 }, (_, n) =>
      fetch(`https://n${n}.silent.example/client.json`).then(
        () => assert.fail('it answered'),
        (error: unknown) => {
          ended++
          assert.ok(error instanceof HostUnreachable)
        },
      ),
    )
    while (silent.asked() < 50) await delay(10)
    // getaddrinfo has four threads for the whole process; a hundred waiting names once took them.
    assert.ok((await lookup('localhost')).address)
    await assert.rejects(fetch('https://localhost/client.json'), /not on the public internet/)
    assert.equal(ended, 0, 'while the others still wait')
    await Promise.all(fetches)
  })

  it('is asked for few client ids of one network, the others are told at once, and the log says why', async (t) => {
    const silent = await silentNameServer(t)
    const fetch = guardedFetch({ nameServers: [silent.address], timeoutMilliseconds: 1500 })
    let running = 0
    let most = 0
    const server = await startServer(t, {
      settings: { rate_limits: { enabled: false } },
      fetch: async (url) => {
        most = Math.max(most, ++running)
        return fetch(url).finally(() => running--)
      },
    })
    const ask = async (n: number): Promise<string> => {
      const id = `https://n${n}.silent${n}.example/client.json`
      const page = await globalThis.fetch(authorizeUrl(server, { client_id: id, response_type: 'code' }))
      assert.equal(page.status, 400)
      return page.text()
    }
    const pages = await Promise.all(Array.from({ length: 30 }, (_, n) => ask(n)))
    assert.equal(most, 2)
    assert.match(server.logged.join(''), /too many documents are being fetched/)
    assert.equal(
      pages.filter((page) => /could not use https:\/\/n\d+\.silent\d+\.example\/client\.json/.test(page))
        .length,
      30,
    )
    assert.match(server.trace.last(1)[0]?.reason ?? '', /^https:\/\/n\d+\.silent/)
  })
})

describe('the shares of fetching', () => {
  it('are two for a domain, two for a network, sixteen in all, thirty a minute for a network', () => {
    const clock = new MovableClock()
    const shares = new FetchShares({ clock })
    const one = shares.take('a.example.com', 'n1')
    shares.take('b.example.com', 'n2')
    assert.throws(() => shares.take('c.example.com', 'n3'), /too many documents are being fetched/)
    one()
    shares.take('c.example.com', 'n3')
    shares.take('x.org', 'n4')
    shares.take('y.org'.replace('y', 'z'), 'n4')
    assert.throws(() => shares.take('v.net', 'n4'), /too many/)
    for (let n = 0; n < 12; n++) shares.take(`h${n}.d${n}`, `m${n}`)
    assert.throws(() => shares.take('last.example', 'last'), /too many/)
    const busy = new FetchShares({ clock })
    for (let n = 0; n < 30; n++) busy.take(`h${n}.d${n}`, 'n1')()
    assert.throws(() => busy.take('more.example', 'n1'), /in this minute/)
    clock.pass(60)
    busy.take('more.example', 'n1')()
  })

  it('are not given for a host that could not be reached a moment ago, whatever the path', () => {
    const clock = new MovableClock()
    const shares = new FetchShares({ clock })
    shares.couldNotReach('down.example')
    assert.throws(() => shares.take('down.example', 'n1'), /could not be reached a moment ago/)
    clock.pass(60)
    shares.take('down.example', 'n1')()
  })
})
