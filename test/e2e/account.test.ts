/** The account of an employee, in a real browser and by keyboard where a person would be: nobody else knows their secrets. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { TOTP, Secret } from 'otpauth'
import type { Page } from 'playwright-core'
import { endOn, noChromium as skip, startChromium } from '../helpers/chromium.ts'
import { copyOfShippedSite, startDaemon, type RunningDaemon } from '../helpers/daemon.ts'

const user = 'sales@example.com'
const first = 'correct horse battery staple'
const second = 'another long pass phrase'

describe('an employee', { skip }, () => {
  it('is invited, signs in, changes the password, and sees and ends other browsers, all by keyboard', async (t) => {
    const daemon = await startDaemon(t)
    const invited = await daemon.cli(['users', 'invite', user, '--json'])
    const { url } = JSON.parse(invited.stdout) as { url: string }
    const { page, complaints, context } = await newPage(t)
    await page.goto(url)
    await page.getByLabel('New password', { exact: true }).fill(first)
    await page.getByLabel('New password again').fill(first)
    const sent = await inHaste(page, 'Save', '**/choose-password')
    await page.getByText('Your password is set').waitFor()
    assert.deepEqual(sent, ['POST'], 'and is not told that the link is over')
    await signIn(page, first)
    await page.getByRole('heading', { name: /Sales|Sam/ }).waitFor()

    // The link was for once.
    assert.equal((await page.goto(url))?.status(), 404)

    const other = await (await context.browser()!.newContext()).newPage()
    await other.goto(`${daemon.url}/account`)
    await signIn(other, first)
    await other.getByRole('heading', { name: 'Account' }).waitFor()

    await page.goto(`${daemon.url}/account`)
    assert.equal(await page.getByText('this browser').count(), 1)
    assert.equal(await page.getByText('Chrome on').count(), 2)
    await page.getByLabel('Password of today').focus()
    await type(page, ['not it', second, second])
    await page.locator('#current-about').getByText('the current password is wrong').waitFor()
    await page.getByLabel('Password of today').focus()
    await type(page, [first, 'password1234', 'password1234'])
    await page.getByRole('alert').waitFor()
    const cookie = await sessionOf(page)
    await page.getByLabel('Password of today').focus()
    await type(page, [first, second, second])
    await page.getByRole('status').getByText('Done').waitFor()
    assert.notEqual(await sessionOf(page), cookie, 'the session is another one')
    await other.reload()
    await other.getByRole('heading', { name: 'Sign in' }).waitFor()
    await signIn(other, second)
    await other.getByRole('heading', { name: 'Account' }).waitFor()

    await page.goto(`${daemon.url}/account`)
    await endOn(page, 'Sign out everywhere else')
    await page.getByRole('status').getByText('Done').waitFor()
    await other.reload()
    await other.getByRole('heading', { name: 'Sign in' }).waitFor()
    assert.deepEqual(complaints, [])
    assert.deepEqual(await told(daemon, 'password.'), [
      `password.choose ok ${user}`,
      `password.change error ${user}`.replace('error', 'denied'),
      `password.change error ${user}`,
      `password.change ok ${user}`,
    ])
    assert.deepEqual(await told(daemon, 'session.'), [`session.end_all ok ${user}`])
  })

  it('makes and revokes API keys, and reads the pages in their language and time', async (t) => {
    const daemon = await startDaemon(t)
    const { page, complaints } = await signedIn(t, daemon)
    await page.goto(`${daemon.url}/account`)
    await page.getByLabel('What it is for').fill('<b>nightly</b>')
    // A click in haste, while the answer is still to come, makes no second key that nobody ever sees.
    const sent = await inHaste(page, 'Make a key', '**/account/key')
    await page.getByLabel('Your new key').waitFor()
    assert.deepEqual(sent, ['POST'])
    const header = await page.getByLabel('Your new key').textContent()
    const call = async (): Promise<number> => {
      const response = await fetch(`${daemon.url}/api/method/assistant_core.api.mcp_endpoint.handle_mcp`, {
        method: 'POST',
        headers: {
          authorization: header!.replace('Authorization: ', ''),
          'content-type': 'application/json',
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
      })
      return response.status
    }
    assert.equal(await call(), 200)
    await page.goto(`${daemon.url}/account`)
    assert.equal(await page.getByText('<b>nightly</b>').count(), 1)
    assert.ok(!(await page.content()).includes(header!.split(':')[2]!), 'it is shown once')
    await endOn(page, 'Revoke the key <b>nightly</b>')
    await page.getByRole('status').getByText('Done').waitFor()
    assert.equal(await call(), 401)
    await page.getByLabel('Language').selectOption('de')
    await page.getByLabel('Time zone').selectOption('Europe/Lisbon')
    await page.getByRole('button', { name: 'Save' }).press('Enter')
    await page.getByRole('heading', { name: 'Konto' }).waitFor()
    assert.match(await page.locator('time').first().textContent().then(String), /WES?T|GMT|UTC\+?/)
    await page.goto(`${daemon.url}/connected-apps`)
    await page.getByRole('heading', { name: 'Verbundene Apps' }).waitFor()
    assert.deepEqual(complaints, [])
    assert.deepEqual(await told(daemon, 'api_key.'), [
      `api_key.create ok ${user}`,
      `api_key.revoke ok ${user}`,
    ])
  })

  it('sets up an authenticator app, signs in with its code or a recovery code once, and is helped when both are lost', async (t) => {
    const daemon = await startDaemon(t)
    const { page, complaints } = await signedIn(t, daemon)
    await page.goto(`${daemon.url}/account`)
    await page.getByRole('button', { name: 'Set up an authenticator app' }).press('Enter')
    const secret = await page.locator('code.address').first().textContent()
    await type(page, ['000000'])
    await page.getByRole('alert').waitFor()
    assert.equal(
      (
        await daemon.cli(['audit', 'search', '--type', 'second_factor.add', '--status', 'error'])
      ).stdout.split('\n').length,
      2,
    )
    const kept = await page.locator('code.address').first().textContent()
    assert.equal(kept, secret, 'the entry in the app of the phone is good')
    const used = codeOf(kept!)
    await type(page, [used])
    const codes = (await page.getByLabel('Your recovery codes').textContent())!.split('\n')
    assert.equal(codes.length, 10)

    const again = await newPage(t)
    await again.page.goto(`${daemon.url}/account`)
    await signIn(again.page, first)
    // The password alone opens nothing.
    await again.page.getByRole('heading', { name: 'One more step' }).waitFor()
    await again.page.goto(`${daemon.url}/account`)
    await again.page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await signIn(again.page, first)
    await again.page.getByRole('heading', { name: 'One more step' }).waitFor()
    // A code that was used is not good again; the one of the next half minute would be.
    await type(again.page, [used])
    await again.page.getByRole('alert').waitFor()
    await type(again.page, [codes[0]!.toUpperCase().replaceAll('-', ' ')])
    await again.page.getByRole('heading', { name: 'Account' }).waitFor()
    await again.page.getByText('You have 9 recovery codes left').waitFor()
    await again.context.clearCookies()
    await again.page.goto(`${daemon.url}/account`)
    await signIn(again.page, first)
    await again.page.getByRole('heading', { name: 'One more step' }).waitFor()
    await type(again.page, [codes[0]!])
    await again.page.getByRole('alert').waitFor()

    const reset = await daemon.cli(['users', 'reset', user, '--second-factor', '--json'])
    const { url } = JSON.parse(reset.stdout) as { url: string }
    await again.page.goto(url)
    await type(again.page, [second, second])
    await signIn(again.page, second)
    await again.page.getByRole('heading', { name: /Sales|Sam/ }).waitFor()
    assert.deepEqual([...complaints, ...again.complaints], [])
    const log = (await daemon.cli(['audit', 'search', '--json'])).stdout
    for (const word of [kept!, codes[0]!, codes[1]!, url.split('link=')[1]!, first, second])
      assert.ok(!log.includes(word), 'no secret is in the log')
  })

  it('adds a passkey, signs in with it alone, and must keep one where the role needs it', async (t) => {
    const site = copyOfShippedSite(t)
    const settings = join(site, 'config/settings.yaml')
    writeFileSync(
      settings,
      readFileSync(settings, 'utf8').replace('second_factor_roles: []', 'second_factor_roles: [Sales User]'),
    )
    const daemon = await startDaemon(t, { site })
    await daemon.cli(['users', 'passwd', user, '--password-stdin'], first)
    const { page, complaints, context } = await newPage(t)
    const device = await context.newCDPSession(page)
    await device.send('WebAuthn.enable')
    const { authenticatorId } = await device.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    })
    await page.goto(`${daemon.url}/account`)
    await signIn(page, first)
    await page.getByRole('heading', { name: 'Set up a second factor' }).waitFor()
    // A device that cannot tell who holds it: 2.13.1 said nothing at all.
    await device.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false })
    await page.getByRole('button', { name: 'Add a passkey' }).press('Enter')
    await page.getByRole('alert').getByText('the device could not check that it is you').waitFor()
    await device.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true })
    await page.getByRole('button', { name: 'Add a passkey' }).press('Enter')
    await page.getByRole('heading', { name: 'Your recovery codes' }).waitFor()
    await page.getByRole('link', { name: 'Go on' }).press('Enter')
    await page.getByRole('heading', { name: 'Account' }).waitFor()
    await endOn(page, /Remove the passkey/)
    await page.getByRole('alert').getByText('your role needs a second factor').waitFor()
    await page.getByRole('button', { name: 'Add a passkey' }).press('Enter')
    await page.getByText('This device has a passkey of yours for this address already').waitFor()

    await page.goto(`${daemon.url}/sign-out`)
    await page.getByRole('button', { name: 'Sign out' }).press('Enter')
    await page.goto(`${daemon.url}/account`)
    await page.getByRole('link', { name: 'Sign in with a passkey' }).press('Enter')
    await page.getByRole('button', { name: 'Use a passkey' }).press('Enter')
    await page.getByRole('heading', { name: 'Account' }).waitFor()
    await page.goto(`${daemon.url}/sign-out`)
    await page.getByRole('button', { name: 'Sign out' }).press('Enter')
    await page.goto(`${daemon.url}/account`)
    await signIn(page, first)
    await page.getByRole('button', { name: 'Use a passkey' }).press('Enter')
    await page.getByRole('heading', { name: 'Account' }).waitFor()
    assert.deepEqual(
      complaints.filter((text) => !/status of 4\d\d/.test(text)),
      [],
    )
    assert.deepEqual(await told(daemon, 'second_factor.'), [
      `second_factor.add ok ${user}`,
      `second_factor.remove error ${user}`,
    ])
  })
})

describe('a passkey that the browser refuses', { skip }, () => {
  it('is told in the language of the page, and without words of the browser as well', async (t) => {
    const daemon = await startDaemon(t)
    const { page, complaints } = await newPage(t, 'de-DE')
    await page.goto(`${daemon.url}/sign-in/passkey`)
    const refuse = (name: string, words: string): Promise<unknown> =>
      page.evaluate(
        `navigator.credentials.get = () => Promise.reject(new DOMException('${words}', '${name}')); 0`,
      )
    const said = async (): Promise<string> => {
      await page.getByRole('button', { name: 'Passkey benutzen' }).press('Enter')
      await page.getByRole('alert').waitFor()
      return (await page.getByRole('alert').textContent())!.trim()
    }
    await refuse('OddError', '')
    assert.equal(await said(), 'Der Browser konnte keinen Passkey benutzen.')
    await refuse('OddError', 'The moon is wrong.')
    assert.equal(await said(), 'Der Browser konnte keinen Passkey benutzen. The moon is wrong.')
    await refuse('SecurityError', 'This is an invalid domain.')
    assert.match(await said(), /^Der Browser nimmt unter dieser Adresse keine Passkeys/)
    assert.deepEqual(complaints, [])
  })
})

async function newPage(
  t: TestContext,
  locale = 'en-GB',
): Promise<{ page: Page; complaints: string[]; context: ReturnType<Page['context']> }> {
  const context = await (await startChromium(t)).newContext({ locale })
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  const complaints: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' && !/status of 4\d\d/.test(message.text())) complaints.push(message.text())
  })
  return { page, complaints, context }
}

async function signedIn(t: TestContext, daemon: RunningDaemon): Promise<Awaited<ReturnType<typeof newPage>>> {
  await daemon.cli(['users', 'passwd', user, '--password-stdin'], first)
  const opened = await newPage(t)
  await opened.page.goto(`${daemon.url}/account`)
  await signIn(opened.page, first)
  await opened.page.getByRole('heading', { name: 'Account' }).waitFor()
  return opened
}

/** The field that has the focus, and those after it, then Enter. */
async function type(page: Page, words: readonly string[]): Promise<void> {
  // A browser that is busy gives the focus to a field a moment after it has the page.
  await page.locator('input:focus').waitFor()
  for (const [index, word] of words.entries()) {
    if (index > 0) await page.keyboard.press('Tab')
    await page.keyboard.type(word)
  }
  await page.keyboard.press('Enter')
}

/** Clicks twice on a button whose answer takes long, and returns what is sent. */
async function inHaste(page: Page, name: string, to: string): Promise<readonly string[]> {
  const sent: string[] = []
  await page.route(to, async (route) => {
    sent.push(route.request().method())
    await setTimeout(1500)
    await route.continue()
  })
  await page.getByRole('button', { name }).scrollIntoViewIfNeeded()
  const { x, y } = (await page.getByRole('button', { name }).boundingBox())!
  const click = (): unknown => page.mouse.click(x + 9, y + 9).catch(() => undefined)
  void click()
  await setTimeout(700)
  void click()
  return sent
}

async function signIn(page: Page, word: string): Promise<void> {
  await page.getByLabel('E-mail address').fill(user)
  await page.getByLabel('Password').focus()
  await type(page, [word])
}

async function sessionOf(page: Page): Promise<string> {
  const cookies = await page.context().cookies()
  return cookies.find(({ name }) => name.endsWith('session'))!.value
}

function codeOf(secret: string): string {
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate()
}

async function told(daemon: RunningDaemon, type: string): Promise<string[]> {
  const { stdout } = await daemon.cli(['audit', 'search', '--type', type, '--json'])
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string; status: string; user: string })
    .map((event) => `${event.type} ${event.status} ${event.user}`)
}
