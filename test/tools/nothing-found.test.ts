/** What a tool says where it finds nothing: an empty answer must not pass for one about what was meant. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { admin } from '../documents/trading-company.ts'
import { openOffice } from './offices.ts'

const asked: readonly (readonly [tool: string, args: object, says: RegExp])[] = [
  [
    'search_link',
    { doctype: 'Customer', query: 'Müler Bau' },
    /nothing is called .*; did you mean \\"Müller Bau\\"\?/,
  ],
  ['search_link', { doctype: 'Customer', query: 'the Müllers' }, /did you mean \\"Müller/],
  ['search_documents', { query: 'Xyzzy Anlagen' }, /nothing that you may read has all of these words/],
  [
    'search_doctype',
    { doctype: 'Customer', query: 'Xyzzy' },
    /nothing that you may read has words like these/,
  ],
  ['search', { query: 'Xyzzy' }, /nothing that you may read has words like these/],
  ['list_skills', { tool: 'list_document' }, /no skill teaches \\"list_document\\"/],
]

describe('a tool that finds nothing', () => {
  it('says so, and what is near', async (t) => {
    const office = await openOffice(t)
    for (const [tool, args, says] of asked) {
      const { text, isError } = await office.call(admin, tool, args)
      assert.equal(isError, false, text)
      assert.match(text, says, tool)
    }
    const refused = await office.call(admin, 'report_list', { module: 'Sellin' })
    assert.equal(refused.isError, true)
    assert.match(refused.text, /unknown module "Sellin"; did you mean "Selling"\?/)
  })

  it('says nothing of the kind where it finds what was asked for', async (t) => {
    const office = await openOffice(t)
    const found: readonly (readonly [string, object])[] = [
      ['search_link', { doctype: 'Customer', query: '"müller bau"' }],
      ['search_documents', { query: 'Müller Bau' }],
      ['search', { query: 'Müller Bau' }],
      ['report_list', { module: 'Selling' }],
    ]
    for (const [tool, args] of found) {
      const { text } = await office.call(admin, tool, args)
      assert.doesNotMatch(text, /"note"/, tool)
      assert.match(text, /Müller Bau|Sales by Customer/, tool)
    }
  })
})
