/** Files of rows become documents: what is read of them, what is refused where, and what is kept. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { AppError } from '#leaf/errors.ts'
import { defaultSandboxSettings } from '#sandbox/settings.ts'
import { importFile, type FileImport, type ImportReport } from '../../src/documents/importing/import-file.ts'
import { collectionFor } from '../../src/documents/documents.ts'
import { importMark, importRows, type ImportBatch } from '../../src/documents/importing/import-rows.ts'
import { importTarget } from '../../src/documents/importing/import-target.ts'
import { openSource } from '#rows/open-source.ts'
import { type Principal, systemPrincipal } from '../../src/core/principal.ts'
import { xlsx } from '../../packages/sandbox/test/sample-files.ts'
import { type Company, openCompany, siteOf, someone } from './trading-company.ts'

const settings = defaultSandboxSettings().files
const operator = systemPrincipal('test')
const clerk = someone('clerk@example.com', 'Clerk')
const guest = someone('guest@example.com', 'Guest')

const site = siteOf({
  'config/doctypes/region.yaml': `
doctype: Region
module: Geo
naming: { rule: prompt }
fields:
  - { fieldname: code, type: text, unique: true }
permissions:
  - { role: Clerk, actions: [read] }
`,
  'config/doctypes/client.yaml': `
doctype: Client
module: Sales
naming: { rule: series, series: "CL-####" }
fields:
  - { fieldname: title, type: text, required: true }
  - { fieldname: note, type: long_text }
  - { fieldname: erp_id, label: ERP number, type: integer, unique: true }
  - { fieldname: region, type: link, doctype: Region }
  - { fieldname: parent_client, type: link, doctype: Client }
  - { fieldname: active, type: check }
  - { fieldname: since, type: date }
  - { fieldname: seen_at, type: datetime }
  - { fieldname: amount, type: currency }
  - { fieldname: secret, type: text, level: 3 }
  - { fieldname: doubled, type: currency, computed: "amount * 2" }
  - { fieldname: parts, type: table, doctype: Part }
validations:
  - { rule: "amount = null or amount < 1000000", message: amount is too large }
permissions:
  - { role: Clerk, actions: [read, write, create], when: "doc.title != 'Hidden'" }
  - { role: Guest, actions: [read] }
`,
  'config/doctypes/part.yaml': `
doctype: Part
module: Sales
child: true
fields:
  - { fieldname: label, type: text, required: true }
`,
})

interface Office extends Company {
  readonly folder: string
  run(name: string, content: string | Buffer, options?: Partial<Run>): Promise<ImportReport>
  all(): Promise<readonly Readonly<Record<string, unknown>>[]>
}

type Run = Omit<FileImport, 'path'> & { readonly principal: Principal; readonly keepsOrigin: boolean }

async function openOffice(t: TestContext): Promise<Office> {
  const company = await openCompany(t, { files: site, seeds: false })
  const folder = await mkdtemp(join(tmpdir(), 'import-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const { documents } = company
  const client = documents.platform.doctypes.get('Client')!
  return {
    ...company,
    folder,
    all: async () => await collectionFor(documents, client).find(),
    run: async (name, content, { principal = operator, keepsOrigin = false, ...rest } = {}) => {
      const path = join(folder, name)
      await writeFile(path, content)
      const asked = {
        path,
        doctype: 'Client',
        dryRun: false,
        map: {},
        source: {},
        again: false,
        settings,
        ...rest,
      }
      const isUser = (user: string): boolean => user === clerk.user
      return await importFile({
        ...asked,
        door: {
          target: async () => importTarget(documents, principal, 'Client', keepsOrigin),
          mark: () => Promise.resolve(null),
          rows: ({ key, dry_run: dryRun, ...batch }) =>
            importRows(documents, principal, 'Client', batch, { key, dryRun, keepsOrigin, isUser }),
        },
        planned: () => undefined,
        moved: () => undefined,
      })
    },
  }
}

function code(wanted: AppError['code'], words: RegExp) {
  return (error: unknown) => error instanceof AppError && error.code === wanted && words.test(error.message)
}

function without(documents: readonly Readonly<Record<string, unknown>>[], ...names: string[]) {
  return documents.map((one) =>
    Object.fromEntries(Object.entries(one).filter(([name]) => !names.includes(name))),
  )
}

describe('an import', () => {
  it('reads CSV as PostgreSQL writes it', async (t) => {
    const office = await openOffice(t)
    const text = [
      'title,note,erp_id,active,since,seen_at,amount,parts',
      '"Miller, ""M"" & Sons",,7,t,2026-01-31,2026-01-31 14:30:05.123456+00,1234.5,"[{""label"": ""a""}]"',
      'B,"two\nlines",,f,2026-02-01 00:00:00,2026-01-31 14:30:05+0530,,',
    ].join('\n')
    const { created, faults } = await office.run('a.csv', `${text}\n`)
    assert.deepEqual([created, faults], [2, []])
    const [first, second] = await office.all()
    assert.equal(second!['note'], 'two\nlines')
    assert.equal(first!['title'], 'Miller, "M" & Sons')
    assert.deepEqual(
      [
        first!['erp_id'],
        first!['active'],
        first!['since'],
        first!['seen_at'],
        first!['amount'],
        first!['doubled'],
      ],
      [7, true, '2026-01-31', '2026-01-31T14:30:05.123Z', 1234.5, 2469],
    )
    assert.deepEqual(without(first!['parts'] as [], 'name'), [{ label: 'a', idx: 1 }])
    assert.deepEqual(
      [second!['erp_id'], second!['active'], second!['since'], second!['seen_at']],
      [null, false, '2026-02-01', '2026-01-31T09:00:05.000Z'],
    )
  })

  it('reads CSV as Excel writes it in Europe and in America, in the encodings that it knows', async (t) => {
    const office = await openOffice(t)
    const german = 'sep=;\r\nTitle;ERP-Number;Active;Since;Amount\r\nMüller;1;WAHR;31.01.2026;1.234,50 €\r\n'
    const { form } = await office.run('de.csv', Buffer.from(german.replace('€', ''), 'latin1'))
    assert.deepEqual(form, { format: 'csv', encoding: 'windows-1252', delimiter: ';', decimal: ',' })
    const american = 'title\terp_id\tactive\tsince\tamount\nSmith\t2\tTRUE\t1/31/2026\t"$1,234.50"\n'
    const said = await office.run('us.txt', Buffer.from(`\uFEFF${american}`, 'utf16le'))
    assert.deepEqual(said.form, { format: 'csv', encoding: 'utf-16le', delimiter: 'tab', dates: 'mdy' })
    const seen = (await office.all()).map(({ title, erp_id: id, active, since, amount }) => [
      title,
      id,
      active,
      since,
      amount,
    ])
    assert.deepEqual(seen, [
      ['Müller', 1, true, '2026-01-31', 1234.5],
      ['Smith', 2, true, '2026-01-31', 1234.5],
    ])
  })

  it('asks about dates that can be read in two ways, and changes nothing until it is told', async (t) => {
    const office = await openOffice(t)
    const text = 'title,since\nA,03/04/2026\n'
    await assert.rejects(office.run('a.csv', text), code('invalid', /03\/04\/2026 can be read in two ways/))
    assert.deepEqual(await office.all(), [])
    await office.run('a.csv', text, { dates: 'dmy' })
    assert.equal((await office.all())[0]!['since'], '2026-04-03')
  })

  it('reads JSON lines, with the rows of tables', async (t) => {
    const office = await openOffice(t)
    const lines = [
      '{"title": "A", "parts": [{"label": "x"}, {"label": "y"}]}',
      '',
      '{"title": "B", "erp_id": 12345678901234567}',
      '[1]',
      '{"title": "C", "amount": 2, "parts": [{}]}',
    ]
    const { created, faults, faults_file: file } = await office.run('a.jsonl', lines.join('\n'))
    assert.equal(created, 1)
    assert.deepEqual(
      faults.map((one) => one.replace(office.folder, '')),
      [
        '/a.jsonl:3:1: has a number of more than 15 digits; write it as a text, in quotes',
        '/a.jsonl:4:1: must be an object, one in each line',
        '/a.jsonl:5:29: parts[0].label is required',
      ],
    )
    const told = (await readFile(file!, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object)
    assert.deepEqual(told[2], {
      title: 'C',
      amount: 2,
      parts: [{}],
      fault_line: 5,
      fault_column: 29,
      fault: 'parts[0].label is required',
    })
  })

  it('reads a sheet of Excel, and refuses cells without a value to rely on', async (t) => {
    const office = await openOffice(t)
    const text = (at: string, value: string): string =>
      `<c r="${at}" t="inlineStr"><is><t>${value}</t></is></c>`
    const rows =
      `<row r="2">${text('A2', 'Title')}${text('B2', 'Since')}${text('C2', 'Amount')}</row>` +
      `<row r="3">${text('A3', 'A')}<c r="B3" s="1"><v>46053</v></c><c r="C3"><v>1.5</v></c></row>` +
      `<row r="7">${text('A7', 'B')}<c r="C7" t="e"><v>#N/A</v></c></row>` +
      `<row r="8">${text('A8', 'C')}<c r="C8"><f>A1*2</f></c></row>`
    const report = await office.run('a.xlsx', xlsx(rows))
    assert.deepEqual(
      report.faults.map((one) => one.replace(office.folder, '')),
      [
        '/a.xlsx:7:3: amount: is the error #N/A',
        '/a.xlsx:8:3: amount: is a formula that nobody has computed yet',
      ],
    )
    const seen = (await office.all()).map(({ title, since, amount }) => [title, since, amount])
    assert.deepEqual(seen, [['A', '2026-01-31', 1.5]])
  })

  it('tells the line and column of every fault, leaves these rows out, and writes them into a file that can be mended', async (t) => {
    const office = await openOffice(t)
    const text = [
      'note,title,amount,since',
      ',A,1,2026-01-01',
      '"b\nb",B,x,2026-13-01',
      ',C,2000000,',
      ',,3,',
      ',D,4,2026-01-01,more',
      ",'=E,-5,",
    ].join('\n')
    const report = await office.run('a.csv', text)
    assert.deepEqual([report.created, report.faulty], [2, 4])
    assert.deepEqual(
      report.faults.map((one) => one.replace(office.folder, '').replace(/, or today.*(?=, not)/, '')),
      [
        '/a.csv:4:6: amount: must be a number, not "x"',
        '/a.csv:4:8: since: must be a date such as 2026-03-31, not "2026-13-01"',
        '/a.csv:5:4: amount is too large',
        '/a.csv:6:2: title is required',
        '/a.csv:7:17: has 5 cells, but there are 4 columns',
      ],
    )
    assert.deepEqual(
      (await office.all()).map(({ title }) => title),
      ['A', '=E'],
    )
    const mended = (await readFile(report.faults_file!, 'utf8'))
      .replace(',x,2026-13-01', ',2,2026-12-01')
      .replace('2000000', '2')
      .replace(/^6,2,(.*?),,,3/m, '6,2,$1,,F,3')
      .replace(/^7.*\n/m, '')
    const second = await office.run('b.csv', mended)
    assert.deepEqual([second.created, second.faulty, second.faults_file], [3, 0, null])
    await assert.rejects(readFile(join(office.folder, 'b.csv.faults.csv')), /ENOENT/)
  })

  it('refuses a file that is not CSV, with its line, before anything is made', async (t) => {
    const office = await openOffice(t)
    await assert.rejects(office.run('a.csv', 'title\nA\n"B\n'), code('invalid', /a\.csv:3: Quote Not Closed/))
    await assert.rejects(
      office.run('a.csv', 'title,title\n'),
      code('invalid', /two columns are named "title"/),
    )
    await assert.rejects(office.run('a.csv', ''), code('invalid', /the file is empty/))
    assert.deepEqual(await office.all(), [])
    assert.deepEqual(office.events, [])
  })

  it('checks everything in a dry run, keeps nothing, audits nothing, and knows what the file itself would have made', async (t) => {
    const office = await openOffice(t)
    const text = 'name,title,erp_id,parent_client\nCL-1,A,1,\nCL-2,B,2,CL-1\nCL-3,C,2,CL-9\n'
    const report = await office.run('a.csv', text, { dryRun: true, keepsOrigin: true })
    assert.deepEqual([report.created, report.faulty], [2, 1])
    assert.match(report.faults[0]!, /:4:8: erp_id: 2 stands in line 3 already/)
    assert.deepEqual(await office.all(), [])
    assert.deepEqual(office.events, [])
    assert.equal(await importMark(office.documents, report.run), undefined)
  })

  it('changes what has the key and creates the rest, each by the checks of its own', async (t) => {
    const office = await openOffice(t)
    await office.run('a.csv', 'erp_id,title,amount\n1,A,1\n2,B,2\n')
    office.events.length = 0
    const report = await office.run('b.csv', 'erp_id,title,amount\n2,B,2\n1,A,5\n3,C,3\n1,A,6\n', {
      key: 'erp_id',
    })
    assert.deepEqual([report.created, report.updated, report.unchanged, report.faults.length], [1, 1, 1, 1])
    assert.match(report.faults[0]!, /:5:1: erp_id: 1 stands in line 3 already/)
    assert.deepEqual(
      (await office.all()).map(({ id, amount }) => [id, amount]),
      [
        ['CL-0001', 5],
        ['CL-0002', 2],
        ['CL-0003', 3],
      ],
    )
    assert.deepEqual(
      office.events.map(({ type, target }) => [type, target]),
      [
        ['document.update', 'Client/CL-0001'],
        ['document.create', 'Client/CL-0003'],
        ['document.import', 'Client'],
      ],
    )
    await assert.rejects(
      office.run('b.csv', 'title\nA\n', { key: 'title' }),
      code('invalid', /Client\.title needs "unique: true"/),
    )
  })

  it('finds what a link leads to by a unique field of it', async (t) => {
    const office = await openOffice(t)
    const regions = collectionFor(office.documents, office.platform.doctypes.get('Region')!)
    const made = {
      owner: 'x',
      creation: '2026-01-01T00:00:00.000Z',
      modified: '2026-01-01T00:00:00.000Z',
      modified_by: 'x',
      docstatus: 0,
    } as const
    await regions.put({ ...made, id: 'North', code: 'N' })
    const report = await office.run('a.csv', 'title,area\nA,N\nB,S\n', {
      map: { area: 'region.code' },
      principal: clerk,
    })
    assert.deepEqual(
      (await office.all()).map(({ region }) => region),
      ['North'],
    )
    assert.match(report.faults[0]!, /:3:3: region\.code: there is no document with "S" that you may read/)
  })

  it('is refused to who may not create, and fills no field that its user may not set', async (t) => {
    const office = await openOffice(t)
    await assert.rejects(
      office.run('a.csv', 'title\nA\n', { principal: guest }),
      code('forbidden', /create Client/),
    )
    const batch = { run: '0'.repeat(32), from: 0, next: 1, refused: 0, last: true }
    const row = { index: 0, line: 2, data: { title: 'A', secret: 'x' } }
    const plain = { dryRun: false, keepsOrigin: false, isUser: () => true }
    const { faults } = await importRows(office.documents, clerk, 'Client', { ...batch, rows: [row] }, plain)
    assert.match(faults[0]!.problems[0]!, /unknown field "secret"/)
    await assert.rejects(
      importRows(office.documents, guest, 'Client', { ...batch, from: 1, next: 2, rows: [] }, plain),
      code('forbidden', /create Client/),
    )
    const report = await office.run('a.csv', 'title,secret,doubled\nA,x,2\n', { principal: clerk })
    assert.deepEqual(
      report.columns.map(({ field, because }) => [field, because]),
      [
        ['title', 'its name'],
        [null, 'no field is named so'],
        [null, 'doubled: it is calculated'],
      ],
    )
    assert.equal((await office.all())[0]!['secret'], null)
  })

  it('does not change what its user may not read, nor tells that it is there', async (t) => {
    const office = await openOffice(t)
    await office.run('a.csv', 'title,erp_id\nHidden,1\n')
    const [before] = await office.all()
    const { faults } = await office.run('b.csv', 'title,erp_id\nMine,1\n', {
      principal: clerk,
      key: 'erp_id',
    })
    assert.match(faults[0]!, /erp_id: 1 cannot be used, it must be unique/)
    assert.ok(!faults[0]!.includes(String(before!['id'])))
    assert.deepEqual(await office.all(), [before])
  })

  it('keeps names, owners and times only where the site allows it, and only those that can be', async (t) => {
    const office = await openOffice(t)
    const text = [
      'name,owner,creation,title',
      `OLD-1,${clerk.user},2019-05-06T07:08:09Z,A`,
      'OLD-2,stranger@example.com,2019-05-06,B',
      'OLD-3,,2099-01-01,C',
    ].join('\n')
    const refused = await office.run('a.csv', text)
    assert.deepEqual(
      refused.columns.map(({ field }) => field),
      [null, null, null, 'title'],
    )
    const rows = [{ index: 0, line: 2, data: { title: 'X' }, origin: { owner: clerk.user } }]
    const batch = { run: '1'.repeat(32), from: 0, next: 1, refused: 0, last: true, rows }
    const options = { dryRun: false, keepsOrigin: false, isUser: () => true }
    const { faults } = await importRows(office.documents, operator, 'Client', batch, options)
    assert.match(faults[0]!.problems[0]!, /owner: not kept here/)
    const kept = await office.run('a.csv', text, { keepsOrigin: true })
    assert.deepEqual(
      kept.faults.map((one) => one.replace(/^.*csv:/, '')),
      [
        '3:7: owner: "stranger@example.com" is no user of config/users.yaml',
        '4:8: creation: "2099-01-01" is still to come',
      ],
    )
    const old = (await office.all()).find(({ id }) => id === 'OLD-1')!
    assert.deepEqual([old['owner'], old['creation']], [clerk.user, '2019-05-06T07:08:09.000Z'])
  })

  it('uses up no number of a series for a row with a fault', async (t) => {
    const office = await openOffice(t)
    await office.run('a.csv', 'title,amount\nA,1\nHidden,2\nB,3\n', { principal: clerk })
    assert.deepEqual(
      (await office.all()).map(({ id, title }) => [id, title]),
      [
        ['CL-0001', 'A'],
        ['CL-0002', 'B'],
      ],
    )
  })

  it('gives the answer of a batch again without doing it again, and refuses one out of order', async (t) => {
    const office = await openOffice(t)
    const { documents, events } = office
    const options = { dryRun: false, keepsOrigin: false, isUser: () => true }
    const run = 'a'.repeat(32)
    const batch = (from: number): ImportBatch => ({
      run,
      from,
      next: from + 2,
      refused: 0,
      last: false,
      rows: [
        { index: from, line: from + 2, data: { title: `T${from}` } },
        { index: from + 1, line: from + 3, data: {} },
      ],
    })
    const first = await importRows(documents, operator, 'Client', batch(0), options)
    assert.deepEqual(first.faults, [{ index: 1, problems: ['title is required'] }])
    const count = events.length
    assert.deepEqual(await importRows(documents, operator, 'Client', batch(0), options), first)
    assert.equal(events.length, count)
    await assert.rejects(
      importRows(documents, operator, 'Client', batch(4), options),
      code('conflict', /by somebody else/),
    )
    assert.equal((await office.all()).length, 1)
    await importRows(documents, operator, 'Client', batch(2), options)
    assert.deepEqual((await importMark(documents, run))!.totals, { created: 2, updated: 0, unchanged: 0 })
  })

  it('names the column, field or file that nobody knows', async (t) => {
    const office = await openOffice(t)
    const none = join(office.folder, 'none.csv')
    await assert.rejects(openSource(none, {}, settings), code('not_found', /there is no file/))
    await assert.rejects(office.run('a.dat', 'x'), code('invalid', /say what it is with --format/))
    await assert.rejects(
      office.run('a.csv', 'title\nA\n', { map: { titel: 'title' } }),
      code('invalid', /unknown column "titel"; did you mean "title"/),
    )
    await assert.rejects(
      office.run('a.csv', 'x\nA\n', { map: { x: 'titel' } }),
      code('invalid', /unknown field "titel"; did you mean "title"/),
    )
    await assert.rejects(
      office.run('a.csv', 'x\nA\n', { map: { x: 'doubled' } }),
      code('invalid', /doubled: it is calculated/),
    )
    await assert.rejects(
      office.run('a.csv', 'title\nA\n', { source: { encoding: 'klingon' } }),
      code('invalid', /"klingon" is not known/),
    )
  })
})
