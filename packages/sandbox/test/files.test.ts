import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { AppError } from '#leaf/errors.ts'
import { type FileContent, type FilePart, Files } from '#sandbox/files/files.ts'
import { allGone, caller, descendants, isolation, isolations, noSandbox, settings } from './machine.ts'
import { bomb, docx, pdf, pptx, xlsx, zip } from './sample-files.ts'

const all: FilePart = {
  firstPage: 1,
  lastPage: 50,
  textOffset: 0,
  textLimit: 10_000,
  rowOffset: 0,
  rowLimit: 100,
  maxBytes: 250_000,
}
const files = new Files(isolation, settings.files)
after(() => files.close())

function read(name: string, content: Buffer | string, part: Partial<FilePart> = {}): Promise<FileContent> {
  return files.read(name, Buffer.from(content), { ...all, ...part }, caller())
}

describe('reading files', () => {
  it('reads text in the encodings that occur', async () => {
    const texts: [string, Buffer][] = [
      ['UTF-8', Buffer.from('Grüße')],
      ['UTF-8 with mark', Buffer.from('\uFEFFGrüße')],
      ['UTF-16', Buffer.from('\uFEFFGrüße', 'utf16le')],
      ['Windows-1252', Buffer.from('Grüße', 'latin1')],
    ]
    for (const [name, bytes] of texts)
      assert.equal((await read('a.txt', bytes)).pages[0]?.text, 'Grüße', name)
  })

  it('keeps what a spreadsheet says: lengths of time, formulas nobody computed, what is hidden', async () => {
    const { tables } = await read('hours.xlsx', readFileSync(join(import.meta.dirname, 'made/hours.xlsx')))
    assert.deepEqual(tables[0]?.rows, [
      ['duration', '30:05:00'],
      ['time', '13:45:00'],
      ['date', '2026-01-05'],
      ['formula', '=1+1'],
    ])
    assert.deepEqual(
      tables.map(({ name }) => name),
      ['Hours', 'Secret (hidden)'],
    )
  })

  it('gives all rows of the sheet that is named, else of the first that is not hidden, each with its number', async () => {
    const bytes = readFileSync(join(import.meta.dirname, 'made/hours.xlsx'))
    const first = await files.readSheet('hours.xlsx', bytes, undefined, caller())
    assert.deepEqual(
      [first.sheet, first.sheets, first.count],
      ['Hours', ['Hours', 'Secret'], first.rows.length],
    )
    assert.deepEqual(first.rows.at(-1), [
      first.count,
      ['formula', { fault: 'is a formula that nobody has computed yet' }],
    ])
    assert.equal((await files.readSheet('hours.xlsx', bytes, 'Secret', caller())).sheet, 'Secret')
    await assert.rejects(
      files.readSheet('hours.xlsx', bytes, 'None', caller()),
      /has no sheet named "None"; its sheets are Hours, Secret/,
    )
    await assert.rejects(
      files.readSheet('a.xlsx', Buffer.from('a,b'), undefined, caller()),
      /is not an Excel file/,
    )
  })

  it('keeps the columns of a table whose cells span several, and what stands above and below the page', async () => {
    const { tables, pages } = await read(
      'spans.docx',
      readFileSync(join(import.meta.dirname, 'made/spans.docx')),
    )
    assert.deepEqual(tables[0]?.columns, ['r0c0\nr0c1', 'column_2', 'r0c2'])
    assert.deepEqual(tables[0]?.rows, [['r1c0', 'r1c1', 'r1c2']])
    const text = pages.map((page) => page.text).join('\n')
    assert.match(text, /Header\d*\n\nThe head/)
    assert.match(text, /Footer\d*\n\nThe foot/)
  })

  it('loses no digit of JSON and no name of CSV', async () => {
    const json = '[{"id": 12345678901234567890, "say": "12345678901234567890 \\" 1", "small": -1.5e3}]'
    assert.deepEqual((await read('a.json', json)).tables[0]?.rows, [
      ['12345678901234567890', '12345678901234567890 " 1', -1500],
    ])
    const csv = (await read('a.csv', 'a,a,,a\n-0,0,1,2\n')).tables[0]
    assert.deepEqual(csv?.columns, ['a', 'a_2', 'column_3', 'a_3'])
    assert.deepEqual(csv?.rows, [['-0', 0, 1, 2]])
  })

  it('reads CSV with any usual separator, numbers as numbers, codes as they are', async () => {
    for (const mark of [',', ';', '\t', '|']) {
      const { kind, tables } = await read(
        'a.csv',
        `name${mark}qty${mark}code\n"A ""x"""${mark}1.5${mark}007\n\nB${mark}${mark}12345678901234567890\n`,
      )
      assert.equal(kind, 'csv')
      assert.deepEqual(tables, [
        {
          name: 'csv',
          columns: ['name', 'qty', 'code'],
          rows: [
            ['A "x"', 1.5, '007'],
            ['B', null, '12345678901234567890'],
          ],
          row_count: 2,
        },
      ])
    }
  })

  it('reads JSON, a list of objects as a table too', async () => {
    const { kind, pages, tables } = await read('a.json', '[{"a":1},{"a":2,"b":{"c":3},"__proto__":5}]')
    assert.equal(kind, 'json')
    assert.match(pages[0]!.text, /"c": 3/)
    assert.deepEqual(tables[0]?.rows.slice(0, 2), [
      [1, null, null],
      [2, { c: 3 }, 5],
    ])
    await assert.rejects(read('a.json', '{"a":'), {
      code: 'invalid',
      message: /^the file is not readable as JSON/,
    })
  })

  it('reads Word: headings, paragraphs, tabs, tables', async () => {
    const { kind, pages, tables } = await read('a.docx', docx())
    assert.equal(kind, 'docx')
    assert.equal(pages[0]?.text, '# Offer\nDear & <all>,\tyours\nItem | Price\nBolt | 1.50\nBye\n')
    assert.deepEqual(tables, [
      { name: 'table 1', columns: ['Item', 'Price'], rows: [['Bolt', '1.50']], row_count: 1 },
    ])
  })

  it('reads PowerPoint: slides in their order, with notes', async () => {
    const { kind, pages } = await read('a.pptx', pptx())
    assert.equal(kind, 'pptx')
    assert.deepEqual(pages, [
      { page: 1, text: 'First' },
      { page: 2, text: 'Second\n\nNotes: say hello' },
    ])
  })

  it('reads Excel: sheets, shared and inline strings, numbers, dates, truth, gaps', async () => {
    const { kind, tables } = await read('a.xlsx', xlsx())
    assert.equal(kind, 'xlsx')
    assert.deepEqual(tables, [
      {
        name: 'Data',
        columns: ['name', 'day', 'paid'],
        rows: [
          ['Bolt', '2026-01-31', true],
          ['inline', null, false],
          [null, '2026-01-31T12:00:00', null],
        ],
        row_count: 3,
      },
    ])
  })

  it('reads PDF: pages and tables', async () => {
    const {
      kind,
      pages,
      page_count: count,
      tables,
    } = await read(
      'a.pdf',
      pdf([['Hello page one'], ['Item', 'Qty'], ['Bolt', '3'], ['Nut', '4']], [['Second page']]),
    )
    assert.equal(kind, 'pdf')
    assert.equal(count, 2)
    assert.deepEqual(pages, [
      { page: 1, text: 'Hello page one\nItem\tQty\nBolt\t3\nNut\t4' },
      { page: 2, text: 'Second page' },
    ])
    assert.deepEqual(tables, [
      {
        name: 'table 1',
        page: 1,
        columns: ['Item', 'Qty'],
        rows: [
          ['Bolt', '3'],
          ['Nut', '4'],
        ],
        row_count: 2,
      },
    ])
  })

  it('goes by what a file is, not by what it is called', async () => {
    assert.equal((await read('a.csv', docx())).kind, 'docx')
    assert.equal((await read('a.docx', 'plain')).kind, 'txt')
    assert.equal((await read('a.pdf', Buffer.from('\u0089PNG\r\n\u001a\n', 'latin1'))).kind, 'image')
  })

  it('gives a part of a file at a time', async () => {
    const text = await read('a.txt', 'abcdefghij', { textOffset: 3, textLimit: 4 })
    assert.deepEqual([text.pages, text.text_length], [[{ page: 1, text: 'defg' }], 10])
    const csv = await read('a.csv', `n\n${Array.from({ length: 50 }, (_, n) => n).join('\n')}`, {
      rowOffset: 10,
      rowLimit: 2,
    })
    assert.deepEqual([csv.tables[0]?.rows, csv.tables[0]?.row_count], [[[10], [11]], 50])
    const pages = await read('a.pdf', pdf([['one']], [['two']], [['three']]), { firstPage: 2, lastPage: 2 })
    assert.deepEqual([pages.pages, pages.page_count], [[{ page: 2, text: 'two' }], 3])
  })

  it('stops when its caller leaves', async () => {
    const controller = new AbortController()
    controller.abort()
    await assert.rejects(
      files.read('a.txt', Buffer.from('x'), all, { user: 'a', signal: controller.signal }),
      {
        message: 'the call was cancelled',
      },
    )
  })

  it('reads images by the command that is set, which sees nothing else', async () => {
    const reader = (...command: string[]) => new Files(isolation, { ...settings.files, ocr_command: command })
    assert.equal(await reader('/bin/cat').readImage(Buffer.from(' the text\n'), 'de', caller()), 'the text')
    assert.equal(
      await reader('/bin/echo', 'lang:{language}').readImage(Buffer.alloc(9), 'de', caller()),
      'lang:de',
    )
    if (isolation.kind === 'bubblewrap')
      await assert.rejects(reader('/bin/cat', '/etc/passwd').readImage(Buffer.alloc(1), 'de', caller()), {
        message: 'the OCR command ended with code 1',
      })
    await assert.rejects(files.readImage(Buffer.alloc(1), 'en', caller()), {
      code: 'unavailable',
      message: /no OCR command is set/,
    })
  })
})

const laughs = `<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]><w:document><w:body><w:p><w:r><w:t>&c;</w:t></w:r></w:p></w:body></w:document>`
const outside = `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><w:document><w:body><w:p><w:r><w:t>&f;</w:t></w:r></w:p></w:body></w:document>`

describe('hostile files', () => {
  const cases: [name: string, file: string, content: () => Buffer, message: RegExp][] = [
    [
      'a zip bomb',
      'a.docx',
      () => zip({ 'word/document.xml': Buffer.alloc(150_000_000, 32) }),
      /packed more tightly/,
    ],
    [
      'an archive that unpacks to too much',
      'a.docx',
      () => zip(Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`p${n}`, Buffer.alloc(9_900_000)]))),
      /unpacks to more than/,
    ],
    [
      'too many parts',
      'a.docx',
      () => zip(Object.fromEntries(Array.from({ length: 10_001 }, (_, n) => [`p${n}`, '']))),
      /more than 10000 parts/,
    ],
    [
      'a path upwards',
      'a.docx',
      () => zip({ '../../../tmp/evil': 'x', 'word/document.xml': '<a/>' }),
      /not a readable archive: invalid relative path/,
    ],
    [
      'an absolute path',
      'a.docx',
      () => zip({ '/tmp/evil': 'x', 'word/document.xml': '<a/>' }),
      /not a readable archive: absolute path/,
    ],
    [
      'a path with backslashes',
      'a.docx',
      () => zip({ '..\\evil': 'x', 'word/document.xml': '<a/>' }),
      /not a readable archive: invalid characters/,
    ],
    [
      'multiplying entities',
      'a.docx',
      () => zip({ 'word/document.xml': laughs }),
      /declares a document type/,
    ],
    [
      'an entity that is a file',
      'a.docx',
      () => zip({ 'word/document.xml': outside }),
      /declares a document type/,
    ],
    ['unknown entities', 'a.docx', () => zip({ 'word/document.xml': '<a>&nope;</a>' }), /not well-formed/],
    ['deep elements', 'a.docx', () => zip({ 'word/document.xml': '<a>'.repeat(100_000) }), /deeper than 256/],
    ['broken XML', 'a.docx', () => zip({ 'word/document.xml': '<a><b></a>' }), /not well-formed/],
    [
      'an archive of something else',
      'a.docx',
      () => zip({ 'x.txt': 'x' }),
      /not a Word, Excel or PowerPoint file/,
    ],
    ['half an archive', 'a.docx', () => docx().subarray(0, 300), /not a readable archive/],
    ['an old Office file', 'a.xls', () => Buffer.from('d0cf11e0a1b11ae1', 'hex'), /before 2007/],
    ['something binary', 'a.txt', () => Buffer.from([1, 2, 0, 3]), /neither text nor/],
    ['a broken PDF', 'a.pdf', () => Buffer.from('%PDF-1.7 nothing'), /not a readable PDF/],
    [
      'cells far to the right',
      'a.xlsx',
      () => xlsx('<row r="1"><c r="ZZZ1"><v>1</v></c></row>'),
      /beyond the last column/,
    ],
  ]
  for (const [name, file, content, message] of cases)
    it(`refuses ${name}`, async () => {
      await assert.rejects(read(file, content()), (error) => {
        assert.ok(error instanceof AppError && error.code === 'invalid', String(error))
        assert.match(error.message, message)
        return true
      })
    })

  it('ends a file that takes too long, and reads the next', async () => {
    const short = new Files(isolation, { ...settings.files, timeout_seconds: 1 })
    try {
      const slow = Buffer.from(`a${','.repeat(400)}\n`.repeat(60_000))
      await assert.rejects(short.read('a.csv', slow, all, caller()), { code: 'invalid' })
      assert.equal((await short.read('a.txt', Buffer.from('x'), all, caller())).pages[0]?.text, 'x')
    } finally {
      await short.close()
    }
  })

  it('ends a PDF whose compressed page is very large, and reads the next', async () => {
    const short = new Files(isolation, { ...settings.files, timeout_seconds: 10 })
    try {
      await assert.rejects(short.read('bomb.pdf', bomb(), all, caller()), { code: 'invalid' })
      assert.equal((await short.read('a.pdf', pdf([['one']]), all, caller())).pages[0]?.text, 'one')
    } finally {
      await short.close()
    }
  })

  it('refuses what is too large before anything reads it', async () => {
    const small = new Files(isolation, { ...settings.files, max_bytes: 10 })
    await assert.rejects(small.read('a.txt', Buffer.alloc(11), all, caller()), {
      code: 'invalid',
      message: 'the file is larger than 10 bytes',
    })
    await small.close()
  })

  for (const way of isolations)
    it(`leaves no file and no process behind, isolation ${way.kind}`, async () => {
      const folder = mkdtempSync(join(tmpdir(), 'files-'))
      writeFileSync(join(folder, 'here'), '')
      const own = new Files(way, settings.files)
      await own.read('../../x.docx', docx(), all, caller())
      await own.close()
      assert.deepEqual(readdirSync(folder), ['here'])
      assert.ok(!existsSync('/tmp/evil'))
      rmSync(folder, { recursive: true })
      if (way === noSandbox) {
        await files.close()
        assert.ok(await allGone(), `still there: ${descendants().join(', ')}`)
      }
    })
})
