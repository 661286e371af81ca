/** The pages in a real browser, under their own policy, with a client whose name is hostile. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { endOn, noChromium as skip, startChromium } from '../helpers/chromium.ts'
import { startDaemon } from '../helpers/daemon.ts'

const person = { username: 'sales@example.com', password: 'correct horse battery staple' }
const hostile = '<img src=x onerror=alert(1)> \u202eevil'

describe('the pages in a browser', () => {
  it(
    'sign a user in, ask for consent, send the code to the client, and take the consent back',
    { skip },
    async (t) => {
      const daemon = await startDaemon(t)
      await daemon.cli(['users', 'passwd', person.username, '--password-stdin'], `${person.password}\n`)
      const arrived: URL[] = []
      const client = createServer((request, response) => {
        if (request.url?.startsWith('/callback')) arrived.push(new URL(request.url, 'http://localhost'))
        response.end('connected')
      }).listen(0, '127.0.0.1')
      t.after(() => client.close())
      await new Promise((resolve) => client.once('listening', resolve))
      const redirectUri = `http://127.0.0.1:${(client.address() as AddressInfo).port}/callback`
      const discovery = (await (
        await fetch(`${daemon.url}/.well-known/openid-configuration`)
      ).json()) as Record<string, string>
      const registered = (await (
        await fetch(discovery['registration_endpoint']!, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({
            client_name: hostile,
            redirect_uris: [redirectUri],
            token_endpoint_auth_method: 'none',
          }),
        })
      ).json()) as { client_id: string }

      const browser = await startChromium(t)
      const page = await browser.newPage()
      const complaints: string[] = []
      page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
      page.on('dialog', (dialog) => {
        complaints.push(`dialog: ${dialog.message()}`)
        void dialog.dismiss()
      })
      const asked = new URL(discovery['authorization_endpoint']!)
      for (const [name, value] of Object.entries({
        response_type: 'code',
        client_id: registered.client_id,
        redirect_uri: redirectUri,
        state: 'st&te=1',
        code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
        code_challenge_method: 'S256',
      }))
        asked.searchParams.set(name, value)

      await page.goto(asked.href)
      await page.getByLabel('E-mail address').fill(person.username)
      await page.getByLabel('Password').fill('wrong password')
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByText('is wrong').waitFor()
      await page.getByLabel('E-mail address').fill(person.username)
      await page.getByLabel('Password').fill(person.password)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('heading', { name: /Allow .* to act as you/ }).waitFor()
      assert.equal(await page.locator('main img, h1 img').count(), 0)
      assert.doesNotMatch(await page.locator('body').innerText(), /\u202e/)
      await page.getByText('Unverified').waitFor()
      await page.getByRole('button', { name: 'Allow' }).click()
      await page.waitForURL(/callback/)
      assert.equal(arrived[0]?.searchParams.get('state'), 'st&te=1')
      assert.equal(arrived[0]?.searchParams.get('iss'), daemon.url)
      assert.ok(arrived[0]?.searchParams.get('code'))

      await page.goto(`${daemon.url}/connected-apps`)
      await endOn(page, /Revoke access/)
      await page.getByText('Access was revoked').waitFor()
      assert.equal(await page.getByLabel(/Revoke access/).count(), 0)
      // The wrong password's own page answers 401 or 403, which a browser reports; nothing else may be complained of.
      assert.deepEqual(
        complaints.filter((text) => !/status of 4\d\d/.test(text)),
        [],
      )
    },
  )
})
