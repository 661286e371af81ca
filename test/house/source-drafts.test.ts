import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it, type TestContext } from 'node:test'
import { Client } from 'pg'
import { parse } from 'yaml'
import { initSite } from '../../src/house/new-site.ts'
import { addSource, draftFrom, writeKeysOf } from '../../src/house/source-drafts.ts'
import { readWholeSite } from '../../src/house/snapshot.ts'
import { faultText } from '#site/site-files.ts'
import { erp } from '../documents/erp.ts'
import { temporaryFolder } from '../helpers/daemon.ts'
import { noPostgres, suitePostgres } from '../helpers/postgres.ts'

describe('doctypes drafted from a database', { skip: noPostgres }, () => {
  const server = suitePostgres()
  before(async () => {
    await server.admin.query('CREATE ROLE reader LOGIN')
  })

  async function open(t: TestContext) {
    const url = new URL(await server.newDatabase())
    const owner = new Client({ connectionString: url.href })
    await owner.connect()
    t.after(() => owner.end())
    await owner.query(erp.replace('CREATE ROLE reader LOGIN;', ''))
    const site = join(temporaryFolder(t), 'office')
    initSite(site, 'minimal')
    const folders = { site, state: join(site, '../state') }
    const source = {
      type: 'postgres' as const,
      host: '127.0.0.1',
      port: Number(url.port),
      database: url.pathname.slice(1),
      user: 'reader',
    }
    const read = (file: string): string => readFileSync(join(site, file), 'utf8')
    return { owner, site, folders, source, read }
  }

  it('let no table name of theirs write a key of ours, such as who may read', async (t) => {
    const { folders, source, read, owner } = await open(t)
    const name = 't\npermissions: [{role: System Manager, actions: [read]}] #'
    await owner.query(`CREATE TABLE erp."${name}" (id int PRIMARY KEY, said text);
      GRANT SELECT ON ALL TABLES IN SCHEMA erp TO reader`)
    await addSource(folders, 'erp', source)
    const { doctypes } = await draftFrom(folders, 'erp', [], true)
    const { file } = doctypes.find(({ table }) => table === `erp.${name}`)!
    const document = parse(read(file)) as Record<string, unknown>
    assert.deepEqual(Object.keys(document), ['doctype', 'from', 'fields'])
  })

  it('give no field a name that is a word of expressions', async (t) => {
    const { folders, source, read, owner } = await open(t)
    await owner.query(`CREATE TABLE erp.words (id int PRIMARY KEY, "in" text, "or" text);
      GRANT SELECT ON ALL TABLES IN SCHEMA erp TO reader`)
    await addSource(folders, 'erp', source)
    const { doctypes } = await draftFrom(folders, 'erp', ['erp.words'], true)
    const { fields } = parse(read(doctypes[0]!.file)) as { fields: { fieldname: string }[] }
    assert.deepEqual(
      fields.map(({ fieldname }) => fieldname),
      ['words_in', 'words_or'],
    )
  })

  it('know the texts that a check allows, whatever its column is called', async (t) => {
    const { folders, source, read, owner } = await open(t)
    await owner.query(`CREATE TABLE erp.words (id int PRIMARY KEY, "a.b" varchar(9) CHECK ("a.b" IN ('x', 'it''s')),
      "q""" text CHECK ("q""" IN ('y', 'v')), other text CHECK (other IN ('z', 'w')));
      GRANT SELECT ON ALL TABLES IN SCHEMA erp TO reader`)
    await addSource(folders, 'erp', source)
    const { doctypes } = await draftFrom(folders, 'erp', ['erp.words'], true)
    const { fields } = parse(read(doctypes[0]!.file)) as { fields: { options?: string[] }[] }
    assert.deepEqual(
      fields.map(({ options }) => options),
      [
        ['x', "it's"],
        ['y', 'v'],
        ['z', 'w'],
      ],
    )
  })

  it('say what the catalogue tells, pass check, and open nothing to anybody', async (t) => {
    const { folders, source, read, site } = await open(t)
    assert.equal((await addSource(folders, 'erp', source)).tables, 5)
    assert.match(read('config/sources.yaml'), /erp:\n {4}type: postgres\n {4}host: 127\.0\.0\.1/)
    const { doctypes, left } = await draftFrom(folders, 'erp', [], true)
    assert.deepEqual(
      doctypes.map(({ doctype, state }) => `${doctype} ${state}`),
      ['Address new', 'Customer new', 'Invoice new', 'Staff new'],
    )
    assert.deepEqual(left, ['erp.jotting: has no key of texts, whole numbers or uuids that are never null'])
    assert.equal(
      read('config/doctypes/customer.yaml'),
      `# yaml-language-server: $schema=../../.schemas/doctype.json
# Drafted from the table erp.customer.
# Nobody may read these documents until a rule says so:
# permissions:
#   - { role: …, actions: [read, report] }
doctype: Customer
description: Whom we sell to.
title_field: customer_name
from:
  source: erp
  table: erp.customer
  key:
    - id
  standard:
    creation: created_at
  search:
    - customer_name
fields:
  - { fieldname: customer_name, type: text, column: name, required: true }
  - { fieldname: kind, type: select, options: [ company, person ], required: true }
  - { fieldname: country, type: text }
  - { fieldname: rep, type: link, doctype: Staff }
  - { fieldname: credit, type: currency, description: What they may owe. }
  - { fieldname: secret, type: text }
  - { fieldname: address_rows, type: table, doctype: Address, rows: { table: erp.address, parent: [ customer_id ], key: [ customer_id, line ] } }
`,
    )
    assert.match(
      read('config/doctypes/invoice.yaml'),
      /fieldname: state, type: select, options: \[ open, closed \]/,
    )
    assert.match(
      read('config/doctypes/invoice.yaml'),
      /fieldname: customer_id, type: link, doctype: Customer, required: true/,
    )
    const { faults, reading } = await readWholeSite(site)
    assert.deepEqual(faults.map(faultText), [])
    for (const { name, rules } of reading.platform.doctypes.values())
      if (['Customer', 'Invoice', 'Staff'].includes(name)) assert.deepEqual(rules, [])
  })

  it('show a difference when drafted again, get what they lack, and keep what was edited', async (t) => {
    const { folders, source, read, owner, site } = await open(t)
    await addSource(folders, 'erp', source)
    await draftFrom(folders, 'erp', ['customer'], true)
    assert.ok(existsSync(join(site, 'config/doctypes/address.yaml')), 'with its rows')
    assert.ok(!existsSync(join(site, 'config/doctypes/invoice.yaml')))
    const edited = read('config/doctypes/customer.yaml')
      .replaceAll('customer_name', 'legal_name')
      .replace('fields:', '# ours\nfields:')
    writeFileSync(join(site, 'config/doctypes/customer.yaml'), edited)
    const again = async (writes: boolean) => {
      const { doctypes } = await draftFrom(folders, 'erp', ['customer'], writes)
      const { state, added, gone } = doctypes.find(({ doctype }) => doctype === 'Customer')!
      return { state, added, gone }
    }
    assert.deepEqual(await again(true), { state: 'same', added: [], gone: [] })
    assert.equal(read('config/doctypes/customer.yaml'), edited)
    await owner.query('ALTER TABLE erp.customer ADD vat text; ALTER TABLE erp.customer DROP COLUMN country')
    assert.deepEqual(await again(false), { state: 'changed', added: ['vat'], gone: ['country'] })
    assert.equal(read('config/doctypes/customer.yaml'), edited, 'only shown')
    await again(true)
    const now = read('config/doctypes/customer.yaml')
    assert.match(now, /# ours/)
    assert.match(now, /fieldname: legal_name/)
    assert.match(now, /\{ fieldname: vat, type: text \}/)
    assert.match(now, /fieldname: country/, 'its author removes it')
  })

  it('leave out the table that keeps calls, whose statements are printed for its owner and run by nobody here', async (t) => {
    const { owner, folders, source, site, read } = await open(t)
    await assert.rejects(writeKeysOf(folders, 'erp'), /unknown source "erp"/)
    await addSource(folders, 'erp', source)
    await assert.rejects(
      writeKeysOf(folders, 'erp'),
      /has no write_keys .*: name a table there, such as public\./,
    )
    const file = 'config/sources.yaml'
    writeFileSync(join(site, file), `${read(file)}    write_keys: erp.write_keys\n`)
    const statements = await writeKeysOf(folders, 'erp')
    const tables = "SELECT 1 FROM pg_class WHERE relname = 'write_keys'"
    assert.equal((await owner.query(tables)).rowCount, 0)
    await owner.query(statements.join('\n'))
    assert.equal((await owner.query(tables)).rowCount, 1)
    const { doctypes } = await draftFrom(folders, 'erp', ['erp.*'], false)
    assert.deepEqual(
      doctypes.map(({ table }) => table).filter((one) => /keys|staff/.test(one)),
      ['erp.staff'],
    )
  })

  it('come of no database that is away, above row security or a state, and nothing is written then', async (t) => {
    const { folders, source, site, owner } = await open(t)
    await assert.rejects(
      addSource(folders, 'erp', { ...source, port: 1 }),
      /the database cannot be asked: .*ECONNREFUSED/,
    )
    await assert.rejects(
      addSource(folders, 'erp', { ...source, user: 'postgres' }),
      /"postgres" is a superuser or has BYPASSRLS/,
    )
    await assert.rejects(addSource(folders, 'Erp!', source), /cannot be the name of a source/)
    await owner.query(
      'CREATE SCHEMA assistant_core; GRANT USAGE ON SCHEMA assistant_core TO reader; CREATE TABLE assistant_core.document (id int)',
    )
    await assert.rejects(addSource(folders, 'erp', source), /the state of this service or of one like it/)
    assert.ok(!existsSync(join(site, 'config/sources.yaml')))
    await assert.rejects(draftFrom(folders, 'erp', [], true), /unknown source "erp"/)
  })
})
