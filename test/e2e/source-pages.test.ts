/** Documents that lie in a company's own database, made, changed and deleted on their pages, by keyboard in a real browser. */
import assert from 'node:assert/strict'
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { Client } from 'pg'
import { erp } from '../documents/erp.ts'
import { item, stock } from '../documents/erp-stock.ts'
import { axeFaults, noChromium, startChromium } from '../helpers/chromium.ts'
import { runCli, startDaemon, temporaryFolder } from '../helpers/daemon.ts'
import { noPostgres, startPostgres } from '../helpers/postgres.ts'

const boss = 'boss@example.com'
const password = 'correct horse battery staple'

const customer = `
doctype: Customer
title_field: title
from: { source: erp, table: erp.customer, key: [id] }
fields:
  - { fieldname: title, type: text, column: name }
permissions:
  - { role: Boss, actions: [read] }
`

describe('documents of a company’s own database on pages', { skip: noPostgres || noChromium }, () => {
  it('are made, refused by the database with what was typed kept, changed, and deleted when it is wanted', async (t) => {
    const server = await startPostgres(t)
    const url = new URL(await server.newDatabase())
    const owner = new Client({ connectionString: url.href })
    await owner.connect()
    owner.on('error', () => undefined)
    await owner.query(`${erp}; ${stock}`)
    const rows = async (): Promise<unknown[]> =>
      (await owner.query<object>('SELECT id, name, price::text, supplier, owner FROM erp.item ORDER BY id'))
        .rows
    const before = await rows()

    const folder = temporaryFolder(t)
    const [site, state] = [join(folder, 'office'), join(folder, 'state')]
    const made = await runCli(['init', site], {
      env: { ASSISTANT_CORE_SITE: site, ASSISTANT_CORE_STATE: state },
    })
    assert.equal(made.code, 0, made.stderr)
    const users = join(site, 'config/users.yaml')
    const person = `users:\n  - { email: ${boss}, full_name: Bea Boss, assistant_enabled: 1, roles: [Assistant User, Boss] }\n`
    writeFileSync(users, readFileSync(users, 'utf8').replace('users: []\n', person))
    appendFileSync(join(site, 'config/roles.yaml'), '  - name: Clerk\n  - name: Boss\n')
    const place = `host: 127.0.0.1, port: ${url.port}, database: ${url.pathname.slice(1)}`
    writeFileSync(
      join(site, 'config/sources.yaml'),
      `sources: { erp: { type: postgres, ${place}, user: writer } }\n`,
    )
    mkdirSync(join(site, 'config/doctypes'), { recursive: true })
    writeFileSync(join(site, 'config/doctypes/customer.yaml'), customer)
    // No column tells when a row was changed: what its reader saw is compared.
    writeFileSync(join(site, 'config/doctypes/item.yaml'), item.replace('  version: row_no\n', ''))
    const daemon = await startDaemon(t, { site, state })
    await daemon.cli(['users', 'passwd', boss, '--password-stdin'], password)

    const page = await (await startChromium(t)).newPage()
    await page.goto(`${daemon.url}/documents/Item`)
    await page.getByLabel('E-mail address').fill(boss)
    await page.getByLabel('Password').fill(password)
    await page.keyboard.press('Enter')
    await page.getByRole('status').getByText('2 documents').waitFor()
    await page.getByRole('link', { name: 'New', exact: true }).press('Enter')
    await page.getByRole('heading', { name: 'New: Item' }).waitFor()
    const found = await axeFaults(page, 'new')
    await page.getByRole('textbox', { name: 'Title' }).fill('Bolt')
    await page.getByRole('textbox', { name: 'Price' }).fill('-1')
    await page.getByLabel('Supplier').fill('2')
    await page.getByRole('textbox', { name: 'Title' }).press('Enter')
    // A check of the table refuses it; what was typed stands there, and nothing was made.
    await page.getByRole('alert').waitFor()
    assert.equal(await page.getByRole('textbox', { name: 'Price' }).inputValue(), '-1')
    assert.equal(await page.getByRole('textbox', { name: 'Title' }).inputValue(), 'Bolt')
    assert.deepEqual(await rows(), before)
    found.push(...(await axeFaults(page, 'refused')))
    await page.getByRole('textbox', { name: 'Price' }).fill('12.50')
    await page.getByRole('textbox', { name: 'Title' }).press('Enter')
    await page.getByRole('heading', { name: 'Bolt' }).waitFor()
    const name = new URL(page.url()).pathname.split('/').at(-1)!
    const row = { id: Number(name), name: 'Bolt', price: '12.50', supplier: 2, owner: boss }
    assert.deepEqual(await rows(), [...before, row])

    await page.getByRole('link', { name: 'Change', exact: true }).press('Enter')
    await page.getByRole('textbox', { name: 'Price' }).fill('14.25')
    await page.getByRole('textbox', { name: 'Price' }).press('Enter')
    await page.getByRole('heading', { name: 'Bolt' }).waitFor()
    await page.getByText('14.25').first().waitFor()
    assert.deepEqual(await rows(), [...before, { ...row, price: '14.25' }])
    found.push(...(await axeFaults(page, 'changed')))

    await page.getByRole('button', { name: 'Delete' }).press('Enter')
    await page.getByRole('heading', { name: /^Delete .* for good\?/ }).waitFor()
    assert.equal((await rows()).length, before.length + 1, 'it is asked before it is done')
    await owner.query("UPDATE erp.item SET price = 15 WHERE name = 'Bolt'")
    await page.getByRole('button', { name: 'Yes, do it' }).press('Enter')
    await page.getByRole('alert').getByText('it was changed meanwhile').waitFor()
    assert.deepEqual(await rows(), [...before, { ...row, price: '15.00' }])
    await page.goto(`${daemon.url}/documents/Item/${name}`)
    await page.getByRole('button', { name: 'Delete' }).press('Enter')
    await page.getByRole('heading', { name: /^Delete .* for good\?/ }).waitFor()
    await page.getByRole('button', { name: 'Yes, do it' }).press('Enter')
    await page.getByRole('status').getByText('2 documents').waitFor()
    assert.deepEqual(await rows(), before)
    assert.deepEqual(found, [])
    const { stdout } = await daemon.cli(['audit', 'search', '--user', boss, '--json'])
    const told = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; status: string; target?: string })
      .filter(({ type }) => /^document\.(create|update|delete)$/.test(type))
    assert.deepEqual(
      told.map(({ type, status, target }) => `${type} ${status} ${target ?? ''}`),
      [
        'document.create error Item',
        ...['create', 'update', 'delete'].map((verb) => `document.${verb} ok Item/${name}`),
      ],
    )
    await owner.end()
  })
})
