/** Lists as people work with them, by keyboard in a real browser: asked, kept, exported, and changed several at once. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it, type TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { axeFaults, noChromium as skip, startChromium } from '../helpers/chromium.ts'
import { startDaemon, type RunningDaemon } from '../helpers/daemon.ts'
import { callerOf } from '../helpers/tool-calls.ts'

const [sales, manager] = ['sales@example.com', 'admin@example.com']
const password = 'correct horse battery staple'
const orders = '/documents/Sales%20Order'

describe('lists in a browser', { skip }, () => {
  it('keep what was typed on a mistake, columns and a view that one chose, and give them as a file', async (t) => {
    const { daemon, page, complaints } = await signedIn(t, sales)
    await page.goto(daemon.url + orders)
    await page.locator('summary').filter({ hasText: 'Filters' }).press('Enter')
    await page.getByRole('textbox', { name: 'Grand Total, from' }).fill('a lot')
    await page.getByRole('combobox', { name: 'Status' }).selectOption('Completed')
    await page.keyboard.press('Tab')
    await page.getByRole('textbox', { name: 'Po Number' }).press('Enter')
    const total = page.getByRole('textbox', { name: 'Grand Total, from' })
    await page.getByText('must be a number').waitFor()
    assert.equal(await total.inputValue(), 'a lot')
    assert.equal(await total.getAttribute('aria-invalid'), 'true')
    assert.equal(await page.getByRole('combobox', { name: 'Status' }).inputValue(), 'Completed')
    const found = await axeFaults(page, 'a mistake')
    await total.fill('2,000.5')
    await total.press('Enter')
    await page.getByText('Filters (2)').waitFor()
    await page.locator('summary').filter({ hasText: 'Columns' }).press('Enter')
    for (const name of ['Customer', 'Grand Total'])
      await page.getByRole('checkbox', { name, exact: true }).press('Space')
    await page.getByRole('checkbox', { name: 'Grand Total', exact: true }).press('Enter')
    await page.getByRole('columnheader', { name: 'Customer' }).waitFor()
    const heads = (): Promise<string[]> => page.getByRole('columnheader').allTextContents()
    const chosen = ['Name', 'Customer', 'Grand Total']
    assert.deepEqual((await heads()).filter(Boolean), chosen)
    await page.getByRole('link', { name: 'Grand Total' }).press('Enter')
    await page.locator('th[aria-sort="ascending"]').waitFor()
    await page.getByRole('link', { name: 'Grand Total' }).press('Enter')
    await page.locator('th[aria-sort="descending"]').waitFor()
    const names = await page.locator('tbody th a').allTextContents()
    assert.ok(names.length > 1)
    const download = page.waitForEvent('download')
    await page.getByRole('link', { name: 'CSV' }).press('Enter')
    const lines = readFileSync(await (await download).path(), 'utf8')
      .trim()
      .split('\r\n')
    assert.equal(lines[0], 'name,Customer,Grand Total')
    assert.deepEqual(
      lines.slice(1).map((line) => line.split(',')[0]),
      names,
      'the file is what one sees',
    )
    const amounts = lines.slice(1).map((line) => Number(line.split(',').at(-1)))
    assert.ok(amounts.every((amount, index) => amount >= 2000.5 && amount <= (amounts[index - 1] ?? amount)))
    await page.locator('summary').filter({ hasText: 'Keep this view' }).press('Enter')
    await page.getByRole('textbox', { name: 'Name of the view' }).fill('Large ones')
    await page.keyboard.press('Enter')
    await page.getByRole('status').getByText('It is done.').waitFor()
    found.push(...(await axeFaults(page, 'a view')))
    await page.goto(daemon.url)
    await page.getByRole('link', { name: 'Large ones' }).press('Enter')
    await page.locator('th[aria-sort="descending"]').waitFor()
    assert.deepEqual(await page.locator('tbody th a').allTextContents(), names)
    // Kept without a name, the list begins so; its columns stay whatever is asked.
    await page.locator('summary').filter({ hasText: 'Keep this view' }).press('Enter')
    await page.getByRole('textbox', { name: 'Name of the view' }).press('Enter')
    await page.getByRole('status').getByText('It is done.').waitFor()
    await page.goto(`${daemon.url}${orders}?f.status=Draft`)
    await page.getByText('Filters (1)').waitFor()
    assert.deepEqual((await heads()).filter(Boolean), chosen)
    assert.deepEqual(found, [])
    assert.deepEqual(complaints, [])
  })

  it('submit several documents, tell what became of each, and leave what was refused as it was', async (t) => {
    const { daemon, page, complaints } = await signedIn(t, sales)
    const [mine, theirs] = [await callerOf(daemon, sales), await callerOf(daemon, manager)]
    const made: string[] = []
    for (const call of [mine, mine, theirs]) made.push(await ordered(call))
    const [one, other, foreign] = made as [string, string, string]
    const among = JSON.stringify([['name', 'in', made]])
    await page.goto(`${daemon.url}${orders}?filters=${encodeURIComponent(among)}`)
    await page.getByRole('checkbox', { name: 'Tick all of this page' }).press('Space')
    await page.getByRole('checkbox', { name: `Tick ${foreign}`, checked: true }).waitFor()
    await page.getByLabel('With those that are ticked').selectOption('Submit')
    await page.getByRole('button', { name: 'Go on' }).press('Enter')
    await page.getByRole('heading', { name: 'Submit: 3 documents' }).waitFor()
    await page.getByRole('row', { name: foreign }).getByText('but not submit it').waitFor()
    const found = await axeFaults(page, 'what would be done')
    assert.deepEqual(await statesOf(theirs, made), [0, 0, 0])
    await page.getByRole('button', { name: 'Yes, do it to 2 documents' }).press('Enter')
    await page.getByText('2 documents done').press('Enter')
    for (const name of [one, other])
      await page.getByRole('listitem').getByText(name, { exact: true }).waitFor()
    assert.deepEqual(await statesOf(theirs, made), [1, 1, 0])
    found.push(...(await axeFaults(page, 'what was done')))
    assert.deepEqual(found, [])
    assert.deepEqual(complaints, [])
    const { stdout } = await daemon.cli(['audit', 'search', '--type', 'tool.call', '--user', sales, '--json'])
    const told = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { target: string; status: string })
      .filter(({ target }) => target === 'submit_document')
    assert.equal(told.filter(({ status }) => status === 'denied').length, 1)
  })

  it('cancel several documents once that is confirmed, and leave the one that has changed meanwhile', async (t) => {
    const { daemon, page, complaints } = await signedIn(t, manager)
    const call = await callerOf(daemon, manager)
    const made: string[] = []
    for (let n = 0; n < 3; n++) made.push(await ordered(call))
    const [one, other, changed] = made as [string, string, string]
    for (const name of made) await call('submit_document', { doctype: 'Sales Order', name })
    const among = JSON.stringify([['name', 'in', made]])
    await page.goto(`${daemon.url}${orders}?filters=${encodeURIComponent(among)}`)
    for (const name of made) await page.getByRole('checkbox', { name: `Tick ${name}` }).press('Space')
    await page.getByLabel('With those that are ticked').selectOption('Cancel it')
    await page.getByRole('button', { name: 'Go on' }).press('Enter')
    await page.getByRole('heading', { name: 'Cancel it: 3 documents' }).waitFor()
    const found = await axeFaults(page, 'what would be cancelled')
    assert.deepEqual(await statesOf(call, made), [1, 1, 1], 'nothing is done before it is confirmed')
    const remarks = { remarks: 'The customer called.' }
    await call('update_document', { doctype: 'Sales Order', name: changed, data: remarks })
    await page.getByRole('button', { name: 'Yes, do it to 3 documents' }).press('Enter')
    await page.getByRole('heading', { name: 'Cancel it: what became of each' }).waitFor()
    await page
      .getByRole('listitem')
      .filter({ hasText: changed })
      .getByText('it was changed meanwhile')
      .waitFor()
    await page.getByText('2 documents done').press('Enter')
    for (const name of [one, other])
      await page.getByRole('listitem').getByText(name, { exact: true }).waitFor()
    assert.deepEqual(await statesOf(call, made), [2, 2, 1])
    found.push(...(await axeFaults(page, 'what was cancelled')))
    assert.deepEqual(found, [])
    assert.deepEqual(complaints, [])
  })
})

type Call = (name: string, args: object) => Promise<unknown>

async function ordered(call: Call): Promise<string> {
  const first = async (doctype: string): Promise<string> => {
    const { data } = (await call('list_documents', { doctype, limit: 1 })) as { data: [{ name: string }] }
    return data[0].name
  }
  const data = { customer: await first('Customer'), items: [{ item: await first('Item'), qty: 1, rate: 5 }] }
  const made = (await call('create_document', { doctype: 'Sales Order', data })) as { name: string }
  return made.name
}

async function statesOf(call: Call, names: readonly string[]): Promise<unknown[]> {
  const asked = { doctype: 'Sales Order', filters: [['name', 'in', names]], fields: ['docstatus'] }
  const { data } = (await call('list_documents', asked)) as { data: { name: string; docstatus: number }[] }
  const states = names.map((name) => data.find((one) => one.name === name)?.docstatus)
  return states
}

/** A page of somebody who is signed in, and what the browser complained of there. */
async function signedIn(
  t: TestContext,
  user: string,
): Promise<{ daemon: RunningDaemon; page: Page; complaints: string[] }> {
  const daemon = await startDaemon(t)
  await daemon.cli(['users', 'passwd', user, '--password-stdin'], password)
  const page = await (await startChromium(t)).newPage()
  const complaints: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().includes('400')) complaints.push(message.text())
  })
  await page.goto(daemon.url + orders)
  await page.getByLabel('E-mail address').fill(user)
  await page.getByLabel('Password').fill(password)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Sales Order' }).waitFor()
  return { daemon, page, complaints }
}
