import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import type { Exchange, Guard } from '#front/exchange.ts'
import { WholeAnswers } from '#front/whole-answer.ts'
import { answerBare } from '../../src/http/program-calls.ts'
import { silent } from '../documents/trading-company.ts'

describe('a request that is answered outside Koa', () => {
  it('gets 500 when a guard throws before it promises anything, and the next one is served', async (t) => {
    let broken = true
    const logged: unknown[] = []
    const log = { ...silent, error: (_: string, fields: unknown) => void logged.push(fields) }
    const server = createServer((request, response) => {
      const endpoint = (exchange: Exchange): void => {
        exchange.status = 200
        exchange.type = 'text/plain'
        exchange.body = 'served'
      }
      const guard: Guard = (_, next) => {
        if (broken) throw new Error('a guard is broken')
        return next()
      }
      const koa = (): never => assert.fail('nobody asked what the browser accepts')
      answerBare(
        request,
        response,
        { endpoint, varies: false },
        { log, answers: new WholeAnswers(), koa, guard },
      )
    }).listen(0)
    t.after(() => server.close())
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const failed = await fetch(url, { method: 'POST' })
    assert.equal(failed.status, 500)
    const { request_id: id, ...said } = (await failed.json()) as { request_id: string }
    assert.deepEqual(said, { error: 'server_error', message: 'internal error' })
    assert.equal((logged[0] as { request_id: string }).request_id, id)
    broken = false
    assert.equal(await (await fetch(url, { method: 'POST' })).text(), 'served')
  })
})
