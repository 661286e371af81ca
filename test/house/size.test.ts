import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { checkSize, manyDocuments } from '../../src/control/doctor/state.ts'

describe('the size of an embedded state', () => {
  it('is warned of by doctor from the number of documents on that README names', () => {
    const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
    assert.ok(readme.includes(`needs nothing else up to ${manyDocuments.toLocaleString('en')} documents`))
    const half = manyDocuments / 2
    assert.equal(checkSize({ 'document.customer': half, 'document.order': half - 1 }).status, 'ok')
    const { status, remedy } = checkSize({ 'document.customer': half, 'document.order': half })
    assert.equal(status, 'warning')
    assert.match(remedy!, /store copy --to postgres/)
  })

  it('does not count what the service keeps for itself', () => {
    assert.equal(checkSize({ 'oauth.token': 10 * manyDocuments, 'document.note': 3 }).detail, '3 documents')
  })
})
