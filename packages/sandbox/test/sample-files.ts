/** Files made in memory: office archives and PDFs as small as they can be. */
import { deflateRawSync, deflateSync } from 'node:zlib'
import { zipOf } from '#leaf/zip.ts'

/** A zip archive, its names written as they are given. */
export function zip(parts: Readonly<Record<string, string | Buffer>>): Buffer {
  return zipOf(parts, (bytes) => deflateRawSync(bytes))
}

export function docx(): Buffer {
  const p = (text: string, style = ''): string =>
    `<w:p>${style && `<w:pPr><w:pStyle w:val="${style}"/></w:pPr>`}<w:r>${text}</w:r></w:p>`
  const t = (text: string): string => `<w:t xml:space="preserve">${text}</w:t>`
  const cell = (text: string): string => `<w:tc>${p(t(text))}</w:tc>`
  return zip({
    '[Content_Types].xml': '<Types/>',
    'word/document.xml': `<?xml version="1.0" encoding="UTF-8"?><w:document xmlns:w="w"><w:body>${p(t('Offer'), 'Heading1')}${p(`${t('Dear &amp; &lt;all&gt;,')}<w:tab/>${t('yours')}`)}<w:tbl><w:tr>${cell('Item')}${cell('Price')}</w:tr><w:tr>${cell('Bolt')}${cell('1.50')}</w:tr></w:tbl>${p(t('Bye'))}</w:body></w:document>`,
  })
}

export function pptx(): Buffer {
  const slide = (text: string): string =>
    `<p:sld xmlns:a="a" xmlns:p="p"><a:p><a:r><a:t>${text}</a:t></a:r></a:p></p:sld>`
  const relations = (...targets: [string, string][]): string =>
    `<Relationships>${targets.map(([id, target]) => `<Relationship Id="${id}" Target="${target}"/>`).join('')}</Relationships>`
  return zip({
    'ppt/presentation.xml':
      '<p:presentation xmlns:p="p" xmlns:r="r"><p:sldIdLst><p:sldId r:id="r2"/><p:sldId r:id="r1"/></p:sldIdLst></p:presentation>',
    'ppt/_rels/presentation.xml.rels': relations(
      ['r1', 'slides/slide1.xml'],
      ['r2', '/ppt/slides/slide2.xml'],
    ),
    'ppt/slides/slide1.xml': slide('Second'),
    'ppt/slides/_rels/slide1.xml.rels': relations(['r1', '../notesSlides/notesSlide1.xml']),
    'ppt/notesSlides/notesSlide1.xml': slide('say hello'),
    'ppt/slides/slide2.xml': slide('First'),
  })
}

const dataRows =
  '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="C1" t="inlineStr"><is><t>paid</t></is></c></row>' +
  '<row r="2"><c r="A2" t="s"><v>2</v></c><c r="B2" s="1"><v>46053</v></c><c r="C2" t="b"><v>1</v></c></row>' +
  '<row r="3"><c r="A3" t="inlineStr"><is><t>inline</t></is></c><c r="C3" t="b"><v>0</v></c></row>' +
  '<row r="5"><c r="B5" s="2"><v>46053.5</v></c></row>'

export function xlsx(rows = dataRows): Buffer {
  return zip({
    'xl/workbook.xml': '<workbook xmlns:r="r"><sheets><sheet name="Data" r:id="r1"/></sheets></workbook>',
    'xl/_rels/workbook.xml.rels':
      '<Relationships><Relationship Id="r1" Target="worksheets/sheet1.xml"/></Relationships>',
    'xl/sharedStrings.xml':
      '<sst><si><t>name</t></si><si><r><t>d</t></r><r><t>ay</t></r><rPh><t>no</t></rPh></si><si><t>Bolt</t></si></sst>',
    'xl/styles.xml':
      '<styleSheet><numFmts><numFmt numFmtId="170" formatCode="yyyy\\-mm\\-dd hh:mm"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="170"/></cellXfs></styleSheet>',
    'xl/worksheets/sheet1.xml': `<worksheet><sheetData>${rows}</sheetData></worksheet>`,
  })
}

/** Pages of lines of cells, 150 points apart. */
export function pdf(...pages: string[][][]): Buffer {
  const objects: string[] = ['', '']
  const kids: number[] = []
  const font = '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>'
  for (const lines of pages) {
    const drawn = lines
      .flatMap((cells, row) =>
        cells.map((cell, column) => `BT /F1 12 Tf ${72 + column * 150} ${720 - row * 20} Td (${cell}) Tj ET`),
      )
      .join('\n')
    objects.push(`<< /Length ${drawn.length} >>\nstream\n${drawn}\nendstream`)
    objects.push(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 ${font} >> >> /Contents ${objects.length} 0 R >>`,
    )
    kids.push(objects.length)
  }
  objects[0] = '<< /Type /Catalog /Pages 2 0 R >>'
  objects[1] = `<< /Type /Pages /Kids [${kids.map((id) => `${id} 0 R`).join(' ')}] /Count ${kids.length} >>`
  let text = '%PDF-1.4\n'
  const offsets = objects.map((object, index) => {
    const at = text.length
    text += `${index + 1} 0 obj\n${object}\nendobj\n`
    return at
  })
  const start = text.length
  text += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${offsets.map((at) => `${String(at).padStart(10, '0')} 00000 n \n`).join('')}`
  text += `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${start}\n%%EOF\n`
  return Buffer.from(text, 'latin1')
}

/** A PDF of some kilobytes whose page says "x" more than ten million times. */
export function bomb(): Buffer {
  const said = deflateSync(deflateSync(Buffer.alloc(100_000_000, '(x) Tj ')))
  const filters = '/Filter [/FlateDecode /FlateDecode]'
  return Buffer.concat([
    Buffer.from(`%PDF-1.4
1 0 obj <</Type /Catalog /Pages 2 0 R>> endobj
2 0 obj <</Type /Pages /Kids [3 0 R] /Count 1>> endobj
3 0 obj <</Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources <</Font <</F 5 0 R>>>>>> endobj
5 0 obj <</Type /Font /Subtype /Type1 /BaseFont /Helvetica>> endobj
4 0 obj <</Length ${said.length} ${filters}>> stream
`),
    said,
    Buffer.from('\nendstream endobj\ntrailer <</Root 1 0 R>>\n'),
  ])
}
