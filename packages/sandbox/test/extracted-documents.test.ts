/**
 * Documents that LibreOffice, pandoc, python-docx, openpyxl, reportlab and Chromium made, with known contents: what is
 * read of them is right, or says where it is not sure. `made/make.py` makes them anew.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { Files, type FileContent } from '#sandbox/files/files.ts'
import { isolation, settings, signal } from './machine.ts'

interface Known {
  readonly tables: readonly { columns: readonly string[]; rows: readonly (readonly unknown[])[] }[]
  readonly order: readonly string[]
  readonly notes?: readonly string[]
}

const folder = join(import.meta.dirname, 'made')
const known = JSON.parse(readFileSync(join(folder, 'known.json'), 'utf8')) as Record<string, Known>

describe('documents that other programs made', () => {
  const files = new Files(isolation, settings.files)
  after(() => files.close())
  const read = (name: string): Promise<FileContent> => {
    const part = { firstPage: 1, lastPage: 50, textOffset: 0, textLimit: 50_000, rowOffset: 0, rowLimit: 200 }
    const bytes = readFileSync(join(folder, name))
    return files.read(name, bytes, { ...part, maxBytes: 200_000 }, { user: 'a', signal: signal() })
  }

  it('are at least thirty, of six programs', () => {
    const names = Object.keys(known)
    assert.ok(names.length >= 30, String(names.length))
    for (const program of ['libreoffice', 'pandoc', 'reportlab', 'chromium'])
      assert.ok(
        names.some((name) => name.includes(program)),
        program,
      )
  })

  for (const [name, { tables, order, notes = [] }] of Object.entries(known))
    it(`${name} is read as it is`, async () => {
      const content = await read(name)
      assert.deepEqual(
        content.tables.map(({ columns, rows }) => ({ columns, rows })),
        tables,
      )
      const text = content.pages.map((page) => page.text).join('\n')
      let at = -1
      for (const piece of order) {
        at = text.indexOf(piece, at + 1)
        assert.notEqual(at, -1, `${piece} in its place in:\n${text}`)
      }
      const said = (content.notes ?? []).join('\n')
      for (const note of notes) assert.match(said, new RegExp(note))
      if (notes.length === 0) assert.equal(said, '')
    })
})
