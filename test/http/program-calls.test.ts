import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { answerBare } from '../../src/http/program-calls.ts'
import { silent } from '../documents/trading-company.ts'

describe('a request that is answered outside Koa', () => {
  it('gets 500 when a guard throws before it promises anything, and the next one is served', async (t) => {
    let broken = true
    const server = createServer((request, response) => {
      answerBare(
        request,
        response,
        (exchange) => {
          if (broken) throw new Error('a guard is broken')
          exchange.status = 200
          exchange.type = 'text/plain'
          exchange.body = 'served'
          return Promise.resolve()
        },
        silent,
      )
    }).listen(0)
    t.after(() => server.close())
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const failed = await fetch(url, { method: 'POST' })
    assert.equal(failed.status, 500)
    assert.deepEqual(await failed.json(), { error: 'server_error', message: 'internal error' })
    broken = false
    assert.equal(await (await fetch(url, { method: 'POST' })).text(), 'served')
  })
})
