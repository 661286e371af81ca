/** A page of somebody else's business, made of this package alone: drawn, sent by a browser, refused and read. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import Koa from 'koa'
import { AppError, httpStatusOf } from '#leaf/errors.ts'
import {
  answerPage,
  cookieOf,
  formToken,
  pageHeaders,
  readPageForm,
  requireOwnForm,
  setCookie,
} from '#ui/browser.ts'
import { givenIn, problemsIn, refusedAt, shownForm, type TypedField } from '#ui/forms.ts'
import { createViews, messagesIn, ownFile, readersOf, textEndpoint } from '#ui/pages.ts'
import { answerJson } from '#ui/requests.ts'

const messages = messagesIn(join(import.meta.dirname, 'words'))
const readerOf = readersOf(messages)
const render = createViews({
  folder: join(import.meta.dirname, 'views'),
  readerOf,
  globals: { scriptPath: '/forms.mjs', suggestionsPath: '/suggestions/' },
  data: (_, { timeZone }) => ({ zone: timeZone }),
})
const fields: readonly TypedField[] = [
  { name: 'payer', label: 'Who <pays>', kind: 'line', required: true, linked: 'Big Customer' },
  { name: 'amount', label: 'Amount', kind: 'number', description: 'In euros' },
  { name: 'pin', label: 'PIN', kind: 'password' },
  {
    name: 'state',
    label: 'State',
    kind: 'select',
    options: ['new', 'done'],
    words: new Map([['new', 'New!']]),
  },
]
const secret = 'a secret of this browser'
const purpose = 'pay'

describe('a page of this package alone', () => {
  const done: unknown[] = []
  let server: ReturnType<Koa['listen']>
  let url: string
  before(async () => {
    const publicUrl = (): string => url
    const show = (
      ctx: Koa.Context,
      state: Omit<Parameters<typeof shownForm>[1], 'reader'>,
      fault = '',
    ): string =>
      render(ctx, 'pay', {
        shown: shownForm(fields, { ...state, reader: readerOf(ctx), prefix: '' }),
        fault,
        csrf: formToken(secret, purpose),
        note: '<script>alert(1)</script>',
      })
    const app = new Koa()
    const css = textEndpoint('css', () => ownFile('pages.css'))
    app.use(async (ctx, next) => {
      if (ctx.path === '/pages.css') return void (await css(ctx, next))
      pageHeaders(ctx, "'self'")
      if (ctx.path === '/wrong-word') return answerPage(ctx, 200, render(ctx, 'wrong-word'))
      if (ctx.method === 'GET') {
        setCookie(ctx, { publicUrl }, 'who', secret)
        return answerPage(ctx, 200, show(ctx, { values: { payer: 'ACME "&" Co', amount: 1234.5 } }))
      }
      const form = await readPageForm(ctx)
      try {
        requireOwnForm(ctx, { publicUrl }, { secret: cookieOf(ctx, { publicUrl }, 'who'), purpose, form })
        const given = givenIn(form, fields, { reader: readerOf(ctx), prefix: '' })
        if (Number.isNaN(Number(given['amount'])))
          throw refusedAt('amount', 'invalid', `must be a number, not "${String(given['amount'])}"`)
        done.push(given)
        answerJson(ctx, 200, given)
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        const html = show(ctx, { form, problems: problemsIn(error) }, error.message)
        answerPage(ctx, httpStatusOf(error), html)
      }
    })
    app.silent = true
    server = app.listen(0, '127.0.0.1')
    await once(server, 'listening')
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  after(() => server.close())

  const draw = async (language = 'en') => {
    const answer = await fetch(url, { headers: { 'accept-language': language } })
    const html = await answer.text()
    const csrf = /name="csrf" value="([^"]+)"/.exec(html)![1]!
    const cookie = answer.headers.get('set-cookie')!.split(';')[0]!
    return { html, csrf, cookie, headers: answer.headers }
  }
  const send = async (form: Record<string, string>, headers: Record<string, string>) => {
    const answer = await fetch(url, { method: 'POST', body: new URLSearchParams(form), headers })
    return { status: answer.status, text: await answer.text() }
  }

  it('is drawn in the words and numbers of its reader, escaped, under a policy that runs nothing', async () => {
    const { html, headers } = await draw('de')
    assert.match(html, /<label for="payer" dir="auto">Who &lt;pays&gt; <span class="small">nötig</)
    assert.match(
      html,
      /name="payer" value="ACME &quot;&amp;&quot; Co"[^>]* data-suggest="\/suggestions\/Big%20Customer"/,
    )
    assert.match(
      html,
      /name="amount" value="1234,5" inputmode="decimal"[^>]* aria-describedby="amount-about"/,
    )
    assert.match(html, /<option value="new">New!<\/option><option>done<\/option>/)
    assert.match(html, /<p>&lt;script&gt;alert\(1\)&lt;\/script&gt; UTC<\/p>/)
    assert.match(headers.get('content-security-policy')!, /^default-src 'none'; style-src 'self';/)
    assert.match(headers.get('set-cookie')!, /; HttpOnly; SameSite=Lax$/)
    assert.match((await draw('fr')).html, /<span class="small">required</)
  })

  it('reads what its own browser sent', async () => {
    const { csrf, cookie } = await draw('de')
    const form = { csrf, payer: 'Jo', amount: '1.234,5', pin: '1', state: 'new' }
    const { status, text } = await send(form, { cookie, 'accept-language': 'de' })
    assert.equal(status, 200, text)
    assert.deepEqual(done.pop(), { payer: 'Jo', amount: '1234.5', pin: '1', state: 'new' })
  })

  it('shows what was typed again, the problem at its field in the language of its reader, and no password', async () => {
    const { csrf, cookie } = await draw('de')
    const form = { csrf, payer: '"><img src=x>', amount: 'viel', pin: '4711' }
    const { status, text } = await send(form, { cookie, 'accept-language': 'de' })
    assert.equal(status, 400)
    assert.match(text, /<div class="fault" role="alert"[^>]*><p>Bitte sehen Sie nach den Feldern.<\/p>/)
    assert.match(text, /name="amount" value="viel"[^>]* aria-invalid="true"/)
    assert.match(text, /<span class="fault">Das ist keine Zahl: &quot;viel&quot;.<\/span> In euros/)
    assert.match(text, /value="&quot;&gt;&lt;img src=x&gt;"/)
    assert.doesNotMatch(text, /4711|<img/)
    assert.deepEqual(done, [])
  })

  it('refuses what another browser, another site or another form made, and does nothing', async () => {
    const { csrf, cookie } = await draw()
    const form = { csrf, payer: 'Jo' }
    for (const [sent, headers] of [
      [form, {}],
      [form, { cookie: 'who=somebody else' }],
      [form, { cookie: `a=b;\t${cookie}` }],
      [{ payer: 'Jo' }, { cookie }],
      [{ ...form, csrf: formToken(secret, 'another') }, { cookie }],
      [form, { cookie, origin: 'https://evil.example' }],
      [form, { cookie, 'sec-fetch-site': 'cross-site' }],
    ] as const)
      assert.equal(
        (await send(sent, headers as Record<string, string>)).status,
        403,
        JSON.stringify([sent, headers]),
      )
    assert.deepEqual(done, [])
    assert.equal((await send(form, { cookie, 'sec-fetch-site': 'same-origin', origin: 'null' })).status, 200)
    assert.equal(done.length, 1)
  })

  it('fails where it names a word that no catalogue has', async () => {
    assert.equal((await fetch(`${url}/wrong-word`)).status, 500)
    assert.throws(() => render(undefined, 'wrong-word'), /no message "form.nothing"/)
  })

  it('draws forms and lists in words of the groups that its README names, and no others', () => {
    const root = join(import.meta.dirname, '..')
    const views = ['forms.njk', 'list.njk'].map((name) => readFileSync(join(root, 'src/views', name), 'utf8'))
    const named = [...views.join('\n').matchAll(/\bt\('([a-z_]+)\./g)].map(([, group]) => group!)
    const told = /words under ([^;]+);/.exec(readFileSync(join(root, 'README.md'), 'utf8'))![1]!
    assert.deepEqual([...new Set(named)].sort(), told.match(/[a-z]+(?=`)/g)!.sort())
  })

  it('has a stylesheet, compressed once for everybody', async () => {
    const answer = await fetch(`${url}/pages.css`, { headers: { 'accept-encoding': 'br' } })
    assert.equal(answer.headers.get('content-encoding'), 'br')
    assert.equal(answer.headers.get('content-type'), 'text/css; charset=utf-8')
    assert.equal(await answer.text(), ownFile('pages.css'))
  })
})
