/** What goes over the wire: compressed by the service itself, but never where a length could tell what is in it. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startServer } from '../oauth/server.ts'

const compressed = { 'accept-encoding': 'gzip, deflate, br' }

describe('the answers of pages', () => {
  it('are compressed for who comes from our pages or by themselves, and are the same', async (t) => {
    const { url } = await startServer(t)
    const asked = async (headers: Record<string, string>, path = '/sign-in') => {
      const answer = await fetch(url + path, {
        headers: { cookie: 'assistant_core_visitor=ac_vs_'.padEnd(72, 'x'), ...headers },
      })
      const { status } = answer
      assert.equal(status, 200)
      return { headers: answer.headers, text: await answer.text() }
    }
    const plain = await asked({ 'accept-encoding': 'identity', 'sec-fetch-site': 'none' })
    assert.equal(plain.headers.get('content-encoding'), null)
    for (const [site, accepted, encoding] of [
      ['same-origin', 'gzip, deflate, br', 'br'],
      ['none', 'gzip', 'gzip'],
      ['none', 'gzip;q=0.5, br;q=0', 'gzip'],
    ] as const) {
      const { headers, text } = await asked({ 'accept-encoding': accepted, 'sec-fetch-site': site })
      assert.equal(headers.get('content-encoding'), encoding, accepted)
      assert.ok(Number(headers.get('content-length')) < plain.text.length / 1.5)
      assert.equal(headers.get('content-type'), 'text/html; charset=utf-8')
      assert.equal(text, plain.text)
    }
  })

  it('keep their length for who was sent by another site, or does not say', async (t) => {
    const { url } = await startServer(t)
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'cross-site, same-origin' },
      {},
    ] as Record<string, string>[]) {
      const { headers: told } = await fetch(`${url}/sign-in`, { headers: { ...compressed, ...headers } })
      assert.equal(told.get('content-encoding'), null, JSON.stringify(headers))
      assert.match(told.get('vary') ?? '', /Sec-Fetch-Site/)
    }
  })

  it('of files that are the same for everybody are compressed whoever asks', async (t) => {
    const { url } = await startServer(t)
    for (const file of ['/assets/pages.css', '/assets/pages.css']) {
      const packed = await fetch(url + file, { headers: compressed })
      const plain = await fetch(url + file, { headers: { 'accept-encoding': 'identity' } })
      assert.equal(packed.headers.get('content-encoding'), 'br')
      assert.equal(plain.headers.get('content-encoding'), null)
      assert.equal(packed.headers.get('content-type'), plain.headers.get('content-type'))
      const text = await plain.text()
      assert.ok(Number(packed.headers.get('content-length')) < text.length / 2)
      assert.equal(await packed.text(), text)
    }
  })
})
