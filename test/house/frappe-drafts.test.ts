import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { parse } from 'yaml'
import { initSite } from '../../src/house/new-site.ts'
import { addSource, draftFrom } from '../../src/house/source-drafts.ts'
import { readWholeSite } from '../../src/house/snapshot.ts'
import { faultText } from '#site/site-files.ts'
import { temporaryFolder } from '../helpers/daemon.ts'
import { noMariadb, startMariadb } from '../helpers/mariadb.ts'

const base = `name varchar(140) NOT NULL PRIMARY KEY, creation datetime(6), modified datetime(6), modified_by varchar(140),
  owner varchar(140), docstatus int(1) NOT NULL DEFAULT 0, idx int(8) NOT NULL DEFAULT 0`
const rowsOf = 'parent varchar(140), parentfield varchar(140), parenttype varchar(140)'

/** A database as Frappe lays it out. */
const company = `
  CREATE TABLE \`tabDocType\` (${base}, istable int(1), issingle int(1), title_field varchar(140), search_fields varchar(140));
  CREATE TABLE \`tabDocField\` (${base}, ${rowsOf}, fieldname varchar(140), fieldtype varchar(140), label varchar(140),
    options text, reqd int(1), permlevel int(11));
  CREATE TABLE \`tabDocPerm\` (${base}, ${rowsOf}, role varchar(140), permlevel int(11), \`read\` int(1), report int(1), if_owner int(1));
  CREATE TABLE \`tabUser Permission\` (${base});
  CREATE TABLE \`tabSingles\` (doctype varchar(140), field varchar(140), value text);
  CREATE TABLE \`tabCustomer\` (${base}, customer_name varchar(140), customer_type varchar(140), credit decimal(21,9), secret varchar(140));
  CREATE TABLE \`tabSales Invoice\` (${base}, customer varchar(140), posting_date date, grand_total decimal(21,9), margin decimal(21,9));
  CREATE TABLE \`tabSales Invoice Item\` (${base}, ${rowsOf}, item varchar(140), qty decimal(21,9), INDEX parent (parent));
  INSERT INTO \`tabDocType\` (name, istable, issingle, title_field, search_fields) VALUES
    ('Customer', 0, 0, 'customer_name', 'customer_type'), ('Sales Invoice', 0, 0, NULL, 'customer'), ('Sales Invoice Item', 1, 0, NULL, NULL);
  INSERT INTO \`tabDocField\` (name, parent, idx, fieldname, fieldtype, label, options, permlevel) VALUES
    ('f1', 'Customer', 1, 'customer_name', 'Data', 'Customer Name', NULL, 0),
    ('f2', 'Customer', 2, 'customer_type', 'Select', 'Type', '\\nCompany\\nIndividual', 0),
    ('f3', 'Customer', 3, 'section', 'Section Break', 'More', NULL, 0),
    ('f4', 'Customer', 4, 'credit', 'Currency', 'Credit', NULL, 1),
    ('f5', 'Customer', 5, 'secret', 'Password', 'Secret', NULL, 0),
    ('g1', 'Sales Invoice', 1, 'customer', 'Link', 'Customer', 'Customer', 0),
    ('g2', 'Sales Invoice', 2, 'posting_date', 'Date', 'Date', NULL, 0),
    ('g3', 'Sales Invoice', 3, 'items', 'Table', 'Items', 'Sales Invoice Item', 0),
    ('g4', 'Sales Invoice', 4, 'grand_total', 'Currency', 'Grand Total', NULL, 0),
    ('h1', 'Sales Invoice Item', 1, 'item', 'Data', 'Item', NULL, 0),
    ('h2', 'Sales Invoice Item', 2, 'qty', 'Float', 'Quantity', NULL, 0);
  INSERT INTO \`tabDocPerm\` (name, parent, idx, role, permlevel, \`read\`, report, if_owner) VALUES
    ('p1', 'Customer', 1, 'Sales User', 0, 1, 0, 1), ('p2', 'Customer', 2, 'Sales Manager', 0, 1, 1, 0),
    ('p3', 'Customer', 3, 'Sales Manager', 1, 1, 0, 0), ('p4', 'Sales Invoice', 1, 'Sales Manager', 0, 1, 1, 0),
    ('p5', 'Sales Invoice', 2, 'Stock User', 0, 0, 0, 0);
  INSERT INTO \`tabCustomer\` (name, owner, customer_name, customer_type, credit) VALUES ('CUST-1', 'ann@example.com', 'Müller', 'Company', 10.5);
  INSERT INTO \`tabSales Invoice\` (name, customer, posting_date, grand_total) VALUES ('INV-1', 'CUST-1', '2026-01-01', 3);
  INSERT INTO \`tabSales Invoice Item\` (name, parent, parentfield, parenttype, idx, item, qty) VALUES
    ('r2', 'INV-1', 'items', 'Sales Invoice', 2, 'Nuts', 2), ('r1', 'INV-1', 'items', 'Sales Invoice', 1, 'Bolts', 1),
    ('r9', 'INV-1', 'items', 'Sales Order', 1, 'of an order', 1)`

describe('doctypes drafted from a database in the layout of Frappe', { skip: noMariadb }, () => {
  it('carry over fields, labels, links, options, rows, roles and rules, pass check, and say what they could not', async (t) => {
    const server = await startMariadb(t)
    const database = await server.newDatabase()
    await server.admin.query(`USE ${database}; ${company}`)
    const site = join(temporaryFolder(t), 'office')
    initSite(site, 'minimal')
    const folders = { site, state: join(site, '../state') }
    const source = {
      type: 'mariadb' as const,
      host: '127.0.0.1',
      port: server.port,
      database,
      user: 'reader',
    }
    assert.equal((await addSource(folders, 'erp', source)).tables, 8)
    const dry = await draftFrom(folders, 'erp', ['tabCustomer', 'tabSales Invoice'], false)
    assert.ok(!existsSync(join(site, 'config/doctypes/sales-invoice.yaml')))
    assert.deepEqual(
      dry.doctypes.map(({ doctype }) => doctype),
      ['Customer', 'Sales Invoice', 'Sales Invoice Item'],
    )
    assert.deepEqual(dry.left, [
      'tabUser Permission: keeps documents from people whom its rules let read them, which is not carried over: say it in rules and in config/users.yaml',
    ])
    assert.deepEqual(dry.doctypes[0]!.left, ['secret is a Password, which is not carried over'])
    await draftFrom(folders, 'erp', ['tabCustomer', 'tabSales Invoice'], true)
    const read = (file: string): Record<string, unknown> =>
      parse(readFileSync(join(site, file), 'utf8')) as Record<string, unknown>
    assert.deepEqual(read('config/doctypes/customer.yaml'), {
      doctype: 'Customer',
      title_field: 'customer_name',
      from: {
        source: 'erp',
        table: `${database}.tabCustomer`,
        key: ['name'],
        standard: {
          owner: 'owner',
          creation: 'creation',
          modified: 'modified',
          modified_by: 'modified_by',
          docstatus: 'docstatus',
        },
        search: ['name', 'customer_name'],
      },
      permissions: [
        { role: 'Sales User', actions: ['read'], if_owner: true },
        { role: 'Sales Manager', actions: ['read', 'report'], levels: [0, 1] },
      ],
      fields: [
        { fieldname: 'customer_name', type: 'text', label: 'Customer Name' },
        { fieldname: 'customer_type', type: 'select', label: 'Type', options: ['Company', 'Individual'] },
        { fieldname: 'credit', type: 'currency', precision: 9, label: 'Credit', level: 1 },
      ],
    })
    assert.deepEqual((read('config/doctypes/sales-invoice.yaml')['fields'] as unknown[])[2], {
      fieldname: 'items',
      type: 'table',
      doctype: 'Sales Invoice Item',
      label: 'Items',
      rows: {
        table: `${database}.tabSales Invoice Item`,
        parent: ['parent'],
        key: ['name'],
        order: ['idx'],
        only: { parenttype: 'Sales Invoice', parentfield: 'items' },
      },
    })
    const roles = (read('config/roles.yaml')['roles'] as { name: string }[]).map(({ name }) => name)
    assert.ok(
      ['Sales User', 'Sales Manager'].every((one) => roles.includes(one)) && !roles.includes('Stock User'),
    )
    const { faults } = await readWholeSite(site)
    assert.deepEqual(faults.map(faultText), [])
    // Drafted again, nothing is new, and what was edited stays.
    const edited = readFileSync(join(site, 'config/doctypes/customer.yaml'), 'utf8') + '# ours\n'
    writeFileSync(join(site, 'config/doctypes/customer.yaml'), edited)
    const again = await draftFrom(folders, 'erp', ['tabCustomer', 'tabSales Invoice'], true)
    assert.deepEqual(
      again.doctypes.map(({ state }) => state),
      ['same', 'same', 'same'],
    )
    assert.equal(readFileSync(join(site, 'config/doctypes/customer.yaml'), 'utf8'), edited)
  })
})
