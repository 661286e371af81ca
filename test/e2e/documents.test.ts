/** Documents on pages: found, filtered, read with all that belongs to them, and only by those who may. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { Browser } from '../helpers/browser.ts'
import { noChromium as skip, startChromium } from '../helpers/chromium.ts'
import { startDaemon, type RunningDaemon } from '../helpers/daemon.ts'
import { callerOf } from '../helpers/tool-calls.ts'

const [sales, hr, admin] = ['sales@example.com', 'hr@example.com', 'admin@example.com']
const password = 'correct horse battery staple'
const hostile = '<img src=x onerror=alert(1)>'

describe('documents on pages', { skip }, () => {
  it('are filtered, paged by key, opened and followed by keyboard, hostile names harmless', async (t) => {
    const daemon = await startDaemon(t)
    await setPasswords(daemon)
    const call = await callerOf(daemon, sales)
    await call('create_document', {
      doctype: 'Customer',
      data: { customer_name: hostile, territory: 'North' },
    })
    await call('add_comment', { doctype: 'Customer', name: hostile, comment: `${hostile} & more` })
    const file = { file_name: 'offer "1".html', text: '<script>alert(1)</script>' }
    await (
      await callerOf(daemon, admin)
    )('attach_file', { doctype: 'Customer', name: hostile, ...file })
    const page = await (await startChromium(t)).newPage()
    const complaints: string[] = []
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
    page.on('dialog', (dialog) => {
      complaints.push(dialog.message())
      void dialog.dismiss()
    })
    await page.goto(`${daemon.url}/documents/Customer`)
    await page.getByLabel('E-mail address').fill(sales)
    await page.getByLabel('Password').fill(password)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Customer' }).waitFor()
    await page.getByText('Filters').press('Enter')
    await page.getByRole('textbox', { name: 'Customer Name' }).fill(hostile)
    await page.keyboard.press('Enter')
    await page.getByRole('status').getByText('1 document').waitFor()
    await page.getByRole('link', { name: hostile }).press('Enter')
    await page.getByRole('heading', { name: hostile, exact: true }).waitFor()
    await page.getByText(`${hostile} & more`).waitFor()
    await page.getByText('attached a file').waitFor()
    const german = await page.context().browser()!.newPage({ locale: 'de-DE' })
    await german.context().addCookies(await page.context().cookies())
    await german.goto(page.url())
    await german.getByText('Datei angehängt').waitFor()
    await german.getByText(/angelegt von Sam Sales/).waitFor()
    await german.close()
    assert.equal(await page.locator('main img').count(), 0)
    const download = page.waitForEvent('download')
    await page.getByRole('link', { name: 'offer' }).press('Enter')
    const kept = await download
    assert.equal(readFileSync(await kept.path(), 'utf8'), '<script>alert(1)</script>')

    await page.goto(`${daemon.url}/documents/Sales%20Order`)
    const names = (): Promise<string[]> => page.locator('tbody th a').allTextContents()
    const first = await names()
    assert.equal(first.length, 50)
    await page.getByRole('link', { name: 'Next page' }).press('Enter')
    await page.getByRole('link', { name: 'First page' }).waitFor()
    const second = await names()
    assert.ok(second.length > 0)
    assert.deepEqual(
      second.filter((name) => first.includes(name)),
      [],
    )
    await page.getByRole('link', { name: second[0]!, exact: true }).press('Enter')
    await page.getByRole('region', { name: 'Items' }).waitFor()
    await page.locator('dl a').first().press('Enter')
    await page.waitForURL(/\/documents\/Customer\//)
    // Those who may read the order find it where it leads, and others do not (below).
    await page.getByRole('link', { name: /^SO-/ }).first().press('Enter')
    await page.getByRole('region', { name: 'Items' }).waitFor()
    assert.deepEqual(complaints, [])
    const told = await lookedAt(daemon)
    assert.ok(told.includes(`ok ${sales} Customer/${hostile}`), told.join('\n'))
    assert.ok(told.includes(`ok ${sales} Sales Order/${second[0]!}`))
  })

  it('keep what was typed when the session ends meanwhile: it is there again for who signs in again, and is saved', async (t) => {
    const daemon = await startDaemon(t)
    await setPasswords(daemon)
    const page = await (await (await startChromium(t)).newContext()).newPage()
    const form = `${daemon.url}/new-document/Task`
    const signIn = async (at: Page): Promise<void> => {
      await at.getByLabel('E-mail address').fill(sales)
      await at.getByLabel('Password').fill(password)
      await at.keyboard.press('Enter')
    }
    await page.goto(form)
    await signIn(page)
    await page.getByLabel('Subject').fill('Long thought of')
    const other = await page.context().newPage()
    await other.goto(`${daemon.url}/sign-out`)
    await other.getByRole('button', { name: 'Sign out' }).press('Enter')
    await other.getByText('You are signed out').waitFor()
    await page.getByLabel('Subject').press('Enter')
    await page.getByRole('alert').getByText('sign in in another tab, then load this page again').waitFor()
    await other.goto(`${daemon.url}/account`)
    await signIn(other)
    await other.getByRole('heading', { name: 'Account' }).waitFor()
    await page.reload()
    await page.getByRole('alert').getByText('you have signed in again since').waitFor()
    assert.equal(await page.getByLabel('Subject').inputValue(), 'Long thought of')
    const call = await callerOf(daemon, sales)
    const found = async (): Promise<number> => {
      const filters = { subject: 'Long thought of' }
      return ((await call('count_documents', { doctype: 'Task', filters })) as { count: number }).count
    }
    assert.equal(await found(), 0, 'nothing is done before it is sent once more')
    await page.getByLabel('Subject').press('Enter')
    await page.getByRole('heading', { name: 'Long thought of' }).waitFor()
    assert.equal(await found(), 1)
  })

  it('are not there for who may not read them, whatever the address, filter or file', async (t) => {
    const daemon = await startDaemon(t)
    await setPasswords(daemon)
    const call = await callerOf(daemon, sales)
    const { data } = (await call('list_documents', { doctype: 'Customer', limit: 1 })) as {
      data: [{ name: string }]
    }
    const name = encodeURIComponent(data[0].name)
    const browser = new Browser()
    const form = await browser.open(`${daemon.url}/documents`)
    assert.ok('html' in form)
    const list = await browser.submit(form, { username: hr, password })
    assert.ok('html' in list && list.html.includes('/documents/Employee'), JSON.stringify(list))
    assert.ok(!list.html.includes('/documents/Customer'))
    for (const path of [
      'Customer',
      `Customer/${name}`,
      `Customer/${name}/files/x`,
      'Employee/nobody',
      'Employee/%zz',
      'Nothing',
      '__proto__/constructor',
    ]) {
      const page = await browser.open(`${daemon.url}/documents/${path}`)
      assert.ok('status' in page && [403, 404].includes(page.status), path)
      assert.ok(!page.html.includes(data[0].name))
    }
    for (const query of ['f.no_such_field=1', 'after=made-up', 'f.status=drop']) {
      const page = await browser.open(`${daemon.url}/documents/Employee?${query}`)
      assert.ok('status' in page && page.status < 500, query)
    }
    assert.ok((await lookedAt(daemon)).includes(`denied ${hr} Customer`))
  })
})

async function setPasswords(daemon: RunningDaemon): Promise<void> {
  for (const user of [sales, hr]) await daemon.cli(['users', 'passwd', user, '--password-stdin'], password)
}

async function lookedAt(daemon: RunningDaemon): Promise<string[]> {
  const { stdout } = await daemon.cli(['audit', 'search', '--type', 'document.view', '--json'])
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { status: string; user: string; target?: string })
    .map(({ status, user, target }) => `${status} ${user} ${target}`)
}
