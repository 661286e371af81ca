/** The company's own on the pages: name, logo, colour, whom to ask, legal links, and what went wrong. */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { sha256 } from '#leaf/secrets.ts'
import { accentContrast, darkAccent } from '../../src/settings/contrast.ts'
import { copyOfShippedSite, startDaemon } from '../helpers/daemon.ts'
import { startServer } from '../oauth/server.ts'

const logo = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
const company = `
company:
  logo: config/logo.svg
  accent_color: "#7a1f5c"
  support: help@clinic.example
  legal_links:
    - { label: "Imprint <b>", url: "https://clinic.example/imprint" }
`

describe('the pages of a company', () => {
  it('show its logo, colour, contact and links, and a fault tells its request id and whom to ask', async (t) => {
    const site = copyOfShippedSite(t)
    const settings = join(site, 'config/settings.yaml')
    const shipped = readFileSync(settings, 'utf8')
    writeFileSync(settings, shipped.replace(/^company:\n(?: .*\n)+/m, company.trimStart()))
    mkdirSync(join(site, 'config'), { recursive: true })
    writeFileSync(join(site, 'config/logo.svg'), logo)
    const daemon = await startDaemon(t, { site })
    const page = await (await fetch(daemon.url)).text()
    assert.match(page, /<img class="logo" src="\/assets\/logo" alt="">/)
    assert.match(page, /<link rel="icon" href="\/assets\/logo">/)
    assert.match(page, /Help: <a href="mailto:help@clinic\.example">help@clinic\.example<\/a>/)
    assert.match(page, /<a href="https:\/\/clinic\.example\/imprint">Imprint &lt;b&gt;<\/a>/)
    const [, sheet] = /rel="stylesheet" href="([^"]+)"/.exec(page)!
    const css = await (await fetch(daemon.url + sheet!)).text()
    assert.match(css, /--accent: #7a1f5c[^]*--accent: #[0-9a-f]{6}/)
    assert.equal(sheet!.split('?')[1], sha256(css).slice(0, 8), 'a browser keeps no older one')
    const picture = await fetch(`${daemon.url}/assets/logo`)
    assert.equal(await picture.text(), logo)
    assert.match(picture.headers.get('content-security-policy')!, /default-src 'none'.*sandbox/)
    const lost = await fetch(`${daemon.url}/nowhere`, { headers: { accept: 'text/html' } })
    const id = lost.headers.get('x-request-id')!
    const told = await lost.text()
    assert.ok(told.includes(`<code>${id}</code>`), told)
    assert.match(told, /If you need help, ask <a href="mailto:help@clinic\.example">/)
    const before = /stylesheet" href="([^"]+)"/.exec(page)![1]
    const changed = readFileSync(settings, 'utf8').replace('#7a1f5c', '#ffee00')
    writeFileSync(settings, changed.replace('config/logo.svg', 'config/gone.png'))
    const check = await daemon.cli(['check', '--site', site])
    assert.match(
      check.stdout + check.stderr,
      /settings\.yaml:\d+:\d+ company\.accent_color: "#ffee00" has a contrast of 1\.\d/,
    )
    assert.match(
      check.stdout + check.stderr,
      /settings\.yaml:\d+:\d+ company\.logo: there is no file config\/gone\.png/,
    )
    assert.match(
      await (await fetch(daemon.url)).text(),
      new RegExp(`stylesheet" href="${before!.replace('?', '\\?')}"`),
    )
  })

  it('have a colour that can be read in the light and, made brighter, in the dark', () => {
    assert.ok(accentContrast('#1f5fbf') >= 4.5)
    assert.ok(accentContrast('#ffee00') < 4.5)
    assert.equal(accentContrast('#000000').toFixed(1), '19.3')
    assert.match(darkAccent('#000000'), /^#[8-9a-f]/)
    assert.equal(darkAccent('#ffffff'), '#ffffff')
  })

  it('say on the sign-in page which app asks, by a name that can do no harm', async (t) => {
    const server = await startServer(t)
    const registered = await fetch(`${server.url}/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        client_name: '<img src=x onerror=alert(1)> Mail',
        redirect_uris: ['http://127.0.0.1/callback'],
        token_endpoint_auth_method: 'none',
      }),
    })
    const { client_id } = (await registered.json()) as { client_id: string }
    const signIn = async (next: string): Promise<string> =>
      (await fetch(`${server.url}/sign-in?next=${encodeURIComponent(next)}`)).text()
    const page = await signIn(`/authorize?client_id=${client_id}`)
    assert.match(
      page,
      /calls itself <strong class="client" dir="auto">&lt;img src=x onerror=alert\(1\)&gt; Mail</,
    )
    assert.doesNotMatch(await signIn('/authorize?client_id=nobody'), /calls itself/)
    assert.doesNotMatch(await signIn('/desk'), /calls itself/)
    for (const away of [
      '//evil.example',
      'https://evil.example',
      '/desk/..//evil',
      '/desk\\evil',
      '/sign-out',
    ])
      assert.match(await signIn(away), /name="next" value="\/"/, away)
  })
})
