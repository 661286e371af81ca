// @ts-check
/** Reads Word and PowerPoint files (ECMA-376): their text and tables, nothing that they link to. */
import { posix } from 'node:path'
import { maxColumns } from './collected.mjs'
import { parseXml } from './xml.mjs'

/** @typedef {import('./zip.mjs').Zip} Zip */
/** @typedef {import('./collected.mjs').Collected} Collected */

/** @param {Zip} zip @param {Collected} out */
export async function readDocx(zip, out) {
  out.page(await flowOf(zip, 'word/document.xml', out))
  const more = [...(await relationsOf(zip, 'word/document.xml')).values()].filter((part) =>
    /^word\/(header|footer)\d*\.xml$/.test(part),
  )
  for (const part of [...more, 'word/footnotes.xml', 'word/endnotes.xml']) {
    if (!zip.has(part)) continue
    const title = part.slice(5, 6).toUpperCase() + part.slice(6).replace(/\d*\.xml$/, '')
    const text = (await flowOf(zip, part, out)).trim()
    if (text !== '') out.page(`${title}\n\n${text}`)
  }
}

/** @param {Zip} zip @param {Collected} out */
export async function readPptx(zip, out) {
  const relations = await relationsOf(zip, 'ppt/presentation.xml')
  /** @type {string[]} */
  const slides = []
  await parseXml(await zip.read('ppt/presentation.xml'), {
    open: (name, attributes) => {
      const target = name === 'sldId' ? relations.get(attributes['r:id'] ?? '') : undefined
      if (target) slides.push(target)
    },
  })
  for (const slide of slides) {
    let text = (await flowOf(zip, slide, out)).trim()
    const notes = [...(await relationsOf(zip, slide)).values()].find((part) =>
      part.startsWith('ppt/notesSlides/'),
    )
    if (notes && zip.has(notes)) {
      const said = (await flowOf(zip, notes, out)).trim()
      if (said !== '') text += `\n\nNotes: ${said}`
    }
    out.page(text)
  }
}

/**
 * Reads the running text of a part, tables as lines of cells; each table is also collected.
 * @param {Zip} zip @param {string} part @param {Collected} out
 */
async function flowOf(zip, part, out) {
  let text = ''
  let inText = false
  let heading = 0
  let span = 1
  let paragraph = ''
  /** @type {{ rows: string[][], cell: string[] | undefined }[]} */
  const tables = []
  await parseXml(await zip.read(part), {
    open: (name, attributes) => {
      if (name === 't') inText = true
      else if (name === 'tab') paragraph += '\t'
      else if (name === 'br' || name === 'cr') paragraph += '\n'
      else if (name === 'pStyle') heading = Number(/^Heading(\d)$/i.exec(attributes['w:val'] ?? '')?.[1] ?? 0)
      else if (name === 'tbl') tables.push({ rows: [], cell: undefined })
      else if (name === 'tr') tables.at(-1)?.rows.push([])
      else if (name === 'tc') {
        const table = tables.at(-1)
        if (table) table.cell = []
      } else if (name === 'gridSpan') span = Math.min(Number(attributes['w:val']) || 1, maxColumns)
    },
    text: (value) => {
      if (inText) paragraph += value
    },
    close: (name) => {
      const table = tables.at(-1)
      if (name === 't') inText = false
      else if (name === 'p') {
        if (table?.cell) table.cell.push(paragraph)
        else text += `${heading > 0 ? `${'#'.repeat(heading)} ` : ''}${paragraph}\n`
        paragraph = ''
        heading = 0
      } else if (name === 'tc' && table) {
        // The content of a merged cell stands in its first column; the other columns keep their places.
        table.rows.at(-1)?.push((table.cell ?? []).join('\n').trim(), ...Array(span - 1).fill(''))
        table.cell = undefined
        span = 1
      } else if (name === 'tbl' && table) {
        tables.pop()
        const lines = table.rows.map((row) => row.join(' | ')).join('\n')
        // A table within a cell becomes text of that cell.
        const outer = tables.at(-1)
        if (outer?.cell) outer.cell.push(lines)
        else {
          text += `${lines}\n`
          out.table({ name: `table ${out.tableCount + 1}` }, table.rows)
        }
      }
    },
  })
  return text.replace(/\n{3,}/g, '\n\n')
}

/**
 * Maps relation ids to parts of the same archive; targets outside of it are left out.
 * @param {Zip} zip @param {string} part
 */
export async function relationsOf(zip, part) {
  const folder = posix.dirname(part)
  const file = posix.join(folder, '_rels', `${posix.basename(part)}.rels`)
  /** @type {Map<string, string>} */
  const relations = new Map()
  if (!zip.has(file)) return relations
  await parseXml(await zip.read(file), {
    open: (name, attributes) => {
      const { Id: id, Target: target, TargetMode: mode } = attributes
      if (name !== 'Relationship' || !id || !target || mode === 'External') return
      relations.set(id, target.startsWith('/') ? target.slice(1) : posix.join(folder, target))
    },
  })
  return relations
}
